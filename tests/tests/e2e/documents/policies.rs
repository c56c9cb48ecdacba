//! Tests of the policies and manifests in the documentation, and of the example policies.

use scorpiox_tests::Program;

use super::reading::{Block, Document, names, project};

/// Returns the blocks of one language, with their documents.
fn blocks(language: &str) -> Vec<(String, Block)> {
    let mut found = Vec::new();
    for name in names() {
        let blocks = Document::read(&name).blocks.into_iter().filter(|block| block.language == language);
        found.extend(blocks.map(|block| (name.clone(), block)));
    }
    found
}

/// Component with the functions that the documented manifests name.
const COMPONENT: &str = r#"(component
    (core module $module
        (memory (export "memory") 1)
        (func (export "do"))
        (func (export "draw") (result i32) i32.const 0))
    (core instance $instance (instantiate $module))
    (func $do (canon lift (core func $instance "do")))
    (func $draw (result (list u8))
        (canon lift (core func $instance "draw") (memory (core memory $instance "memory"))))
    (export "forecast" (func $do))
    (export "debug" (func $do))
    (export "draw-the-map-of-all-places-and-their-weather" (func $draw)))"#;

/// Returns the text within backquotes.
fn codes(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_table_of_keys_has_all_that_the_program_knows_and_no_others() {
    let program = Program::new();
    let page = std::fs::read_to_string(project().join("docs/policy.md")).expect("a document");
    let (_, part) = page.split_once("\n## All keys\n").expect("the part");
    let rows =
        part.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| `["));
    let mut tables = std::collections::BTreeSet::new();
    for row in rows {
        let mut cells = row.trim_matches('|').split(" | ");
        let table: Vec<_> = codes(cells.next().expect("a table")).collect();
        let listed: std::collections::BTreeSet<_> = codes(cells.next().expect("keys")).collect();
        let named =
            table[0].replace("NAME", "name").replace("HOST", "host.example.com").replace("PLUGIN", "plugin");
        let named = named.replace("NUMBER", "7");
        // The kind that selects the variant of the table, either in the table itself or in its parent.
        let kind = table.get(1).copied().unwrap_or_default();
        let text = if row.contains("under `") {
            format!("version = 1\n[http.auth]\n{kind}\n{named}\nno_such_key = 1\n")
        } else {
            format!("version = 1\n{named}\n{kind}\nno_such_key = 1\n")
        };
        program.put("workspace/policy.toml", text);
        let (status, _, said) = program.run(&["policy", "check", "policy.toml"]);
        let (_, known) =
            said.split_once("known keys are ").unwrap_or_else(|| panic!("{row}: {status} {said}"));
        assert_eq!(listed, codes(known).collect(), "{row}: {said}");
        tables.insert(table[0].trim_matches(['[', ']']).split('.').next().expect("a name").to_owned());
    }
    // The documentation covers all tables.
    program.put("workspace/policy.toml", "version = 1\nno_such_key = 1\n");
    let (_, _, said) = program.run(&["policy", "check", "policy.toml"]);
    let (_, known) = said.split_once("known keys are ").expect("keys");
    let known: std::collections::BTreeSet<_> = codes(known)
        .filter(|key| !key.ends_with("version") && *key != "last_good")
        .map(str::to_owned)
        .collect();
    assert_eq!(tables, known);
}

#[test]
fn toml_in_documents_can_be_used() {
    let program = Program::new();
    let component = wat::parse_str(COMPONENT).expect("a component");
    for (name, block) in blocks("toml") {
        let at = format!("{name} line {}", block.line);
        let first = block.text.lines().next().unwrap_or_default();
        if first.starts_with("# policy.toml") {
            let version = if block.text.contains("version = 1") { "" } else { "version = 1\n" };
            program.put("workspace/policy.toml", format!("{version}{}", block.text));
            let (status, out, err) = program.run(&["policy", "check", "policy.toml"]);
            assert!(status.success(), "{at}: {out}{err}");
        } else if first.starts_with("# .scorpiox/policy.toml") {
            let file = program.put("workspace/.scorpiox/policy.toml", &block.text);
            let (status, out, err) = program.run(&["policy", "check"]);
            assert!(status.success() && out.contains("policy.toml is valid"), "{at}: {out}{err}");
            std::fs::remove_file(file).expect("removed");
        } else if first.starts_with("# plugin.toml") {
            let head = "name = \"weather\"\ncomponent = \"component.wasm\"\n";
            let head = if block.text.contains("component = ") { "" } else { head };
            program.put("workspace/weather/plugin.toml", format!("{head}{}", block.text));
            program.put("workspace/weather/component.wasm", &component);
            let (status, out, err) = program.run(&["plugin", "test", "weather"]);
            assert!(status.success() && out.contains("It can be added"), "{at}: {out}{err}");
        } else if first.starts_with("# Cargo.toml") {
            // An excerpt of a Cargo.toml is only checked superficially; `make` reads real ones.
            assert!(block.text.contains("[package]\nname = "), "{at}");
        } else {
            panic!(
                "{at}: the first line says which file it is: # policy.toml, # .scorpiox/policy.toml, # plugin.toml or \
                 # Cargo.toml"
            );
        }
    }
}

/// Asserts that a policy of `examples/policies` is valid without notes, and that all its cases pass.
#[track_caller]
fn decides(name: &str) {
    let program = Program::new();
    let folder = project().join("examples/policies");
    let file = |kind: &str| folder.join(format!("{name}.{kind}")).display().to_string();
    // A home directory outside of `/tmp`, which commands see as a private directory, with a project in it.
    let home = tempfile::tempdir_in(project().join("tests/target")).expect("a folder");
    let workspace = home.path().join("src/shop");
    std::fs::create_dir_all(&workspace).expect("folders");
    let program = program.with("HOME", &home.path().display().to_string());
    let workspace = workspace.display().to_string();
    let (status, out, err) =
        program.run(&["policy", "check", "--strict", &file("toml"), "--workspace", &workspace]);
    assert!(status.success(), "{out}{err}");
    let cases = file("cases");
    let (status, out, err) =
        program.run(&["policy", "test", &cases, "--policy", &file("toml"), "--workspace", &workspace]);
    assert!(status.success() && out.contains("all as expected"), "{out}{err}");
}

#[test]
fn the_locked_down_example_decides_its_cases() {
    decides("locked-down");
}

#[test]
fn the_developers_example_decides_its_cases() {
    decides("developer");
}

#[test]
fn the_teams_example_decides_its_cases() {
    decides("team");
}
