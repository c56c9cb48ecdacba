//! Tests of `plugin new` with existing files, and of the inputs that `plugin add` accepts.

use std::fs;
use std::path::Path;

use scorpiox_tests::Program;
use serde_json::json;

use super::source;

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let program = Program::new();
    program.put("workspace/demo/notes.txt", "mine");
    let (made, _, err) = program.run(&["plugin", "new", "--lang", "js", "demo"]);
    assert!(!made.success() && err.contains("demo exists and is not an empty folder"), "{err}");
    assert_eq!(fs::read_dir(program.workspace().join("demo")).expect("the folder").count(), 1);
    for name in ["Demo", "../demo", "-x"] {
        let (made, _, err) = program.run(&["plugin", "new", "--lang", "js", "--", name]);
        assert!(!made.success() && err.contains("is not a plugin name"), "{err}");
    }
}

/// Returns the core module from which the `kinds` component is built.
fn core() -> Vec<u8> {
    let path = "guests/target/wasm32-unknown-unknown/release/kinds.wasm";
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the core module")
}

#[test]
fn a_core_module_that_says_its_types_is_made_a_component() {
    let program = Program::new();
    let source = source(&program, "kinds", "", &core());
    super::install(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("kinds.divide", json!({"a": 6, "b": 3}));
    assert_eq!(result["structuredContent"], json!({"result": 2}));
    // A skill must include a component, because its bytes are compared with the installed ones.
    program.put("workspace/sources/kinds/SKILL.md", "---\nname: kinds\ndescription: x\n---\n");
    let (added, _, err) = program.run(&["plugin", "add", &source]);
    assert!(
        !added.success() && err.contains("is a core module, but a skill has to bring a component"),
        "{err}"
    );
}

#[test]
fn comments_that_cannot_be_used_are_left_out_with_a_word_and_the_plugins_own_stay() {
    let program = Program::new();
    let component = fs::read(super::kinds()).expect("the component");
    let folder = source(&program, "kinds", "", &component);
    program.put("workspace/sources/kinds/wit/world.wit", "world without a package");
    let (_, out, err) = program.run(&["plugin", "add", &folder]);
    assert!(
        err.contains("so the tools get no descriptions from them") && out.contains("kinds.divide"),
        "{err}"
    );
    let wit = "package a:b;\nworld w {\n/// Of the comment.\nexport divide: func();\n}";
    program.put("workspace/sources/kinds/wit/world.wit", wit);
    let (_, out, err) = program.run(&["plugin", "add", &folder]);
    assert!(err.is_empty() && out.contains("    | Of the comment.\n"), "{out}{err}");
    let folder =
        source(&program, "kinds", "[tools.divide]\ndescription = \"Of the manifest.\"\n", &component);
    let (_, out, _) = program.run(&["plugin", "add", &folder]);
    assert!(out.contains("    | Of the manifest.\n"), "{out}");
}

#[test]
fn what_is_added_shows_the_one_hash_that_yes_takes_and_its_update_says_that_it_is_current() {
    let program = Program::new();
    let folder =
        source(&program, "kinds", "version = \"1.0.0\"\n", &fs::read(super::kinds()).expect("the component"));
    let hash = super::hash_of(&program, &folder);
    let (added, out, err) = program.run(&["plugin", "add", &folder, "--yes", &hash]);
    assert!(added.success() && out.contains(&format!("  hash {hash}\n")), "{out}{err}");
    let is_hash = |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    assert_eq!(out.split_whitespace().filter(is_hash).collect::<Vec<_>>(), [hash.as_str()], "{out}");
    let (updated, out, err) = program.run(&["plugin", "update", "kinds"]);
    let expected = "kinds 1.0.0 is current: exactly this is installed and approved.\n";
    assert!(updated.success() && out == expected, "{out}{err}");
    for also in [&["plugin", "add", &folder][..], &["plugin", "add", &folder, "--yes", &hash]] {
        let (again, out, err) = program.run(also);
        assert!(again.success() && out == expected, "{out}{err}");
    }
    let (plain, out, _) = program.run(&["plugin", "add", &folder, "--plain-names"]);
    let said = "+ its tools, prompts and addresses are known without its own name (--plain-names)";
    assert!(!plain.success() && out.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{out}");
    let (updated, _, err) = program.run(&["plugin", "update", "kinds", "--yes", &"0".repeat(64)]);
    assert!(!updated.success() && err.contains("is not the hash of this plugin"), "{err}");
}

#[test]
fn a_folder_that_is_not_built_names_the_command_that_builds_it() {
    let program = Program::new();
    let (made, _, err) = program.run(&["plugin", "new", "--lang", "rust", "demo"]);
    assert!(made.success(), "{err}");
    for command in ["add", "test", "hash", "pack"] {
        let (status, _, err) = program.run(&["plugin", command, "demo"]);
        assert!(
            !status.success() && err.contains("is not built; build it with: make -C demo"),
            "{command}: {err}"
        );
    }
}
