//! Which crate may use which, how large they are, and where code is that the compiler cannot check: read from
//! the sources, since what documents say about it must stay true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates of `host/`, from the bottom. Each may use those of the layers before its own, and none beside it.
const LAYERS: [&[&str]; 20] = [
    &["anatomy", "bed", "macos", "postgres-bed", "windows"],
    &["cell", "engine", "executor", "home", "kernel", "paths", "reflect", "rpc", "seal", "text"],
    &["gitdirs", "http-bounds", "minisign", "proxy", "transcript", "untold"],
    &[
        "ask",
        "audit",
        "browser",
        "compile",
        "definitions",
        "guard",
        "mcp",
        "plugin",
        "rules",
        "settings",
        "store",
        "terminal",
        "worker",
    ],
    &["auditing", "document"],
    &["access"],
    &[
        "clients",
        "compiler",
        "exchange",
        "helper",
        "http-request",
        "jwt",
        "package",
        "policy",
        "postgres",
        "store-conformance",
    ],
    &["operator", "otlp", "web"],
    &["issuer", "registry", "shell", "state"],
    &["capabilities"],
    &["wasi"],
    &["runtime"],
    &["offers"],
    &["skills", "tools"],
    &["records"],
    &["usage"],
    &["author", "server"],
    &["http", "install", "stdio"],
    &["admin", "observe"],
    &["program"],
];

/// Files with code that the compiler cannot check, below `host/`.
const UNSAFE: [&str; 18] = [
    "compiler/src/compile.rs",
    "definitions/src/main.rs",
    "kernel/src/sys.rs",
    "macos/src/process.rs",
    "macos/src/sandbox.rs",
    "reflect/src/tests.rs",
    "runtime/src/code_cache.rs",
    "runtime/src/component.rs",
    "runtime/src/limits.rs",
    "windows/src/access.rs",
    "windows/src/account.rs",
    "windows/src/console.rs",
    "windows/src/file.rs",
    "windows/src/job.rs",
    "windows/src/process.rs",
    "windows/src/sid.rs",
    "windows/src/stdio.rs",
    "windows/src/thread.rs",
];

/// Most lines of a crate, without its tests.
const MOST_LINES: usize = 5000;

/// Crates that have more, and how many at most: these are to shrink.
const LARGE: [(&str, usize); 1] = [("program", 5500)];

/// Every Rust file below a folder, but those of tests and examples.
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

/// A file without its comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a readable source");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .fold(String::new(), |code, line| code + line + "\n")
}

/// Where all crates are.
fn host() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names of the folders in `host/`.
fn crates() -> BTreeSet<String> {
    let entries = std::fs::read_dir(host()).expect("the crates");
    entries.map(|entry| entry.expect("a crate").file_name().to_string_lossy().into_owned()).collect()
}

/// The crates of this folder that a manifest says one uses, on whatever system; but for its tests.
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

/// What knows a password runs without a sandbox, as a person's policy says.
#[test]
fn only_the_credentials_of_registries_start_a_program_that_a_policy_names() {
    let starts_one = |path: &PathBuf| code(path).contains("cell::program");
    let found: Vec<_> = sources(&host())
        .into_iter()
        .filter(|path| !path.ends_with("layers.rs") && starts_one(path))
        .collect();
    assert_eq!(found, [host().join("registry/src/keyring/command.rs")]);
    let reads_them = |path: &PathBuf| code(path).contains("OperatorKeyring");
    let may = ["registry", "program/src/cli/plugin"].map(|folder| host().join(folder));
    for path in sources(&host()).into_iter().filter(|path| !path.ends_with("layers.rs") && reads_them(path)) {
        let is_one = may.iter().any(|folder| path.starts_with(folder));
        assert!(is_one, "{} has credentials", path.display());
    }
}

/// What people download and upload themselves is made by their commands. What serves tools and plugins has no way to it.
#[test]
fn only_the_command_line_carries_what_people_push_and_pull() {
    let makes_one = |path: &PathBuf| code(path).contains("Courier");
    let may = ["web", "registry", "program/src/cli"].map(|folder| host().join(folder));
    let found: Vec<_> =
        sources(&host()).into_iter().filter(|path| !path.ends_with("layers.rs") && makes_one(path)).collect();
    assert!(!found.is_empty(), "without one this test means nothing");
    for path in found {
        assert!(may.iter().any(|folder| path.starts_with(folder)), "{} has a courier", path.display());
    }
}

/// Lines of a file before its tests.
fn lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("a readable source");
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[test]
fn no_crate_is_too_large_to_be_read() {
    for name in crates() {
        let folder = host().join(&name);
        let files = sources(&folder.join("src")).into_iter().filter(|path| !path.ends_with("tests.rs"));
        let found: usize = files.map(|path| lines(&path)).sum();
        let most = LARGE.iter().find(|(large, _)| *large == name).map_or(MOST_LINES, |(_, most)| *most);
        assert!(found <= most, "{name} has {found} lines; the limit is {most}: part it");
    }
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

/// Manifests say that there are none, which saves their compiling.
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
