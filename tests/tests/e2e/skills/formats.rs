//! Tests of front matter in the formats of the Agent Skills specification and of Claude Code.

use scorpiox_tests::{Canonical as _, Program, Started};
use serde_json::{Value, json};

use super::{body, description, invoke, started};

fn put(program: &Program, name: &str, front_matter: &str, body: &str) {
    let text = format!("---\nname: {name}\ndescription: About {name}\n{front_matter}\n---\n{body}");
    program.put(&format!("home/.claude/skills/{name}/SKILL.md"), text);
}

fn prompts(server: &mut Started) -> Vec<Value> {
    server.ask("prompts/list", json!({}))["result"]["prompts"].as_array().expect("prompts").clone()
}

fn prompt(server: &mut Started, name: &str, arguments: &Value) -> Value {
    server.ask("prompts/get", json!({ "name": name, "arguments": arguments }))
}

#[test]
fn a_skill_that_models_must_not_invoke_is_a_prompt_alone() {
    let program = Program::new();
    put(&program, "deploy", "disable-model-invocation: true", "Deploy it\n");
    put(&program, "other", "license: MIT", "Needle\n");
    let mut server = started(&program);
    let text = description(&mut server);
    assert!(text.ends_with("Skills:\n- other: About other"), "{text}");
    for name in ["deploy", "deploy/SKILL.md"] {
        let result = server.call("InvokeSkill", json!({ "skill_name": name }));
        assert_eq!(result["isError"], true, "{result}");
        let said = result["content"][0]["text"].as_str().expect("text");
        assert!(
            said.contains("only the user can start it, as a prompt") && !said.contains("Deploy it"),
            "{said}"
        );
    }
    assert_eq!(prompts(&mut server).len(), 2);
    let got = prompt(&mut server, "deploy", &json!({}));
    let got = got["result"]["messages"][0]["content"]["text"].as_str().expect("text");
    assert_eq!(body(got, "deploy"), "Deploy it\n");
}

#[test]
fn a_skill_that_people_must_not_pick_is_no_prompt() {
    let program = Program::new();
    put(&program, "background", "user-invocable: false", "Know this\n");
    let mut server = started(&program);
    assert!(prompts(&mut server).is_empty());
    let refused = prompt(&mut server, "background", &json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(
        refused["error"]["message"].as_str().expect("text").contains("user-invocable: false"),
        "{refused}"
    );
    assert_eq!(body(&invoke(&mut server, "background", ""), "background"), "Know this\n");
}

#[test]
fn named_arguments_are_those_of_the_prompt_and_placeholders() {
    let program = Program::new();
    put(
        &program,
        "fix",
        "arguments: [issue, branch]\nargument-hint: \"[issue] [branch]\"",
        "Fix $issue on $branch: $0.\n",
    );
    put(&program, "plain", "argument-hint: \"[anything]\"", "Do $ARGUMENTS\n");
    let mut server = started(&program);
    let listed = prompts(&mut server);
    assert_eq!(
        listed[0]["arguments"],
        json!([
            { "name": "issue", "description": "Argument 1 of 2: [issue] [branch]", "required": false },
            { "name": "branch", "description": "Argument 2 of 2: [issue] [branch]", "required": false },
        ])
    );
    assert_eq!(
        listed[1]["arguments"],
        json!([{ "name": "arguments", "description": "[anything]", "required": false }])
    );
    let mut text = |name: &str, arguments: Value| -> String {
        let got = prompt(&mut server, name, &arguments);
        body(
            got["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{got}")),
            name,
        )
    };
    assert_eq!(
        text("fix", json!({ "issue": "it's 12", "branch": "main" })),
        "Fix it's 12 on main: it's 12.\n"
    );
    assert_eq!(text("fix", json!({ "branch": "main" })), "Fix  on main: .\n");
    assert_eq!(text("fix", json!({ "arguments": "12 'a b'" })), "Fix 12 on a b: 12.\n");
    assert_eq!(text("fix", json!({})), "Fix $issue on $branch: $0.\n");
    assert_eq!(text("plain", json!({ "arguments": "it" })), "Do it\n");
    assert_eq!(body(&invoke(&mut server, "fix", "12 main"), "fix"), "Fix 12 on main: 12.\n");
    for (name, arguments, why) in [
        (
            "fix",
            json!({ "colour": "red" }),
            "there is no argument \"colour\"; the prompt takes issue, branch",
        ),
        ("plain", json!({ "colour": "red" }), "there is no argument \"colour\"; the prompt takes arguments"),
        (
            "fix",
            json!({ "issue": "1", "arguments": "1" }),
            "give either \"arguments\" or single arguments, not both",
        ),
        ("fix", json!({ "issue": 5 }), "arguments must be an object of strings"),
    ] {
        let refused = prompt(&mut server, name, &arguments);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().expect("text").starts_with(why), "{refused}");
    }
}

#[test]
fn when_to_use_a_skill_follows_its_description_and_what_it_needs_stands_in_its_result() {
    let program = Program::new();
    put(&program, "a", "when_to_use: When asked.\ncompatibility: Needs git", "Body\n");
    let mut server = started(&program);
    assert!(description(&mut server).ends_with("- a: About a. When asked."));
    assert_eq!(prompts(&mut server)[0]["description"], "About a. When asked.");
    assert!(invoke(&mut server, "a", "").contains("\nCompatibility: Needs git"));
}

#[test]
fn variables_that_the_server_knows_are_filled_in_and_others_are_said() {
    let text = "In ${CLAUDE_PROJECT_DIR} at ${CLAUDE_SESSION_ID} with ${CLAUDE_EFFORT}, ${HOME}\n";
    let invoked = |program: Program| {
        put(&program, "v", "license: MIT", text);
        let project = program.workspace().canonical().display().to_string();
        (invoke(&mut started(&program), "v", ""), project)
    };
    let (known, project) = invoked(Program::new().with("CLAUDE_CODE_SESSION_ID", "0a-1b"));
    assert!(
        known.contains(&format!("In {project} at 0a-1b with ${{CLAUDE_EFFORT}}, ${{HOME}}\n")),
        "{known}"
    );
    assert!(known.contains("This server does not know ${CLAUDE_EFFORT}; it stays as written."), "{known}");
    for hostile in [None, Some("a\nb; rm")] {
        let program =
            hostile.map_or_else(Program::new, |id| Program::new().with("CLAUDE_CODE_SESSION_ID", id));
        let (unknown, _) = invoked(program);
        assert!(unknown.contains(" at ${CLAUDE_SESSION_ID} with "), "{unknown}");
        assert!(unknown.contains("does not know ${CLAUDE_SESSION_ID}, ${CLAUDE_EFFORT};"), "{unknown}");
    }
}
