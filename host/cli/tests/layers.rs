//! Checks the dependencies between crates and the locations of unsafe code. The checks read the
//! sources, so that the documentation stays true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates in `host/`, from the bottom layer. A crate may only depend on crates in lower layers.
const LAYERS: [&[&str]; MOST_LAYERS] = [
    &["component-abi", "component-json", "mcp", "programs", "sys", "test-support", "text"],
    &["definitions", "egress-proxy", "executor", "fs", "questions", "sandbox", "signature", "terminal"],
    &["audit", "client-config", "command-output", "compiler", "git", "plugin", "policy", "store"],
    &[
        "approvals",
        "exchange",
        "sandbox-helper",
        "store-conformance",
        "store-postgres",
        "web",
        "workspace-config",
    ],
    &["oci-registry", "shell"],
    &["capabilities"],
    &["wasi"],
    &["runtime"],
    &["tools"],
    &["metering", "plugin-manager"],
    &["server"],
    &["transport-http", "transport-stdio"],
    &["cli"],
];

/// Maximum length of a chain of dependencies between the crates in `host/`.
const MOST_LAYERS: usize = 13;

/// Maximum number of crates in `host/` that the program names, including crates that these re-export.
const MOST_NAMED: usize = 30;

/// Files in `host/` that contain unsafe code.
const UNSAFE: [&str; 21] = [
    "compiler/src/compile.rs",
    "component-json/src/tests.rs",
    "definitions/src/main.rs",
    "runtime/src/code_cache.rs",
    "runtime/src/component.rs",
    "runtime/src/limits.rs",
    "sys/src/linux/questions.rs",
    "sys/src/linux/shared_set.rs",
    "sys/src/linux/sys.rs",
    "sys/src/macos/process.rs",
    "sys/src/macos/sandbox.rs",
    "sys/src/signals.rs",
    "sys/src/windows/access.rs",
    "sys/src/windows/account.rs",
    "sys/src/windows/console.rs",
    "sys/src/windows/file.rs",
    "sys/src/windows/job.rs",
    "sys/src/windows/process.rs",
    "sys/src/windows/sid.rs",
    "sys/src/windows/stdio.rs",
    "sys/src/windows/thread.rs",
];

