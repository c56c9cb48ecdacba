//! Plugins: components that others ship, approved by a person.

#[cfg(unix)] // terminals, and attacks by commands
mod approval;
mod changed;
mod chosen;
mod costly;
#[cfg(unix)] // make, and the languages' tools
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
#[cfg(unix)] // make, and the languages' tools
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

/// The hash that `--yes` takes for what is installed from a source.
pub(crate) fn hash_of(program: &Program, source: &str) -> String {
    let (status, out, err) = program.run(&["plugin", "hash", source]);
    assert!(status.success() && out.trim().len() == 64, "{out}{err}");
    out.trim().to_owned()
}

/// The component of functions of all kinds.
fn kinds() -> PathBuf {
    guest("kinds")
}

/// A component that `make test-components` made.
pub(crate) fn guest(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-components");
    let path = folder.join(format!("{name}.component.wasm"));
    path.canonicalize()
        .unwrap_or_else(|_| panic!("{} is missing; run `make test-components`", path.display()))
}

/// The component whose definitions and answers depend on its role.
fn impostor_as(role: &str) -> Vec<u8> {
    const MARK: &[u8] = b"scorpiox-test-role=";
    const ROOM: usize = 48 - MARK.len();
    assert!(role.len() <= ROOM, "{role}");
    let mut bytes = fs::read(guest("impostor")).expect("the component");
    let at = bytes.windows(MARK.len()).position(|window| window == MARK).expect("the role") + MARK.len();
    bytes[at..at + ROOM].copy_from_slice(format!("{role:ROOM$}").as_bytes());
    bytes
}

/// Puts a plugin's folder into the workspace: its manifest after name and component, and the component.
pub(crate) fn source(program: &Program, name: &str, manifest: &str, component: &[u8]) -> String {
    let text = format!("name = \"{name}\"\ncomponent = \"c.wasm\"\n{manifest}");
    program.put(&format!("workspace/sources/{name}/plugin.toml"), text);
    program.put(&format!("workspace/sources/{name}/c.wasm"), component);
    program.workspace().join("sources").join(name).display().to_string()
}

/// Installs and approves a plugin as a script does.
pub(crate) fn install(program: &Program, source: &str) {
    let hash = hash_of(program, source);
    let (status, out, err) = program.run(&["plugin", "add", source, "--yes", &hash]);
    assert!(status.success(), "{out}{err}");
}

/// Installs the component of all kinds.
pub fn install_kinds(program: &Program, limits: &str) {
    let component = fs::read(kinds()).expect("the component");
    install(program, &source(program, "kinds", limits, &component));
}

/// SHA-256 of the component of all kinds.
#[cfg(unix)]
pub fn kinds_hash() -> String {
    use sha2::{Digest, Sha256};
    let component = fs::read(kinds()).expect("the component");
    Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The names of the tools that a server lists, of plugins alone.
pub(crate) fn listed(server: &mut Started) -> Vec<String> {
    let list = server.ask("tools/list", serde_json::json!({}));
    let names =
        list["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.contains('.')).map(str::to_owned).collect()
}

/// A server that has the component of all kinds.
fn with_kinds(limits: &str) -> (Program, Started) {
    with(Program::new(), "kinds", limits)
}

/// A server that has a plugin of a component of the same name.
fn with(program: Program, name: &str, manifest: &str) -> (Program, Started) {
    let bytes = fs::read(guest(name)).expect("the component");
    let source = source(&program, name, manifest, &bytes);
    install(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    (program, server)
}

/// The text of a result that is an error.
fn refused(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}
