//! Tests of the inspection before compilation: unusable components are refused immediately, and unusual ones
//! are reported.

use std::fs;
use std::path::Path;

use scorpiox_tests::Program;
use serde_json::json;

use super::{guest, install, listed, source};

/// Returns a component with these imports and exports, and with enough code to take seconds to compile.
fn slow(imports: &str, exports: &str) -> Vec<u8> {
    component(imports, exports, 20_000)
}

fn component(imports: &str, exports: &str, functions: usize) -> Vec<u8> {
    let other = "(func (param i32) (result i32)
                   (local.set 0 (i32.mul (local.get 0) (i32.add (local.get 0) (i32.const 3))))
                   (if (local.get 0) (then (local.set 0 (i32.const 7)))) (local.get 0))\n";
    let text = format!(
        "(component {imports}
            (core module $code (func (export \"give\") (result i32) (i32.const 7)) {})
            (core instance $code (instantiate $code))
            (func $give (result u32) (canon lift (core func $code \"give\")))
            {exports})",
        other.repeat(functions)
    );
    wat::parse_str(text).expect("a component")
}

/// Joins the words of a text into one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn was_compiled(program: &Program) -> bool {
    fs::read_dir(program.home().join(".scorpiox/cache/components")).is_ok_and(|mut all| all.next().is_some())
}

const GIVE: &str = "(export \"give\" (func $give))";

#[test]
fn what_cannot_run_is_refused_before_it_is_compiled_and_says_what_to_do() {
    let program = Program::new();
    let function = "(instance (export \"now\" (func (result u64))))";
    for (imports, exports, expected) in [
        (
            format!("(import \"foo:bar/baz\" {function})"),
            GIVE,
            "it imports foo:bar/baz, which another component has to provide; join them with `wac plug`",
        ),
        (
            format!("(import \"wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-01\" {function})"),
            GIVE,
            "it is a component for a draft of WASI 0.3 (it imports wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-01), \
             and this version of scorpiox-code has 0.3.0; build it for that",
        ),
        (
            format!("(import \"wasi:clocks/timezone@0.3.0\" {function})"),
            GIVE,
            "it is a WASI 0.3 component, and imports wasi:clocks/timezone@0.3.0, which this version of scorpiox-code \
             does not have of it",
        ),
        (
            format!("(import \"scorpiox:tool/store@0.1.0\" {function})"),
            GIVE,
            "so plugin.toml has to request [capabilities.store]",
        ),
        (
            String::new(),
            "(instance $i (export \"call\" (func $give))) (export \"scorpiox:tool/tool@0.2.0\" (instance $i))",
            "it exports scorpiox:tool/tool@0.2.0, but this program supports scorpiox:tool/tool@0.1.0",
        ),
        (
            String::new(),
            "",
            "it exports nothing, so there is nothing to call; export functions from its world",
        ),
        (
            String::new(),
            "(type $t (record (field \"a\" u8))) (export \"point\" (type $t))",
            "it exports point, and no function, so there is nothing to call: it is a library of types",
        ),
    ] {
        let folder = source(&program, "raw", "", &slow(&imports, exports));
        for command in ["add", "test", "hash"] {
            let (status, out, err) = program.run(&["plugin", command, &folder]);
            let said = one_line(&err);
            assert!(!status.success() && said.contains(expected), "{command}: {expected}: {out}{err}");
            assert!(said.contains("raw cannot be a plugin: "), "{err}");
        }
        assert!(!was_compiled(&program), "{expected}");
    }
    // The same code without an error is compiled.
    let (_, _, err) = program.run(&["plugin", "add", &source(&program, "raw", "", &slow("", GIVE))]);
    assert!(was_compiled(&program) && err.is_empty(), "{err}");
}

#[cfg(unix)]
#[test]
fn at_a_terminal_compiling_is_said_with_its_seconds() {
    let program = Program::new();
    let folder = source(&program, "raw", "", &component("", GIVE, 60_000));
    let (added, screen) = super::approval::at_a_terminal(&program, &["plugin", "add", &folder], "", "y\n");
    assert!(added && screen.contains("\rcompiling raw (1.4 MiB) … 0 s"), "{screen:?}");
}

#[test]
fn what_is_asked_for_in_vain_and_what_is_not_asked_for_are_notes() {
    let program = Program::new();
    let kinds = fs::read(guest("kinds")).expect("the component");
    let manifest = "[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.example.com\"]\n";
    let folder = source(&program, "kinds", manifest, &kinds);
    for command in ["add", "test"] {
        let (_, out, _) = program.run(&["plugin", command, &folder]);
        let note =
            "plugin.toml asks for web, and no import of the component uses it: take [capabilities.web] out.";
        assert!(one_line(&out).contains(note), "{out}");
    }
    let outsider = fs::read(guest("outsider")).expect("the component");
    let folder = source(&program, "outsider", "[capabilities.clock]\nwhy = \"x\"\n", &outsider);
    let (_, out, _) = program.run(&["plugin", "test", &folder]);
    let said = one_line(&out);
    assert!(
        said.contains("The component imports interfaces whose capability plugin.toml does not request: "),
        "{out}"
    );
    assert!(said.contains("web (wasi:http/outgoing-handler@"), "{out}");
    let always = said
        .rsplit_once("plugin.toml does not request ")
        .and_then(|(_, rest)| rest.split_once(", which standard libraries import"));
    let (always, _) = always.expect("a note of what each program imports");
    assert!(always.contains("files") && always.contains("env") && !always.contains("clock"), "{always}");
    // The question and the relevant facts come last.
    assert!(out.find("Notes\n").expect("notes") < out.find("It asks for\n").expect("the rights"), "{out}");
    assert!(out.lines().all(|row| row.chars().count() <= 80), "{out}");
}

#[test]
fn a_component_s_own_comments_describe_its_tools_where_there_is_no_wit() {
    let program = Program::new();
    let mut component = fs::read(guest("kinds")).expect("the component");
    let docs = r#"{"worlds": {"kinds": {"func_exports": {"divide": {"docs": "Divides."}}}},
        "interfaces": {"echo": {"funcs": {"text": {"docs": "Gives it back."}}}}}"#;
    component.extend(custom_section("package-docs", &[&[1], docs.as_bytes()].concat()));
    let folder = source(&program, "kinds", "", &component);
    install(&program, &folder);
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(shown.contains("    | Divides.\n") && shown.contains("    | Gives it back.\n"), "{shown}");
    // A WIT file next to the component takes precedence, because the author wrote it.
    program.put(
        "workspace/sources/kinds/wit/a.wit",
        "package a:b;\nworld w {\n/// Of the folder.\nexport divide: func();\n}",
    );
    let (_, out, err) = program.run(&["plugin", "add", &folder]);
    assert!(out.contains("    | Of the folder.\n") && !out.contains("Gives it back."), "{out}{err}");
}

#[test]
fn tools_without_descriptions_get_them_from_the_wit_that_somebody_names() {
    let program = Program::new();
    program.put("workspace/kinds.wasm", fs::read(guest("kinds")).expect("the component"));
    let (_, out, _) = program.run(&["plugin", "test", "kinds.wasm"]);
    assert!(one_line(&out).contains("No tool has a description, so that a model has nothing but"), "{out}");
    assert!(one_line(&out).contains("name the author's WIT with `--wit DIR`"), "{out}");
    let wit = "package a:b;\nworld w {\n/// Divides two numbers.\nexport divide: func();\n/// Other.\nexport other: func();\n}";
    program.put("workspace/types/a.wit", wit);
    let (_, out, err) = program.run(&["plugin", "test", "kinds.wasm", "--wit", "types"]);
    assert!(
        out.contains("    | Divides two numbers.\n") && !out.contains("No tool has a description"),
        "{out}{err}"
    );
    let (_, hash, err) = program.run(&["plugin", "hash", "kinds.wasm", "--wit", "types"]);
    let (added, out, err2) =
        program.run(&["plugin", "add", "kinds.wasm", "--wit", "types/a.wit", "--yes", hash.trim()]);
    assert!(added.success(), "the same comments are the same plugin: {out}{err}{err2}");
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(shown.contains("    | Divides two numbers.\n"), "{shown}");
    assert!(one_line(&shown).contains("described by --wit "), "{shown}");
    for update in [&["plugin", "update", "kinds"][..], &["plugin", "update"]] {
        let (updated, out, err) = program.run(update);
        assert!(updated.success() && out.contains("is current"), "{out}{err}");
    }
    program.put("workspace/others/a.wit", wit.replace("divide", "multiply"));
    for (wit, expected) in [
        ("none", "--wit none does not exist; name a folder with .wit files, or a .wit file"),
        ("others", "--wit others has no doc comment (///) for a function that the component exports"),
    ] {
        let (added, _, err) = program.run(&["plugin", "add", "kinds.wasm", "--wit", wit]);
        assert!(!added.success() && err.contains(expected), "{err}");
    }
    let folder = source(
        &program,
        "kinds",
        "[comments]\ndivide = \"Mine.\"\n",
        &fs::read(guest("kinds")).expect("the component"),
    );
    let (added, _, err) = program.run(&["plugin", "add", &folder, "--wit", "types"]);
    assert!(!added.success() && err.contains("plugin.toml has [comments] already"), "{err}");
    let (updated, _, err) = program.run(&["plugin", "update", "--wit", "types"]);
    assert!(!updated.success() && err.contains("--wit and --max-tools are for a plugin; name it"), "{err}");
}

/// Encodes a custom section of a WebAssembly file.
pub(super) fn custom_section(name: &str, data: &[u8]) -> Vec<u8> {
    fn number(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let more = number >= 0x80;
            bytes.push((number & 0x7f) as u8 | if more { 0x80 } else { 0 });
            number >>= 7;
            if !more {
                return bytes;
            }
        }
    }
    let named = [number(name.len()), name.as_bytes().to_vec(), data.to_vec()].concat();
    [vec![0], number(named.len()), named].concat()
}

/// A WASI preview 1 program that prints, and fails if it receives an argument.
const PREVIEW_ONE: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "\10\00\00\00\06\00\00\00")
    (data (i32.const 16) "hello\n")
    (func (export "_start")
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
        (drop (call $sizes (i32.const 40) (i32.const 44)))
        (if (i32.gt_u (i32.load (i32.const 40)) (i32.const 1)) (then (call $exit (i32.const 3))))))"#;

