//! Tests of the tools as clients see them: their list, the structure of results, and the settings that
//! disable them.

use base64::Engine as _;
use scorpiox_tests::program::{ALLOWS_COMMANDS, data};
use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

const NEWEST: &str = "2025-11-25";
/// Tool that a project adds if it has many skills. The specification does not contain it.
const OWN: &str = "SearchSkills";

fn listed(server: &mut Started) -> Vec<Value> {
    let answer = server.ask("tools/list", json!({}));
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list: {answer}")).clone()
}

fn names(server: &mut Started) -> Vec<String> {
    listed(server).iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// Returns the tools of the specification, in its order.
fn specified() -> Vec<Value> {
    let file = data().join("tools.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    document["tools"].as_array().expect("tools").clone()
}

#[test]
fn names_descriptions_and_input_schemas_are_those_of_the_specification() {
    let specified = specified();
    let program = Program::new();
    let mut server = program.start();
    server.initialize(NEWEST);
    let mut after = 0;
    for tool in listed(&mut server) {
        let found = specified.iter().position(|known| known["name"] == tool["name"]);
        let at = found.unwrap_or_else(|| panic!("not in the specification: {tool}"));
        assert!(at >= after, "{} is not in the specification's order", tool["name"]);
        after = at;
        assert_eq!(tool["inputSchema"], specified[at]["inputSchema"], "{}", tool["name"]);
        let (text, known) = (tool["description"].as_str(), specified[at]["description"].as_str());
        match tool["name"].as_str() {
            Some("InvokeSkill") => assert!(text.expect("text").starts_with(known.expect("text")), "{tool}"),
            _ => assert_eq!(text, known, "{tool}"),
        }
    }
    assert!(after > 0, "nothing is listed");
}

#[test]
fn the_list_is_the_same_bytes_each_time_and_for_every_server() {
    let (one, two) = (Program::new(), Program::new());
    let mut texts = Vec::new();
    for program in [&one, &two] {
        let mut server = program.start();
        server.initialize(NEWEST);
        texts.extend((0..2).map(|_| Value::from(listed(&mut server)).to_string()));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
}

#[test]
fn every_structured_result_is_one_of_the_tool_s_output_schema() {
    let program = Program::new();
    program.put("workspace/plan.md", "# Plan\n");
    let mut server = program.start();
    server.initialize(NEWEST);
    let tools = listed(&mut server);
    let check = |server: &mut Started, tool: &str, arguments: Value| {
        let definition = tools.iter().find(|known| known["name"] == tool).expect("listed");
        let validator = jsonschema::validator_for(&definition["outputSchema"]).expect("a schema");
        let result = server.call(tool, arguments.clone());
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        let data = &result["structuredContent"];
        let errors: Vec<_> = validator.iter_errors(data).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{tool} {arguments}: {errors:?}\n{data:#}");
        data.clone()
    };
    let long = "é".repeat(500);
    for arguments in [
        json!({ "action": "list", "query": "" }),
        json!({ "action": "create", "query": "", "text": "One" }),
        json!({ "action": "create", "query": long }),
        json!({ "action": "add", "query": "", "text": "First\nof several lines" }),
        json!({ "action": "add", "query": "", "task_id": 1, "text": "Second" }),
        json!({ "action": "complete", "query": "", "step_id": 1 }),
        json!({ "action": "complete", "query": "", "task_id": 1 }),
        json!({ "action": "reopen", "query": "", "task_id": 1 }),
        json!({ "action": "switch", "query": "one" }),
        json!({ "action": "rename", "query": "", "text": "Renamed" }),
        json!({ "action": "delete", "query": "", "step_id": 2 }),
        json!({ "action": "list", "query": "first" }),
        json!({ "action": "list", "query": "", "task_id": 2 }),
        json!({ "action": "list", "query": "nothing has this" }),
        json!({ "action": "pending", "query": "" }),
    ] {
        check(&mut server, "TaskManager", arguments);
    }
    for index in 0..30 {
        let name = format!("Many {index}");
        check(&mut server, "TaskManager", json!({ "action": "create", "query": "", "text": name }));
    }
    let page = check(&mut server, "TaskManager", json!({ "action": "list", "query": "" }));
    assert!(page["next"].is_string(), "the list has more pages: {page}");
    for arguments in [
        json!({ "action": "status" }),
        json!({ "action": "enter", "goal": "G" }),
        json!({ "action": "json" }),
        json!({ "action": "exit", "plan_file": "plan.md" }),
        json!({ "action": "status" }),
        json!({ "action": "reset" }),
    ] {
        check(&mut server, "PlanMode", arguments);
    }
    let fast = json!({ "action": "set", "message": "M", "delay_seconds": 1, "repeat_count": 1 });
    let for_ever = json!({ "action": "set", "message": "M", "delay_seconds": 3600, "repeat_count": -1 });
    check(&mut server, "SetCallback", fast);
    check(&mut server, "SetCallback", for_ever);
    server.notification("notifications/message");
    let list = check(&mut server, "SetCallback", json!({ "action": "list" }));
    assert_eq!(list["waiting"].as_array().expect("a list").len(), 1, "{list}");
    check(&mut server, "SetCallback", json!({ "action": "cancel" }));
}

#[test]
fn results_are_structured_exactly_where_a_schema_says_so() {
    let programs = [(Program::new(), true), (Program::as_shipped(), false)];
    for (program, is_structured) in programs {
        each_result(&program, is_structured);
    }
}

fn each_result(program: &Program, is_structured: bool) {
    program.put("workspace/.claude/skills/s/SKILL.md", "---\nname: s\ndescription: D\n---\nBody\n");
    // A page for `ReadDocs`, and a result list for one of the engines.
    let site = Site::start(|asked| match asked.path.as_str() {
        "/page" => Answer::html("<title>T</title><p>Some text."),
        _ => Answer::of("application/json", r#"[{"URL":"https://a.example/","Title":"A","Snippet":"S"}]"#),
    });
    let policy = format!(
        "version = 1\n{ALLOWS_COMMANDS}[web]\nallow_private = [\"127.0.0.1/32\"]\nbrowser = false\n\
         [search.engine.wiby]\nbase_url = \"{}\"\n",
        site.url("")
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
    let dot = base64::engine::general_purpose::STANDARD.decode(dot).expect("base64");
    let image = program.put("workspace/dot.png", dot);
    let mut server = program.start();
    server.initialize(NEWEST);
    for tool in listed(&mut server) {
        let name = tool["name"].as_str().expect("a name");
        let arguments = match name {
            "InvokeSkill" => json!({ "skill_name": "s" }),
            "PlanMode" => json!({ "action": "status" }),
            "Bash" => json!({ "command": "true" }),
            "ReadImage" => json!({ "file_path": image }),
            "ReadDocs" => json!({ "url": site.url("/page") }),
            "WebSearch" => json!({ "query": "a" }),
            // Produces no result without a user; see `ask`.
            "AskUserQuestion" => continue,
            "BackgroundBash" => json!({ "command": "sleep 1000" }),
            "ReadBgOutput" | "KillBgTask" => json!({ "task_id": 1 }),
            _ => json!({ "action": "list", "query": "" }),
        };
        let result = server.call(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        let both = (result.get("structuredContent").is_some(), tool.get("outputSchema").is_some());
        assert_eq!(both.0, both.1, "{name}: {result}");
        assert!(is_structured || !both.0, "{name}: {result}");
        let texts = result["content"].as_array().expect("content");
        assert_eq!(texts.iter().filter(|content| content["type"] == "text").count(), 1, "{name}: {result}");
        if name == "ListBgTasks" {
            // This tool has no arguments, so none can be wrong.
            continue;
        }
        let failed = server.call(name, json!({ "action": "none", "skill_name": "none" }));
        assert_eq!(failed["isError"], true, "{name}: {failed}");
        assert!(failed.get("structuredContent").is_none(), "{name}: {failed}");
    }
}

/// Sources of a setting, in ascending order of precedence.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tier {
    BesideTheBinary,
    Home,
    WorkspaceClaude,
    WorkspaceScorpiox,
    /// The user's file, selected by the user.
    Profile,
    Environment,
}

use Tier::{BesideTheBinary, Environment, Home, Profile, WorkspaceClaude, WorkspaceScorpiox};

const TIERS: [Tier; 6] = [BesideTheBinary, Home, WorkspaceClaude, WorkspaceScorpiox, Profile, Environment];

/// Starts a server with a setting in each of the given sources.
fn with_settings(settings: &[(Tier, &str)]) -> (Program, Started) {
    let mut program = Program::new().with_own_binary();
    for (tier, line) in settings {
        let file = match tier {
            BesideTheBinary => "bin/scorpiox-env.txt",
            Home => "home/.claude/scorpiox-env.txt",
            WorkspaceClaude => "workspace/.claude/scorpiox-env.txt",
            WorkspaceScorpiox => "workspace/.scorpiox/scorpiox-env.txt",
            Profile => {
                program = program.with("ACTIVE_PROFILE", "work");
                "home/.claude/scorpiox-env/work.txt"
            }
            Environment => {
                let (name, value) = line.split_once('=').expect("KEY=VALUE");
                program = program.with(name, value);
                continue;
            }
        };
        program.put(file, format!("# ours\n{line}\n"));
    }
    let server = program.start();
    (program, server)
}

fn plan_mode_is_on(settings: &[(Tier, &str)]) -> bool {
    let (_program, mut server) = with_settings(settings);
    server.initialize(NEWEST);
    let is_on = names(&mut server).iter().any(|name| name == "PlanMode");
    let call = server.ask("tools/call", json!({ "name": "PlanMode", "arguments": { "action": "status" } }));
    assert_eq!(call.get("result").is_some(), is_on, "listed or not, the call says otherwise: {call}");
    is_on
}

#[test]
fn each_tier_can_switch_off_one_tool_and_the_others_stay() {
    for tier in TIERS {
        let (_program, mut server) = with_settings(&[(tier, "TOOL_PLANMODE=0")]);
        server.initialize(NEWEST);
        let names = names(&mut server);
        assert!(!names.iter().any(|name| name == "PlanMode"), "{tier:?}: {names:?}");
        assert!(names.len() >= 3, "{tier:?}: {names:?}");
        let answer =
            server.ask("tools/call", json!({ "name": "PlanMode", "arguments": { "action": "status" } }));
        assert_eq!(answer["error"]["code"], -32602, "{tier:?}: {answer}");
    }
}

#[test]
fn each_tier_can_switch_off_all_tools_and_the_instructions_say_so() {
    for tier in TIERS {
        let (program, mut server) = with_settings(&[(tier, "TOOLS=false")]);
        program.put("workspace/.claude/skills/s/SKILL.md", "---\nname: s\ndescription: D\n---\nBody\n");
        let hello = server.initialize(NEWEST);
        assert!(hello["instructions"].as_str().expect("text").contains("TOOLS=false"), "{tier:?}: {hello}");
        assert_eq!(names(&mut server), [""; 0], "{tier:?}");
        let answer =
            server.ask("tools/call", json!({ "name": "PlanMode", "arguments": { "action": "status" } }));
        assert_eq!(answer["error"]["code"], -32602, "{tier:?}: {answer}");
        let prompts = server.ask("prompts/list", json!({}));
        assert_eq!(prompts["result"]["prompts"], json!([]), "{tier:?}: skills without their tool");
    }
}

#[test]
fn of_two_tiers_the_later_one_wins() {
    let users = [BesideTheBinary, Home, Profile, Environment];
    for (at, earlier) in users.iter().enumerate() {
        for later in &users[at + 1..] {
            let is_on = |first, second| plan_mode_is_on(&[(*earlier, first), (*later, second)]);
            assert!(is_on("TOOL_PLANMODE=0", "TOOL_PLANMODE=1"), "{later:?} after {earlier:?}");
            assert!(!is_on("TOOL_PLANMODE=1", "TOOL_PLANMODE=0"), "{later:?} after {earlier:?}");
        }
    }
    let both = [(WorkspaceClaude, "TOOL_PLANMODE=0"), (WorkspaceScorpiox, "TOOL_PLANMODE=1")];
    assert!(plan_mode_is_on(&both), "a workspace may undo its own word");
    let both = [(WorkspaceScorpiox, "TOOL_PLANMODE=0"), (Environment, "TOOL_PLANMODE=1")];
    assert!(plan_mode_is_on(&both), "the environment comes last");
}

#[test]
fn a_workspace_cannot_switch_on_what_its_user_switched_off() {
    for user in [BesideTheBinary, Home, Profile, Environment] {
        for workspace in [WorkspaceClaude, WorkspaceScorpiox] {
            let one = [(user, "TOOL_PLANMODE=0"), (workspace, "TOOL_PLANMODE=1")];
            assert!(!plan_mode_is_on(&one), "{workspace:?} undid {user:?}");
            let all = [(user, "TOOLS=false"), (workspace, "TOOLS=true\nTOOL_PLANMODE=1")];
            assert!(!plan_mode_is_on(&all), "{workspace:?} undid TOOLS of {user:?}");
        }
    }
}

#[test]
fn a_workspace_cannot_switch_on_by_a_profile_either() {
    let settings = [(Home, "TOOL_PLANMODE=0"), (WorkspaceScorpiox, "ACTIVE_PROFILE=open")];
    for profile in [
        "workspace/.scorpiox/scorpiox-env/open.txt",
        "workspace/.claude/scorpiox-env/open.txt",
        "home/.claude/scorpiox-env/open.txt",
    ] {
        let (program, mut server) = with_settings(&settings);
        server.close_input();
        program.put(profile, "TOOL_PLANMODE=1\nTOOLS=true\n");
        let mut server = program.start();
        server.initialize(NEWEST);
        assert!(!names(&mut server).iter().any(|name| name == "PlanMode"), "{profile}");
    }
}

#[test]
fn search_skills_is_not_listed_without_need() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize(NEWEST);
    assert!(!names(&mut server).iter().any(|name| name == OWN));
}
