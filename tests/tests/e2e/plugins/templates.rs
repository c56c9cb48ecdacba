//! What `plugin new` leaves alone, and what `plugin add` makes of what it is given.

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

/// The core module that the component of all kinds is made of.
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
    // A skill's component is compared with what is installed, so that it has to be one already.
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