#[test]
fn a_program_for_preview_one_is_adapted_and_runs() {
    let program = Program::new();
    let module = wat::parse_str(PREVIEW_ONE).expect("a module");
    install(&program, &source(&program, "old", "", &module));
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(listed(&mut server), ["old.run"]);
    let result = server.call("old.run", json!({}));
    assert_eq!(result["content"][0]["text"], "hello\n", "{result}");
    let failed = server.call("old.run", json!({"args": ["a"]}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert!(failed["content"][0]["text"].as_str().expect("a text").contains("exit code 3."), "{failed}");
    let library = wat::parse_str(PREVIEW_ONE.replace("_start", "other")).expect("a module");
    let (added, _, err) = program.run(&["plugin", "add", &source(&program, "old", "", &library)]);
    assert!(!added.success() && err.contains("is not a program (no `_start`)"), "{err}");
}

#[test]
fn inspect_says_of_any_file_what_it_is() {
    let program = Program::new();
    let core =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/target/wasm32-unknown-unknown/release/kinds.wasm");
    let run =
        "(component (import \"wasi:cli/environment@0.2.3\" (instance (export \"warp\" (func (result u64)))))
        (core module $m (func (export \"run\") (result i32) (i32.const 0)))
        (core instance $i (instantiate $m))
        (func $run (result (result)) (canon lift (core func $i \"run\")))
        (instance $program (export \"run\" (func $run)))
        (export \"wasi:cli/run@0.2.3\" (instance $program)))";
    let files: [(&str, Vec<u8>, &[&str]); 10] = [
        (
            "draft.wasm",
            wat::parse_str(run).expect("a component"),
            &["It cannot be added: it needs a function that this version of scorpiox-code does not provide"],
        ),
        (
            "kinds.wasm",
            fs::read(guest("kinds")).expect("the component"),
            &[
                "kinds.wasm: a component, ",
                "  divide\n    | func(a: u64, b: u64) -> result<u64, string>\n",
                "It can be added: `scorpiox-code plugin add",
                "handles.take\n    | func(value: thing)\n",
                "vast.deep\n",
                "cannot be a tool: its types are nested too deeply",
            ],
        ),
        (
            "outsider.wasm",
            fs::read(guest("outsider")).expect("the component"),
            &["wasi:filesystem/preopens@0.2.", "(by capabilities.files)", "(by capabilities.web)"],
        ),
        (
            "keeper.wasm",
            slow("(import \"scorpiox:tool/store@0.1.0\" (instance (export \"x\" (func))))", GIVE),
            &["scorpiox:tool/store@0.1.0  (needs capabilities.store)", "has to request", "plugin init"],
        ),
        (
            "core.wasm",
            fs::read(core).expect("the core module"),
            &["a core module that says its types", "makes this component of it", "  divide\n"],
        ),
        (
            "old.wasm",
            wat::parse_str(PREVIEW_ONE).expect("a module"),
            &[
                "a program for WASI preview 1",
                "  run\n",
                "takes args (a list of strings) and stdin (a string), and gives what it prints",
                "makes this component of it",
            ],
        ),
        (
            "plain.wasm",
            wat::parse_str("(module)").expect("a module"),
            &["a core module, 8 bytes", "It cannot be a plugin: it is a core module"],
        ),
        (
            "web.wasm",
            wat::parse_str("(module (import \"env\" \"emscripten_x\" (func)))").expect("a module"),
            &[
                "  env.emscripten_x\n",
                "imports env.emscripten_x, which nothing here provides: compilers for the web",
            ],
        ),
        ("a.txt", b"package a:b;\n".to_vec(), &["a.txt: a text, and no WebAssembly, 13 bytes"]),
        ("a.elf", b"\x7fELF\x02\x01".to_vec(), &["code for a processor, and no WebAssembly"]),
    ];
    for (name, bytes, expected) in files {
        program.put(&format!("workspace/{name}"), bytes);
        let (status, out, err) = program.run(&["plugin", "inspect", name]);
        assert!(status.success() && err.is_empty(), "{name}: {out}{err}");
        let said = one_line(&out);
        for part in expected {
            assert!(out.contains(part) || said.contains(part), "{name}: {part}: {out}");
        }
        assert!(out.lines().all(|row| row.chars().count() <= 80), "{name}: {out}");
        let can_be_added = said.contains("It can be added");
        let (added, _, _) = program.run(&["plugin", "hash", name]);
        assert_eq!(added.success(), can_be_added, "{name}: {out}");
    }
    let program = Program::new();
    program.put("workspace/cut.wasm", b"\0asm\x0d\0\x01\0\x07\xff");
    let (status, _, err) = program.run(&["plugin", "inspect", "cut.wasm"]);
    assert!(
        !status.success() && err.contains("begins like WebAssembly, and cannot be read: it is cut off"),
        "{err}"
    );
    let (status, _, err) = program.run(&["plugin", "inspect", "none.wasm"]);
    assert!(!status.success() && err.contains("none.wasm does not exist; name a WebAssembly file"), "{err}");
    assert!(!was_compiled(&program), "nothing is compiled");
}

#[test]
fn a_draft_is_refused_until_its_reasons_are_written_and_then_works() {
    let program = Program::new();
    let keeps = "(import \"scorpiox:tool/store@0.1.0\" (instance (export \"x\" (func))))";
    let mut component = slow(keeps, GIVE);
    let docs = r#"{"worlds": {"w": {"func_exports": {"give": {"docs": "Gives 7."}}}}}"#;
    component.extend(custom_section("package-docs", &[&[1], docs.as_bytes()].concat()));
    program.put("workspace/seven/give_seven.wasm", component);
    let (drafted, out, err) = program.run(&["plugin", "init", "seven/give_seven.wasm"]);
    assert!(drafted.success() && one_line(&out).contains("Fill in `why` of store"), "{out}{err}");
    let path = program.workspace().join("seven/plugin.toml");
    let draft = fs::read_to_string(&path).expect("the draft");
    assert!(draft.contains("name = \"give-seven\"") && draft.contains("give = \"Gives 7.\""), "{draft}");
    let (added, _, err) = program.run(&["plugin", "add", "seven"]);
    assert!(!added.success() && err.contains("capabilities.store.why is empty; say what for"), "{err}");
    let (again, _, err) = program.run(&["plugin", "init", "seven/give_seven.wasm"]);
    assert!(!again.success() && err.contains("exists, and is not overwritten"), "{err}");
    assert_eq!(fs::read_to_string(&path).expect("the draft"), draft);
    fs::write(&path, draft.replace("why = \"\"", "why = \"remembers\"")).expect("writes");
    let (tested, out, err) = program.run(&["plugin", "test", "seven"]);
    assert!(tested.success() || err.contains("imports something"), "{out}{err}");
}

#[test]
fn a_draft_requests_what_a_policy_of_wassette_allows_and_names_the_rest() {
    let program = Program::new();
    program.put("workspace/outsider.wasm", fs::read(guest("outsider")).expect("the component"));
    program.put(
        "workspace/policy.yaml",
        "version: \"1.0\"\npermissions:\n  network:\n    allow:\n      - host: api.example.com\n      - host: \"*\"\n  \
         storage:\n    allow:\n      - uri: fs://workspace/**\n        access: [read]\n  ipc: {}\n",
    );
    let words =
        ["plugin", "init", "outsider.wasm", "--out", "made", "--policy", "policy.yaml", "--name", "weather"];
    let (made, _, err) =
        program.run(&["plugin", "init", "outsider.wasm", "--out", "none", "--policy", "nope.yaml"]);
    let expected =
        "--policy nope.yaml does not exist; name the policy.yaml of the component, or leave --policy out";
    assert!(!made.success() && err.contains(expected) && !program.workspace().join("none").exists(), "{err}");
    let (drafted, out, err) = program.run(&words);
    assert!(drafted.success(), "{out}{err}");
    let said = one_line(&out);
    assert!(said.contains("Fill in `why` of files, web"), "{out}");
    assert!(said.contains("Not requested"), "{out}");
    assert!(said.contains("permissions.network.allow[1]: host \"*\" stands for every host"), "{out}");
    assert!(said.contains("permissions.ipc: plugin.toml has nothing like it"), "{out}");
    let path = program.workspace().join("made/plugin.toml");
    let draft = fs::read_to_string(&path).expect("the draft");
    assert!(
        draft.contains("\nhosts = [\"api.example.com\"]\n") && draft.contains("\nread = [\"workspace\"]\n"),
        "{draft}"
    );
    let (added, _, err) = program.run(&["plugin", "add", "made"]);
    assert!(!added.success() && err.contains(".why are empty; say what for"), "{err}");
    fs::write(&path, draft.replace("why = \"\"", "why = \"the weather\"")).expect("writes");
    install(&program, &program.workspace().join("made").display().to_string());
}

#[test]
fn a_draft_elsewhere_has_a_copy_of_the_component() {
    let program = Program::new();
    program.put("workspace/2kinds.wasm", fs::read(guest("kinds")).expect("the component"));
    let (drafted, _, err) = program.run(&["plugin", "init", "2kinds.wasm", "--out", "made/here"]);
    assert!(!drafted.success() && err.contains("give it another with --name"), "{err}");
    let (drafted, out, err) =
        program.run(&["plugin", "init", "2kinds.wasm", "--out", "made/here", "--name", "kinds"]);
    assert!(drafted.success(), "{out}{err}");
    install(&program, &program.workspace().join("made/here").display().to_string());
    // A failed draft leaves no files behind.
    program.put("workspace/other/2kinds.wasm", "mine");
    let (drafted, _, err) =
        program.run(&["plugin", "init", "2kinds.wasm", "--out", "other", "--name", "kinds"]);
    assert!(!drafted.success() && err.contains("is not overwritten"), "{err}");
    assert!(!program.workspace().join("other/plugin.toml").exists());
    let (drafted, _, err) = program.run(&["plugin", "init", "other/2kinds.wasm", "--name", "kinds"]);
    assert!(!drafted.success() && err.contains("it is not a WebAssembly component"), "{err}");
}
