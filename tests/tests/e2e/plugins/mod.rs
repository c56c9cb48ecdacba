//! Tests of plugins: third-party components that a user approves.

#[cfg(unix)] // terminals, and attacks by commands
mod approval;
mod changed;
mod chosen;
mod costly;
#[cfg(unix)] // make, and the language toolchains
#[cfg(unix)]
mod dev;
mod examples;
mod fetched;
mod hostile;
mod impostor;
mod inputs;
mod insider;
mod judged;
mod kinds;
#[cfg(unix)] // modes, programs and terminals
mod known;
#[cfg(unix)] // make, and the language toolchains
mod languages;
#[cfg(unix)] // modes and links
mod ledger;
mod looked_into;
#[cfg(unix)] // modes
mod many;
mod offers;
mod packed;
mod raw;
mod resources;
mod secrets;
mod signed;
#[cfg(unix)] // links and pipes
mod skills;
mod templates;
mod trial;
mod wasi;
mod why;

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_tests::{Program, Started};
use serde_json::Value;

#[cfg(unix)]
pub(crate) use approval::watching;

/// Returns the hash that `--yes` expects for a plugin source.
pub(crate) fn hash_of(program: &Program, source: &str) -> String {
    let (status, out, err) = program.run(&["plugin", "hash", source]);
    assert!(status.success() && out.trim().len() == 64, "{out}{err}");
    out.trim().to_owned()
}

/// Returns the path of the `kinds` component, whose functions cover all types.
fn kinds() -> PathBuf {
    guest("kinds")
}

/// Returns the path of a component that `make test-components` built.
pub(crate) fn guest(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-components");
    let path = folder.join(format!("{name}.component.wasm"));
    path.canonicalize()
        .unwrap_or_else(|_| panic!("{} is missing; run `make test-components`", path.display()))
}

/// Returns the impostor component, whose definitions and results depend on `role`.
fn impostor_as(role: &str) -> Vec<u8> {
    const MARK: &[u8] = b"scorpiox-test-role=";
    const ROOM: usize = 48 - MARK.len();
    assert!(role.len() <= ROOM, "{role}");
    let mut bytes = fs::read(guest("impostor")).expect("the component");
    let at = bytes.windows(MARK.len()).position(|window| window == MARK).expect("the role") + MARK.len();
    bytes[at..at + ROOM].copy_from_slice(format!("{role:ROOM$}").as_bytes());
    bytes
}

/// Creates a plugin directory in the workspace, with the component and a manifest that starts with the name
/// and the component.
pub(crate) fn source(program: &Program, name: &str, manifest: &str, component: &[u8]) -> String {
    let text = format!("name = \"{name}\"\ncomponent = \"c.wasm\"\n{manifest}");
    program.put(&format!("workspace/sources/{name}/plugin.toml"), text);
    program.put(&format!("workspace/sources/{name}/c.wasm"), component);
    program.workspace().join("sources").join(name).display().to_string()
}

/// Installs and approves a plugin without a terminal, like a script.
pub(crate) fn install(program: &Program, source: &str) {
    let hash = hash_of(program, source);
    let (status, out, err) = program.run(&["plugin", "add", source, "--yes", &hash]);
    assert!(status.success(), "{out}{err}");
}

/// Installs the `kinds` component.
pub fn install_kinds(program: &Program, limits: &str) {
    let component = fs::read(kinds()).expect("the component");
    install(program, &source(program, "kinds", limits, &component));
}

/// Returns the SHA-256 of the `kinds` component.
#[cfg(unix)]
pub fn kinds_hash() -> String {
    use sha2::{Digest, Sha256};
    let component = fs::read(kinds()).expect("the component");
    Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the names of a server's plugin tools.
pub(crate) fn listed(server: &mut Started) -> Vec<String> {
    let list = server.ask("tools/list", serde_json::json!({}));
    let names =
        list["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.contains('.')).map(str::to_owned).collect()
}

/// Starts a server with the `kinds` component.
fn with_kinds(limits: &str) -> (Program, Started) {
    with(Program::new(), "kinds", limits)
}

/// Starts a server with a plugin whose component has the same name.
fn with(program: Program, name: &str, manifest: &str) -> (Program, Started) {
    let bytes = fs::read(guest(name)).expect("the component");
    let source = source(&program, name, manifest, &bytes);
    install(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    (program, server)
}

/// Returns the text of an error result.
fn refused(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}
