use std::collections::BTreeSet;

use super::*;
use crate::rule::has_protected_name;

const PAGE: &str = include_str!("../../../../../docs/protected-names.md");

/// Returns a string of an entry.
fn text<'a>(entry: &'a toml::Value, key: &str) -> &'a str {
    entry.get(key).and_then(toml::Value::as_str).unwrap_or_default()
}

/// Renders the tables of the page.
fn tables() -> String {
    let row = |entry: &toml::Value, keys: &[&str]| {
        let names: Vec<_> = names_of(entry).iter().map(|name| format!("`{name}`")).collect();
        let others: Vec<_> = keys.iter().map(|key| text(entry, key)).collect();
        format!("| {} | {} | {} |\n", text(entry, "program"), names.join(", "), others.join(" | "))
    };
    let mut tables = "## Protected\n\n| program | names | because of | checked in | documented at |\n\
                      | --- | --- | --- | --- | --- |\n"
        .to_owned();
    tables.extend(listed("protected").iter().map(|entry| row(entry, &["why", "checked", "source"])));
    tables += "\n## Open\n\n| program | names | because |\n| --- | --- | --- |\n";
    tables.extend(listed("open").iter().map(|entry| row(entry, &["why"])));
    tables
}

/// Returns the entries of the list under a key.
fn listed(key: &str) -> Vec<toml::Value> {
    let mut list: toml::Table = LIST.parse().expect("TOML");
    match list.remove(key) {
        Some(toml::Value::Array(entries)) => entries,
        _ => Vec::new(),
    }
}

fn names_of(entry: &toml::Value) -> Vec<String> {
    let names = entry.get("names").and_then(toml::Value::as_array).into_iter().flatten();
    names.filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

#[test]
fn the_names_are_read_as_a_reader_of_toml_reads_them() {
    let names: Vec<_> = listed("protected").iter().flat_map(names_of).collect();
    assert_eq!(protected().collect::<Vec<_>>(), names);
    assert!(names.len() > 30, "{names:?}");
}

#[test]
fn the_documents_have_the_list_as_it_is() {
    let tables = tables();
    assert!(PAGE.ends_with(&tables), "docs/protected-names.md has to end with:\n\n{tables}");
}

#[test]
fn each_name_is_whole_once_and_has_its_reason() {
    let (protected, open) = (listed("protected"), listed("open"));
    let mut all = BTreeSet::new();
    for entry in protected.iter().chain(&open) {
        let names = names_of(entry);
        assert!(!text(entry, "program").is_empty() && !text(entry, "why").is_empty(), "{entry:?}");
        assert!(!names.is_empty() && names.into_iter().all(|name| all.insert(name)), "{entry:?}");
    }
    for entry in &protected {
        assert!(!text(entry, "source").is_empty() && !text(entry, "checked").is_empty(), "{entry:?}");
        for name in names_of(entry) {
            let folded = scorpiox_text::folded(&name);
            let is_inside = !name.starts_with('/') && !name.ends_with('/');
            assert!(name.is_ascii() && name == folded && is_inside, "{name}");
            assert!(name.matches(ANY).count() + usize::from(name.contains('/')) < 2, "{name}");
        }
    }
    let open: Vec<_> = open.iter().flat_map(names_of).collect();
    assert!(open.iter().all(|name| !has_protected_name(Path::new(name))), "{open:?}");
}

#[test]
fn every_protected_name_is_known_as_one() {
    for name in protected_names() {
        let path = name.replace(ANY, "any");
        for path in [path.clone(), path.to_uppercase(), format!("a/{path}/b"), format!("{path}. ")] {
            assert!(has_protected_name(Path::new(&path)), "{path}");
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let is_in = || protected_names_in(Path::new(folder)).any(|one| one == name);
        assert!(is_protected_name(OsStr::new(name)) || is_in(), "{path}");
        assert!(!has_protected_name(&Path::new("a/node_modules/b").join(&path)), "{path}");
    }
    for name in plain_protected_names() {
        assert!(is_protected_name(OsStr::new(name)), "{name}");
    }
    for name in [
        ".VSCode",
        ".vscode. ",
        ".vs\u{200b}code",
        "\u{feff}.vscode",
        ".v\u{17f}code",
        "a.CODE-workspace",
        ".Mise.x.toml",
    ] {
        assert!(is_protected_name(OsStr::new(name)), "{name:?}");
        assert!(has_protected_name(&Path::new("a").join(name).join("b")), "{name:?}");
    }
    for name in ["vscode", "open", "code-workspace", "mise.toml.md", "mise.tom", "hooks", ".github", ".hg"] {
        assert!(!is_protected_name(OsStr::new(name)), "{name}");
        assert!(!has_protected_name(Path::new(name)), "{name}");
    }
    for path in [
        ".github/workflows/hooks",
        ".hg/store/hgrc",
        "hooks/.github",
        ".config/nextest.toml",
        ".jj/repo/store",
    ] {
        assert!(!has_protected_name(Path::new(path)), "{path}");
    }
    let in_folder: Vec<_> = protected_names_in(Path::new("/a/.JJ/repo")).collect();
    assert_eq!(in_folder, ["config.toml"]);
    assert_eq!(
        protected_names_in(Path::new("/a/repo")).count() + protected_names_in(Path::new("/")).count(),
        0
    );
}

#[test]
fn names_that_count_below_a_folder_are_told_by_it_and_those_above() {
    let below = |folder: &str| -> Vec<String> {
        let mut below: Vec<_> = protected_below(Path::new(folder))
            .map(|path| path.to_string_lossy().replace('\\', "/"))
            .collect();
        below.sort();
        below
    };
    assert_eq!(below("/a/.JJ"), ["repo/config.toml", "workspace-config.toml"]);
    assert_eq!(below("/a/.jj/repo"), ["config.toml"]);
    assert_eq!(below("/a/.github"), ["copilot", "extensions", "hooks", "lsp.json", "mcp.json"]);
    assert_eq!(below("/a/.config"), ["irb", "mise", "mise.toml"]);
    assert_eq!(below("/a/.git"), ["arc/config", "sl/config", "sl/histedit-state", "sl/sharedpath"]);
    for other in ["/a/repo", "/a/git", "/.jj/x", "/"] {
        assert!(below(other).is_empty(), "{other}");
    }
}
