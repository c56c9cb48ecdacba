//! Which module may use which, and where code is that the compiler cannot check: read from the
//! sources, since what documents say about it must stay true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules of this crate. Each may use those before it.
const LAYERS: [&str; 10] = [
    "mcp",
    "workspace",
    "worked_on",
    "bindings",
    "capabilities",
    "runtime",
    "tools",
    "plugins",
    "server",
    "cli",
];

/// What uses a module above itself all the same, as the README says.
const UPWARD: [(&str, &str); 3] = [
    // Generated traits name the errors that capabilities give.
    ("bindings", "capabilities"),
    // Each capability implements its trait for the state of a call.
    ("capabilities", "runtime"),
    // Native tools are handed the request that they answer.
    ("tools", "server"),
];

/// Files with code that the compiler cannot check, below `host/`.
const UNSAFE: [&str; 7] = [
    "cell/src/sys.rs",
    "compiler/src/compile.rs",
    "definitions/src/main.rs",
    "program/src/runtime/component.rs",
    "program/src/runtime/kept.rs",
    "program/src/runtime/limits.rs",
    "reflect/src/tests.rs",
];

/// Most lines of a crate, without its tests.
const MOST_LINES: usize = 5000;

/// Crates that have more, and how many at most: these are to shrink.
const LARGE: [(&str, usize); 3] = [("cell", 7800), ("policy", 5700), ("program", 23_500)];

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

/// The module of the crate that a file belongs to.
fn module(file: &Path) -> String {
    let first = file.components().next().expect("a readable source").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules that a text names: `crate::x` and `crate::{x, y}`.
fn named(code: &str) -> BTreeSet<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split(';').next().unwrap_or_default();
                names.extend(group.split([',', '{', '}']).map(|part| word(part.trim())));
            }
            None => _ = names.insert(word(rest)),
        }
    }
    names
}

#[test]
fn modules_import_downward_only() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let level: BTreeMap<_, _> = LAYERS.iter().enumerate().map(|(level, name)| (*name, level)).collect();
    let mut upward = BTreeMap::<_, Vec<PathBuf>>::new();
    for path in sources(&folder) {
        let file = path.strip_prefix(&folder).expect("a readable source").to_owned();
        let from = module(&file);
        if ["lib", "main", "layers"].contains(&from.as_str()) {
            continue;
        }
        let own = *level.get(from.as_str()).unwrap_or_else(|| panic!("{from} has no place in LAYERS"));
        for name in named(&code(&path)) {
            if level.get(name.as_str()).is_some_and(|other| *other > own) {
                upward.entry((from.clone(), name)).or_default().push(file.clone());
            }
        }
    }
    let found: Vec<_> = upward.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(found, UPWARD, "{upward:#?}");
}

/// Lines of a file before its tests.
fn lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).expect("a readable source");
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[test]
fn no_crate_is_too_large_to_be_read() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in std::fs::read_dir(&host).expect("the crates") {
        let folder = entry.expect("a crate").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let files = sources(&folder.join("src")).into_iter().filter(|path| !path.ends_with("tests.rs"));
        let found: usize = files.map(|path| lines(&path)).sum();
        let most = LARGE.iter().find(|(large, _)| *large == name).map_or(MOST_LINES, |(_, most)| *most);
        assert!(found <= most, "{name} has {found} lines; at most {most} fit: part it");
    }
}

#[test]
fn imports_are_found_however_they_are_written() {
    let code = "use crate::a::B;\nuse crate::{c, d::{E, f}};\nfn x(y: &crate::g::H) {}";
    let names = named(code);
    assert!(["a", "c", "d", "g"].iter().all(|name| names.contains(*name)), "{names:?}");
}

#[test]
fn unsafe_code_is_where_the_documents_say() {
    let host = &Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found: Vec<_> = sources(host)
        .into_iter()
        .filter(|path| !path.ends_with("layers.rs") && code(path).contains("allow(unsafe_code)"))
        .map(|path| path.strip_prefix(host).expect("a readable source").to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, UNSAFE);
    let lints = std::fs::read_to_string(host.join("../Cargo.toml")).expect("a readable source");
    assert!(lints.contains("unsafe_code = \"deny\""), "without this lint the list means nothing");
}
