//! Tests that results contain structured data only on request: next to it, some models do not see the text.

use scorpiox_tests::Program;
use serde_json::json;

use super::{NEWEST, listed, text};
use crate::plugins::install_kinds;

#[test]
fn built_in_tools_declare_no_schema_of_results_and_plugins_keep_theirs() {
    let program = Program::as_shipped();
    install_kinds(&program, "");
    let mut server = program.start();
    server.initialize(NEWEST);
    let tools = listed(&mut server);
    let with_schema = tools.iter().filter(|tool| tool.get("outputSchema").is_some());
    let names: Vec<_> = with_schema.map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert!(names.contains(&"kinds.divide"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("kinds.")), "{names:?}");
    let result = server.call("kinds.divide", json!({"a": 6, "b": 3}));
    assert_eq!(result["structuredContent"], json!({"result": 2}), "{result}");
    assert_eq!(text(&result), "2");
    let result = server.call("ListBgTasks", json!({}));
    assert!(result.get("structuredContent").is_none(), "{result}");
}

#[test]
fn the_user_can_have_data_and_a_workspace_cannot() {
    for (file, is_given) in [
        ("home/.claude/scorpiox-env.txt", true),
        ("workspace/.claude/scorpiox-env.txt", false),
        ("workspace/.scorpiox/scorpiox-env.txt", false),
    ] {
        let program = Program::as_shipped().with_commands();
        program.put(file, "STRUCTURED=true\n");
        let mut server = program.start();
        server.initialize(NEWEST);
        let bash = listed(&mut server).into_iter().find(|tool| tool["name"] == "Bash").expect("listed");
        assert_eq!(bash.get("outputSchema").is_some(), is_given, "{file}: {bash}");
        let result = server.call("Bash", json!({"command": "echo hello"}));
        assert_eq!(result["structuredContent"]["output"] == "hello\n", is_given, "{file}: {result}");
        assert!(text(&result).starts_with("hello\n\n[exit code 0 · "), "{result}");
    }
}

#[test]
fn a_person_at_the_command_line_gets_data() {
    let program = Program::as_shipped().with_commands();
    let (_, out, _) = program.run(&["call", "--json", "Bash", r#"{"command": "echo hello; exit 4"}"#]);
    let result: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
    assert_eq!(result["structuredContent"]["exit_code"], 4, "{out}");
}

#[test]
fn the_first_words_of_the_instructions_are_what_one_searches_for() {
    let program = Program::as_shipped().with("TOOL_WEBSEARCH", "off");
    let mut server = program.start();
    let hello = server.initialize(NEWEST);
    let instructions = hello["instructions"].as_str().expect("instructions");
    let first: String = instructions.chars().take(150).collect();
    for word in
        ["Shell commands", "background", "web pages", "images", "to-do", "plans", "questions", "skills"]
    {
        assert!(first.contains(word), "{word}: {first}");
    }
    assert!(!instructions.contains("web search"), "it is switched off: {instructions}");
}

#[test]
fn the_tools_that_begin_work_are_marked_to_be_listed_at_once_and_large_results_by_their_size() {
    let mut server = Program::as_shipped().serve();
    server.initialize(NEWEST);
    let tools = listed(&mut server);
    let marked = |mark: &str| {
        let has = tools.iter().filter(|tool| !tool["_meta"][mark].is_null());
        has.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let always = marked("anthropic/alwaysLoad");
    assert!(always.contains(&"Bash".to_owned()) && !always.contains(&"KillBgTask".to_owned()), "{always:?}");
    assert_eq!(marked("anthropic/maxResultSizeChars"), ["ReadImage", "ReadDocs"]);
    assert_eq!(tools[0]["_meta"]["anthropic/alwaysLoad"], true);
}
