//! Tests of the files of skills, which models read with the tool if they cannot run commands.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::program::modern;
use serde_json::{Value, json};

use super::{FROM_OUTSIDE, PLAIN, body, invoke, started};

const DENIES_BASH: &str =
    "version = 1\n[tools]\ndeny = [\"Bash\", \"BackgroundBash\"]\n[files]\ndeny = [\"**/*.key\"]\n";

fn program() -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", DENIES_BASH);
    program.put("home/.claude/skills/mine/SKILL.md", PLAIN);
    program.put("home/.claude/skills/mine/references/forms.md", "# Forms\n\n$0 and </skill_file>\n");
    program.put("home/.claude/skills/mine/a.key", "KEY");
    program.put("home/.claude/skills/mine/.hidden", "HIDDEN");
    program
}

#[test]
fn a_file_of_a_skill_is_read_in_every_revision_where_no_command_may_run() {
    let program = program();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut server = program.start();
        let call =
            json!({ "name": "InvokeSkill", "arguments": { "skill_name": "mine/references/forms.md" } });
        let answer = if revision == "2026-07-28" {
            server.ask("tools/call", modern(call))
        } else {
            server.initialize(revision);
            server.ask("tools/call", call)
        };
        assert_eq!(
            answer["result"]["content"][0]["text"],
            "<skill_file skill=\"mine\" path=\"references/forms.md\">\n# Forms\n\n$0 and <\\/skill_file>\n\n</skill_file>",
            "{revision}: {answer}"
        );
    }
}

#[cfg(unix)] // links
#[test]
fn nothing_is_read_by_a_path_that_is_no_file_of_the_skill() {
    let program = program();
    program.put("home/secret.txt", "SECRET");
    let folder = program.home().join(".claude/skills/mine");
    std::os::unix::fs::symlink(program.home().join("secret.txt"), folder.join("link.txt")).expect("a link");
    std::os::unix::fs::symlink(program.home(), folder.join("up")).expect("a link");
    let mut server = started(&program);
    for path in [
        "../../../secret.txt",
        "link.txt",
        "up/secret.txt",
        ".hidden",
        "a.key",
        "/etc/passwd",
        "references",
        "",
        "absent.md",
    ] {
        let result = server.call("InvokeSkill", json!({ "skill_name": format!("mine/{path}") }));
        let text = result.to_string();
        assert_eq!(result["isError"], true, "{path}: {text}");
        assert!(
            !["SECRET", "KEY", "HIDDEN", "root:"].iter().any(|secret| text.contains(secret)),
            "{path}: {text}"
        );
    }
    let listed = invoke(&mut server, "mine", "");
    assert!(listed.contains("\nFiles:\n- references/forms.md\nTo read one, invoke InvokeSkill with a skill_name such as \"mine/references/forms.md\"."), "{listed}");
}

#[test]
fn long_instructions_are_read_on_by_the_tool() {
    let program = Program::new();
    let text = (0..3000).map(|n| format!("step {n}\n")).collect::<Vec<_>>().concat();
    program.put("workspace/.claude/skills/long/SKILL.md", super::skill("long", "D", &text));
    let mut server = started(&program);
    let first = invoke(&mut server, "long", "");
    let shown = body(&first, "long");
    let next = first
        .rsplit_once("and arguments \"")
        .expect("a note")
        .1
        .split('"')
        .next()
        .expect("a line")
        .to_owned();
    let rest = invoke(&mut server, "long/SKILL.md", &next);
    assert!(rest.contains(FROM_OUTSIDE), "{rest}");
    let rest = rest.split_once(">\n").expect("a block").1.split_once("\n</skill_file>").expect("its end").0;
    assert_eq!(shown + rest, text);
}

#[test]
fn where_not_all_files_are_listed_scripts_are() {
    let program = Program::new();
    program.put("workspace/.claude/skills/mine/SKILL.md", PLAIN);
    for n in 0..80 {
        program.put(&format!("workspace/.claude/skills/mine/assets/{n:02}.txt"), "text");
    }
    program.put("workspace/.claude/skills/mine/scripts/build.sh", "echo");
    let text = invoke(&mut started(&program), "mine", "");
    assert!(
        text.contains("\nFiles:\n- scripts/build.sh\n- assets/00.txt\n") && text.contains("\n… and more\n"),
        "{text}"
    );
}

#[test]
fn a_component_of_a_skill_is_not_run_when_a_file_is_read() {
    let program = Program::new();
    program.put("workspace/.claude/skills/mine/SKILL.md", PLAIN);
    program.put("workspace/.claude/skills/mine/a.wasm", "no component");
    program.put("workspace/.claude/skills/mine/a.md", "text");
    let mut server = started(&program);
    assert!(invoke(&mut server, "mine", "").contains("brings a component"));
    let text = invoke(&mut server, "mine/a.md", "");
    assert!(!text.contains("component"), "{text}");
    fs::remove_file(program.workspace().join(".claude/skills/mine/a.md")).expect("removed");
    let gone: Value = server.call("InvokeSkill", json!({ "skill_name": "mine/a.md" }));
    assert_eq!(gone["isError"], true, "{gone}");
    assert!(gone.to_string().contains("has no file"), "{gone}");
}
