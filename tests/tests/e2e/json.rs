//! Tests of `--json` against the schemas in docs/json.md.

use std::fs;
use std::path::Path;

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::plugins::{guest, source};

/// Returns the schema of a command from the page.
fn schema(command: &str) -> Value {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").join("docs/json.md");
    let page = fs::read_to_string(page).expect("the page");
    let section = page.split("\n## ").find_map(|section| section.strip_prefix(command));
    let section = section.unwrap_or_else(|| panic!("{command} has no section"));
    let block = section.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.expect("a block")).expect("a schema")
}

/// Runs a command, and returns its output after it was compared with the schema.
#[track_caller]
fn checked(program: &Program, command: &str, arguments: &[&str], code: i32) -> Value {
    let words: Vec<_> = command.split(' ').chain(arguments.iter().copied()).chain(["--json"]).collect();
    let (status, out, err) = program.run(&words);
    assert_eq!(status.code(), Some(code), "{words:?}: {out}{err}");
    let printed: Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{words:?}: {error}: {out}"));
    let validator = jsonschema::validator_for(&schema(command)).expect("a valid schema");
    let errors: Vec<_> =
        validator.iter_errors(&printed).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{words:?}: {errors:#?}\n{printed:#}");
    printed
}

#[test]
fn doctor_has_all_results_and_settings() {
    let program = Program::new().with("ANSWER_WITHIN", "9");
    program.put("home/.claude/scorpiox-env.txt", "STREAMING=maybe\n");
    let report = checked(&program, "doctor", &[], 1);
    assert_eq!((&report["works"], &report["failures"]), (&json!(false), &json!(1)), "{report}");
    let results = report["results"].as_array().expect("a list");
    let failed = results.iter().find(|result| result["state"] == "failed").expect("a failure");
    assert!(failed["text"].as_str().expect("text").contains("STREAMING"), "{failed}");
    let setting = |key: &str| {
        let settings = report["settings"].as_array().expect("a list");
        settings.iter().find(|setting| setting["key"] == key).cloned().unwrap_or_else(|| panic!("{key}"))
    };
    assert_eq!(setting("ANSWER_WITHIN")["default"], false);
    assert_eq!(
        setting("TOOL_PREFIX"),
        json!({"key": "TOOL_PREFIX", "value": "", "from": "default", "default": true})
    );
}

#[test]
fn tools_have_their_schemas_and_examples_with_all_required_arguments() {
    let program = Program::new().with("TOOL_PLANMODE", "0");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"ReadDocs\"]\n");
    let all = checked(&program, "tools", &[], 0);
    let tools = all["tools"].as_array().expect("a list");
    assert!(tools.len() >= 13, "{all}");
    for tool in tools.iter().filter(|tool| tool["example"].is_string()) {
        let example = tool["example"].as_str().expect("text");
        for required in tool["input_schema"]["required"].as_array().into_iter().flatten() {
            let name = required.as_str().expect("a name");
            let is_there =
                [format!(" {name}="), format!(" {name}:=")].iter().any(|word| example.contains(word));
            assert!(is_there, "{name}: {example}");
        }
    }
    let one = |name: &str| checked(&program, "tools", &[name], 0)["tools"][0].clone();
    assert_eq!(one("PlanMode")["state"], "off");
    let closed = one("readdocs");
    assert_eq!((&closed["name"], &closed["state"]), (&json!("ReadDocs"), &json!("closed")));
    assert!(closed["closed_because"].as_str().expect("a reason").contains("policy.toml line 3"), "{closed}");
    assert_eq!(one("BackgroundBash")["example"], Value::Null);
}