/// Returns all Rust files in a directory, except for tests and examples.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(folder).expect("a readable source").map(|entry| entry.expect("a readable folder"))
    {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && !["tests", "examples", "target"].iter().any(|other| name == *other) {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the content of a file without its comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a readable source");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .fold(String::new(), |code, line| code + line + "\n")
}

/// Returns the directory of all crates.
fn host() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the names of the directories in `host/`.
fn crates() -> BTreeSet<String> {
    let entries = std::fs::read_dir(host()).expect("the crates");
    entries.map(|entry| entry.expect("a crate").file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the crates that a manifest depends on, on any platform, except for its tests.
fn listed(manifest: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let sections = manifest.split("\n[").filter(|section| {
        let heading = section.lines().next().unwrap_or_default();
        heading == "dependencies]" || heading.ends_with(".dependencies]")
    });
    let names = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("scorpiox-"));
    let names = names.map(|rest| rest.split(['.', ' ', '=']).next().unwrap_or_default().to_owned());
    names.filter(|name| known.contains(name)).collect()
}

#[test]
fn crates_import_downward_only() {
    let known = crates();
    let level: BTreeMap<_, _> =
        (0..).zip(LAYERS).flat_map(|(level, names)| names.iter().map(move |name| (*name, level))).collect();
    let placed: BTreeSet<_> = level.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(known, placed, "each folder of host/ is a crate with a place in LAYERS");
    for (name, own) in &level {
        let manifest = std::fs::read_to_string(host().join(name).join("Cargo.toml")).expect("a manifest");
        for used in listed(&manifest, &known) {
            assert!(level[used.as_str()] < *own, "{name} uses {used}, which is not below it");
        }
    }
}

#[test]
fn dependencies_are_found_in_a_manifest() {
    let known = ["a", "b-c", "d", "e"].map(str::to_owned).into();
    let manifest = "[package]\nname = \"scorpiox-d\"\n\n[dependencies]\nscorpiox-a.workspace = true\n\
                    scorpiox-b-c = { workspace = true }\nserde.workspace = true\n\n[target.'cfg(unix)'.dependencies]\n\
                    scorpiox-e.workspace = true\n\n[dev-dependencies]\nscorpiox-d.workspace = true\n";
    let found = listed(manifest, &known);
    assert_eq!(found, ["a", "b-c", "e"].map(str::to_owned).into());
}

/// A credential helper handles passwords and runs without a sandbox, because the user's policy names it. `setup` starts
/// this program itself, as a client does.
#[test]
fn only_a_credential_helper_and_this_program_are_started_without_a_sandbox() {
    let starts_one = |path: &PathBuf| code(path).contains("sandbox::program");
    let found: Vec<_> = sources(&host())
        .into_iter()
        .filter(|path| !path.ends_with("layers.rs") && starts_one(path))
        .collect();
    let may = ["cli/src/cli/setup/handshake.rs", "oci-registry/src/keyring/command.rs"];
    assert_eq!(found, may.map(|path| host().join(path)));
    let reads_them = |path: &PathBuf| code(path).contains("OperatorKeyring");
    let may = ["oci-registry", "cli/src/cli/plugin"].map(|folder| host().join(folder));
    for path in sources(&host()).into_iter().filter(|path| !path.ends_with("layers.rs") && reads_them(path)) {
        let is_one = may.iter().any(|folder| path.starts_with(folder));
        assert!(is_one, "{} has credentials", path.display());
    }
}

/// The author's build runs without a sandbox, because the author started it.
#[test]
fn only_a_command_of_authors_starts_a_build() {
    let starts_one = |path: &PathBuf| code(path).contains("sandbox::build");
    let found: Vec<_> = sources(&host())
        .into_iter()
        .filter(|path| !path.ends_with("layers.rs") && starts_one(path))
        .collect();
    assert_eq!(found, [host().join("cli/src/cli/plugin/dev.rs")]);
}

/// Only the user's commands may download and upload plugins. Code that serves tools and plugins must not have
/// access to this.
#[test]
fn only_the_command_line_carries_what_people_push_and_pull() {
    let makes_one = |path: &PathBuf| code(path).contains("Courier");
    let may = ["web", "oci-registry", "cli/src/cli"].map(|folder| host().join(folder));
    let found: Vec<_> =
        sources(&host()).into_iter().filter(|path| !path.ends_with("layers.rs") && makes_one(path)).collect();
    assert!(!found.is_empty(), "without one this test means nothing");
    for path in found {
        assert!(may.iter().any(|folder| path.starts_with(folder)), "{} has a courier", path.display());
    }
}

/// Returns the crates in `host/` that the source files of a crate re-export.
fn re_exported(name: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let text: String = sources(&host().join(name).join("src")).iter().map(|path| code(path)).collect();
    let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("pub use scorpiox_"));
    let names = names.map(|rest| rest.split([':', ';', ' ']).next().unwrap_or_default().replace('_', "-"));
    names.filter(|name| known.contains(name)).collect()
}

#[test]
fn the_program_names_few_crates() {
    let known = crates();
    let manifest = std::fs::read_to_string(host().join("cli/Cargo.toml")).expect("a manifest");
    let named = listed(&manifest, &known);
    let mut all = named.clone();
    for name in &named {
        all.extend(re_exported(name, &known));
    }
    assert!(all.contains("exchange"), "the server re-exports it: without that this test means less");
    assert!(all.len() <= MOST_NAMED, "the program names {} crates: {all:?}", all.len());
}

#[test]
fn unsafe_code_is_where_the_documents_say() {
    let host = host();
    let mut found: Vec<_> = sources(&host)
        .into_iter()
        .filter(|path| !path.ends_with("layers.rs") && code(path).contains("allow(unsafe_code)"))
        .map(|path| path.strip_prefix(&host).expect("a readable source").to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, UNSAFE);
    let lints = std::fs::read_to_string(host.join("../Cargo.toml")).expect("a readable source");
    assert!(lints.contains("unsafe_code = \"deny\""), "without this lint the list means nothing");
}

/// Manifests disable doc tests to save compile time, so there must not be any.
#[test]
fn no_documentation_has_an_example_that_nothing_runs() {
    for path in sources(&host()) {
        let text = std::fs::read_to_string(&path).expect("a readable source");
        let is_example = |line: &str| {
            let line = line.trim_start();
            (line.starts_with("///") || line.starts_with("//!")) && line.contains("```")
        };
        assert!(!text.lines().any(is_example), "{}: remove doctest = false", path.display());
    }
}
