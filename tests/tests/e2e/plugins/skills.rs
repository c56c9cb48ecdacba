//! Tests of skills that include a component: it runs after the user has approved it.

use std::fs;

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{guest, install, source};

const SKILL: &str = "---\nname: count\ndescription: Counts.\n---\nCount $ARGUMENTS.\n";

fn with_skill() -> (Program, String) {
    let program = Program::new();
    let folder = "workspace/.claude/skills/count";
    program.put(&format!("{folder}/SKILL.md"), SKILL);
    program.put(&format!("{folder}/count.wasm"), fs::read(guest("program")).expect("the component"));
    let folder = program.workspace().join(".claude/skills/count").display().to_string();
    (program, folder)
}

fn start(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

/// Splits the text of a result into the skill and the paragraphs after it.
fn texts(result: &Value) -> Vec<String> {
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{result}");
    let text = content[0]["text"].as_str().expect("a text");
    let last = text.find("\nSkill folder: ").expect("a skill");
    let end = text[last..].find("\n\n").map_or(text.len(), |end| last + end);
    let behind = text[end..].split("\n\n").filter(|text| !text.is_empty());
    std::iter::once(&text[..end]).chain(behind).map(str::to_owned).collect()
}

fn invoke(server: &mut Started) -> Vec<String> {
    texts(&server.call("InvokeSkill", json!({"skill_name": "count", "arguments": "one 'two three'"})))
}

#[test]
fn nothing_runs_that_no_person_approved() {
    let (program, folder) = with_skill();
    let mut server = start(&program);
    let texts = invoke(&mut server);
    assert!(texts[0].contains("Count one 'two three'."), "{texts:?}");
    assert!(
        texts[1].contains("nobody approved it as it is now") && texts[1].contains("scorpiox-code plugin add"),
        "{texts:?}"
    );
    assert!(texts[1].contains(folder.rsplit('/').next().expect("a name")), "{texts:?}");
}

#[test]
fn an_approved_component_gets_the_arguments_and_gives_its_result() {
    let (program, folder) = with_skill();
    install(&program, &folder);
    let mut server = start(&program);
    let texts = invoke(&mut server);
    assert!(texts[0].contains("Count one 'two three'."), "{texts:?}");
    assert_eq!(texts[2], "[\"one\", \"two three\"] \"\"");
    // A replaced component does not run.
    program.put("workspace/.claude/skills/count/count.wasm", fs::read(guest("kinds")).expect("it"));
    let texts = invoke(&mut server);
    assert!(texts[1].contains("nobody approved it as it is now"), "{texts:?}");
}

#[test]
fn an_error_of_a_component_says_whose_it_is() {
    let (program, folder) = with_skill();
    let base = "workspace/.claude/skills/count";
    program.put(&format!("{base}/count.wasm"), fs::read(guest("kinds")).expect("the component"));
    let manifest = "name = \"count\"\ncomponent = \"count.wasm\"\nselect = [\"divide\"]\n";
    program.put(&format!("{base}/plugin.toml"), manifest);
    install(&program, &folder);
    let mut server = start(&program);
    let result =
        server.call("InvokeSkill", json!({"skill_name": "count", "arguments": "{\"a\": 1, \"b\": 0}"}));
    let texts = texts(&result);
    let said = texts[1..].join("\n");
    assert!(said.contains("The skill's component was run with the arguments; it failed:\n"), "{texts:?}");
    assert!(said.ends_with("1 cannot be divided by 0"), "{texts:?}");
}

#[test]
fn a_skill_without_a_component_is_as_it_was() {
    let program = Program::new();
    program.put("workspace/.claude/skills/count/SKILL.md", SKILL);
    assert_eq!(invoke(&mut start(&program)).len(), 1);
    let (_, out, err) = program.run(&["plugin", "add", "workspace/.claude/skills/count"]);
    assert!(!out.contains("--yes") && !err.is_empty(), "{out}{err}");
}

#[test]
fn a_component_that_may_change_something_is_called_by_its_own_name() {
    let (program, _folder) = with_skill();
    let bytes = fs::read(guest("program")).expect("the component");
    let manifest = "[capabilities.files]\nwhy = \"a\"\nwrite = [\"workspace\"]\n";
    install(&program, &source(&program, "writer", manifest, &bytes));
    let texts = invoke(&mut start(&program));
    assert!(texts[1].contains("the plugin tool writer.run, which may do more than compute"), "{texts:?}");
}

#[test]
fn files_of_a_skill_that_are_none_are_not_waited_for() {
    let program = Program::new();
    let folder = program.workspace().join(".claude/skills/count");
    program.put("workspace/.claude/skills/count/SKILL.md", SKILL);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("plugin.toml"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", folder.join("count.wasm")).expect("links");
    let texts = invoke(&mut start(&program));
    assert!(texts[0].contains("Count one"), "{texts:?}");
    assert!(texts[1].contains("cannot be read"), "{texts:?}");
}
