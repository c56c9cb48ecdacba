use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::has_protected_name;

const PAGE: &str = include_str!("../../../../docs/protected-names.md");

/// The tables of the page.
fn tables(list: &List) -> String {
    let shown =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut text = "## Protected\n\n| program | names | because of | checked in | documented at |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for Listed { program, names, why, source, checked } in &list.protected {
        writeln!(text, "| {program} | {} | {why} | {checked} | {source} |", shown(names)).expect("text");
    }
    text += "\n## Open\n\n| program | names | because |\n| --- | --- | --- |\n";
    for Listed { program, names, why, .. } in &list.open {
        writeln!(text, "| {program} | {} | {why} |", shown(names)).expect("text");
    }
    text
}

#[test]
fn the_documents_have_the_list_as_it_is() {
    let tables = tables(&List::read());
    assert!(PAGE.ends_with(&tables), "docs/protected-names.md has to end with:\n\n{tables}");
}

#[test]
fn each_name_is_whole_once_and_has_its_reason() {
    let list = List::read();
    let mut all = BTreeSet::new();
    for listed in list.protected.iter().chain(&list.open) {
        assert!(
            !listed.program.is_empty() && !listed.why.is_empty() && !listed.names.is_empty(),
            "{listed:?}"
        );
        assert!(listed.names.iter().all(|name| all.insert(name)), "{listed:?} has a name of another one");
    }
    for listed in &list.protected {
        assert!(!listed.source.is_empty() && !listed.checked.is_empty(), "{listed:?}");
        for name in &listed.names {
            let folded = scorpiox_text::folded(name);
            assert!(
                name.is_ascii() && *name == folded && !name.starts_with('/') && !name.ends_with('/'),
                "{name}"
            );
            assert!(name.matches(ANY).count() + usize::from(name.contains('/')) < 2, "{name}");
        }
    }
    let open = list.open.iter().flat_map(|listed| &listed.names);
    assert_eq!(open.filter(|name| has_protected_name(Path::new(name))).collect::<Vec<_>>(), [""; 0]);
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