#[test]
fn a_tool_shows_its_arguments_and_an_example_that_runs() {
    let program = Program::new();
    let (status, out, err) = program.run(&["tools", "Bash"]);
    assert!(status.success(), "{out}{err}");
    for line in
        ["    command: string; required", "      | The bash command to execute", "    timeout: integer"]
    {
        assert!(out.lines().any(|found| found == line), "{line}: {out}");
    }
    assert!(out.contains("  Example: scorpiox-code call Bash command='echo hi'"), "{out}");
    assert!(!out.contains("ReadDocs"), "{out}");
    let (status, _, err) = program.run(&["tools", "ReadDoc"]);
    assert!(!status.success() && err.contains("did you mean ReadDocs"), "{err}");
    let (status, out, err) = program.run(&["call", "PlanMode", "action=status"]);
    assert!(status.success(), "{out}{err}");
}

#[test]
fn a_verdict_names_its_rule_and_what_would_allow() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"ReadDocs\"]\n");
    let denied = checked(&program, "policy why", &["tool", "ReadDocs"], 1);
    assert_eq!(denied["outcome"], "deny");
    assert_eq!(denied["rules"][0]["rule"], "policy.toml line 3", "{denied}");
    let hidden = checked(&program, "policy why", &["read", ".env"], 1);
    assert_eq!(hidden["would_allow"]["file"], "your policy.toml", "{hidden}");
    let runs = checked(&program, "policy why", &["command", "ls"], 0);
    assert_eq!((&runs["outcome"], &runs["command"]["timeout_ms"]["value"]), (&json!("allow"), &json!(30000)));
    let call = checked(&program, "policy why", &["call", "Bash", "command=ls"], 0);
    assert_eq!((&call["outcome"], &call["command"]), (&json!("allow"), &Value::Null));
}

#[test]
fn plugins_have_a_state_and_a_plugin_what_it_requests() {
    let program = Program::new();
    assert_eq!(checked(&program, "plugin list", &[], 0), json!({ "plugins": [] }));
    let bytes = fs::read(guest("kinds")).expect("the component");
    let manifest = "[capabilities.files]\nwhy = \"x\"\nread = [\"workspace\"]\n";
    let folder = source(&program, "kinds", manifest, &bytes);
    program.run(&["plugin", "add", &folder]);
    program.put("home/.scorpiox/plugins/odd/plugin.toml", "nonsense");
    let listed = checked(&program, "plugin list", &[], 0);
    let state = |name: &str| {
        let plugins = listed["plugins"].as_array().expect("a list");
        plugins.iter().find(|plugin| plugin["name"] == name).map(|plugin| plugin["state"].clone())
    };
    assert_eq!((state("kinds"), state("odd")), (Some(json!("waiting")), Some(json!("broken"))), "{listed}");
    let shown = checked(&program, "plugin show", &["kinds"], 0);
    assert_eq!((&shown["state"], &shown["approved"]), (&json!("waiting"), &Value::Null));
    assert_eq!(shown["requests"]["files"]["read"], json!(["workspace"]), "{shown}");
    assert!(shown["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{shown}");
}

#[test]
fn skills_have_their_folder_and_their_problems() {
    let program = Program::new();
    program.put("workspace/.claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: D\n---\nBody\n");
    let listed = checked(&program, "skills list", &[], 0);
    assert_eq!(
        (&listed["skills"][0]["name"], &listed["skills"][0]["scope"]),
        (&json!("tidy"), &json!("workspace"))
    );
    assert!(listed["folders"].as_array().is_some_and(|folders| folders.len() > 3), "{listed}");
}

#[test]
fn update_names_the_way_of_installation_and_runs_nothing() {
    let program = Program::new();
    let found = checked(&program, "update", &[], 0);
    let printed = program.run(&["--version"]).1;
    assert_eq!(printed, format!("scorpiox-code {}\n", found["version"].as_str().expect("text")));
    assert!(found["program"].as_str().expect("a path").contains("scorpiox-code"), "{found}");
    let (status, out, err) = program.run(&["update"]);
    assert!(status.success() && out.contains("Installed by "), "{out}{err}");
    assert_eq!(out.contains("To update it:"), found["command"].is_string(), "{out}");
}
