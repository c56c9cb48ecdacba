//! Tests of differences by client name.

use scorpiox_tests::program::modern;
use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{NEWEST, dot, length, listed, of_client, reaching, text};
use crate::plugins::install_kinds;

const CONTINUE: &str = "continue-cli-client";

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

/// Calls an unknown tool and returns the text of the error.
fn unknown(server: &mut Started, name: &str) -> String {
    let answer = server.ask("tools/call", json!({"name": name, "arguments": {}}));
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("a tool: {answer}")).to_owned()
}

#[test]
fn a_client_that_needs_a_prefix_has_one_and_can_leave_it_out() {
    let program = Program::as_shipped().with_commands();
    install_kinds(&program, "");
    let mut server = of_client(program, CONTINUE);
    let tools = listed(&mut server);
    assert!(names(&tools).iter().all(|name| name.starts_with("scorpiox_")), "{:?}", names(&tools));
    assert!(names(&tools).contains(&"scorpiox_Bash") && names(&tools).contains(&"scorpiox_kinds.divide"));
    let read = tools.iter().find(|tool| tool["name"] == "scorpiox_ReadBgOutput").expect("listed");
    assert!(read["inputSchema"].to_string().contains("returned by scorpiox_BackgroundBash"), "{read}");
    for name in ["Bash", "scorpiox_Bash"] {
        let result = server.call(name, json!({"command": "echo hello"}));
        assert!(text(&result).starts_with("hello\n"), "{result}");
    }
    assert_eq!(text(&server.call("scorpiox_kinds.divide", json!({"a": 6, "b": 3}))), "2");
    assert!(unknown(&mut server, "scorpiox_scorpiox_Bash").contains("Known tools: scorpiox_Bash, "));
}

#[test]
fn results_call_tools_by_the_names_that_the_client_knows() {
    let mut server = of_client(Program::as_shipped().with_commands(), CONTINUE);
    let started = server.text("scorpiox_BackgroundBash", json!({"command": "sleep 1000"}));
    assert!(started.contains(" scorpiox_ReadBgOutput with task_id 1 "), "{started}");
    let failed = server.call("scorpiox_ReadBgOutput", json!({"task_id": 7}));
    assert!(text(&failed).contains("There is no task 7"), "{failed}");
    let missing = server.call("scorpiox_KillBgTask", json!({}));
    assert!(text(&missing).contains("scorpiox_ListBgTasks shows the tasks"), "{missing}");
    let entered = server.text("scorpiox_PlanMode", json!({"action": "enter", "goal": "look"}));
    assert!(entered.contains("call scorpiox_PlanMode with action"), "{entered}");
    let ran = server.call("scorpiox_Bash", json!({"command": "echo Bash BackgroundBash"}));
    if cfg!(windows) {
        // Without a sandbox, a command cannot be restricted to reading.
        assert!(text(&ran).contains("without a sandbox nothing holds them to that"), "{ran}");
        return;
    }
    let ran = text(&ran);
    assert!(ran.starts_with("Bash BackgroundBash\n"), "what is printed stays: {ran}");
    assert!(ran.contains("scorpiox_PlanMode with action exit"), "{ran}");
}

/// Tool names are prefixed only in the server's own sentences, not in quoted content.
#[test]
fn the_words_of_people_stay_as_they_are() {
    for (client, prefix) in [(CONTINUE, "scorpiox_"), ("tests", "my-")] {
        let program = match client {
            CONTINUE => Program::as_shipped(),
            _ => Program::as_shipped().with("TOOL_PREFIX", prefix),
        };
        for n in 0..150 {
            let skill = format!("---\nname: s{n}\ndescription: Use Bash. {}\n---\nText\n", "d".repeat(50));
            program.put(&format!("workspace/.scorpiox/skills/s{n}/SKILL.md"), skill);
        }
        program
            .put("workspace/.scorpiox/skills/b/SKILL.md", "---\nname: Bash\ndescription: Bash\n---\nBash\n");
        let mut server = of_client(program.with("PATH", "/usr/bin:/bin"), client);
        let path = server.program.workspace().join("Bash/x.png");
        let questions = r#"[{"text":"Should I use Bash or zsh for PlanMode?","options":["Bash","zsh"]}]"#;
        let mut says = |tool: &str, arguments: Value, expected: &str| {
            let result = server.call(tool, arguments);
            let said = text(&result);
            assert!(said.contains(expected), "{client}: {tool}: {expected:?} is not in {said}");
            assert!(!said.contains(&format!("{prefix}{prefix}")), "{client}: {tool}: {said}");
            said.to_owned()
        };
        let asked =
            says("AskUserQuestion", json!({"questions_json": questions}), "use Bash or zsh for PlanMode?");
        assert!(asked.contains("a) Bash\n"), "{asked}");
        says("ReadImage", json!({"file_path": path}), &format!("{} ", path.display()));
        says("InvokeSkill", json!({"skill_name": "Bash tricks"}), "There is no skill \"Bash tricks\"");
        says("InvokeSkill", json!({"skill_name": "Bash"}), "<skill_content name=\"Bash\">\nBash\n");
        says(
            "InvokeSkill",
            json!({"skill_name": "Bash tricks"}),
            &format!("{prefix}SearchSkills finds others"),
        );
        says(
            "SearchSkills",
            json!({"pattern": "^Bash$"}),
            &format!("\n- Bash (from the opened project): Bash\nInvoke one with {prefix}InvokeSkill and"),
        );
        says("PlanMode", json!({"action": "enter", "goal": "PlanMode"}), "Goal: PlanMode\n");
        says("PlanMode", json!({"action": "enter", "goal": "PlanMode"}), "(goal: PlanMode)");
        says(
            "TaskManager",
            json!({"action": "create", "query": "", "text": "call TaskManager with {"}),
            ": call TaskManager with {",
        );
        says("ReadBgOutput", json!({}), &format!("task_id is missing; {prefix}ListBgTasks shows the tasks."));
        says(
            "ReadBgOutput",
            json!({"task_id": 7}),
            &format!("there are no tasks. {prefix}BackgroundBash starts one"),
        );
        let tools = listed(&mut server);
        let described = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == format!("{prefix}{name}"));
            tool.expect("listed")["description"].as_str().expect("a text").to_owned()
        };
        let skills = described("InvokeSkill");
        assert!(
            skills.contains("\n- Bash: Bash\n") && skills.contains(&format!("{prefix}SearchSkills")),
            "{skills}"
        );
    }
}

#[test]
fn others_have_no_prefix_and_cannot_use_one() {
    for client in ["tests", "claude-code", "codex-mcp-client", "@cline/core", "continue-cli-client-2"] {
        let mut server = of_client(Program::as_shipped(), client);
        assert!(names(&listed(&mut server)).contains(&"Bash"), "{client}");
        assert!(unknown(&mut server, "scorpiox_Bash").contains("is not known"), "{client}");
    }
}

#[test]
fn the_user_can_set_a_prefix_and_a_workspace_cannot() {
    let program = Program::as_shipped().with_commands().with("TOOL_PREFIX", "mine-");
    let mut server = program.start();
    server.initialize(NEWEST);
    assert_eq!(names(&listed(&mut server))[0], "mine-Bash");
    let result = server.call("mine-Bash", json!({"command": "echo hello"}));
    assert!(text(&result).starts_with("hello\n"), "{result}");
    let program = Program::as_shipped();
    program.put("workspace/.scorpiox/scorpiox-env.txt", "TOOL_PREFIX=evil-\nANSWER_WITHIN=1\n");
    let mut server = program.start();
    server.initialize(NEWEST);
    assert_eq!(names(&listed(&mut server))[0], "Bash");
    let (_, out, _) = program.run(&["doctor"]);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("TOOL_PREFIX is ignored in a file of the workspace"), "{out}");
}

#[test]
fn why_a_tool_is_gone_is_said_by_either_of_its_names() {
    let program = Program::as_shipped();
    install_kinds(&program, "");
    let (status, out, err) = program.run(&["plugin", "deny", "kinds"]);
    assert!(status.success(), "{out}{err}");
    let mut server = of_client(program, CONTINUE);
    for name in ["kinds.divide", "scorpiox_kinds.divide"] {
        let why = unknown(&mut server, name);
        assert!(why.contains("plugin kinds was denied by the user"), "{name}: {why}");
    }
    assert!(unknown(&mut server, "scorpiox_none.divide").contains("is not known"));
}

#[test]
fn the_client_is_known_without_a_handshake_too() {
    let mut server = Program::as_shipped().serve();
    let mut params = modern(json!({}));
    params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(CONTINUE);
    let answer = server.ask("tools/list", params);
    assert_eq!(answer["result"]["tools"][0]["name"], "scorpiox_Bash", "{answer}");
    let answer = server.ask("tools/list", modern(json!({})));
    assert_eq!(answer["result"]["tools"][0]["name"], "Bash", "{answer}");
}

#[test]
fn pages_are_as_long_as_the_client_takes_them() {
    let body = format!("<article>{}</article>", "<p>Some words of a long paragraph.</p>".repeat(6000));
    let site = Site::start(move |_| Answer::html(body.clone()));
    let first = |client: &str| {
        let mut server = of_client(reaching(Program::as_shipped(), ""), client);
        let page = server.text("ReadDocs", json!({"url": site.url("/")}));
        assert!(page.contains("#page=2"), "{client}");
        let second = server.text("ReadDocs", json!({"url": site.url("/#page=2")}));
        assert_ne!(page[..500], second[..500], "{client}");
        length(&page)
    };
    assert!((14_000..=20_000).contains(&first("tests")));
    assert!((60_000..=100_000).contains(&first("claude-code")));
    assert!((1000..=7000).contains(&first("@cline/core")));
}

#[test]
fn an_image_is_left_out_for_clients_that_would_give_it_as_text() {
    for (client, is_shown) in
        [("tests", true), ("claude-code", true), (CONTINUE, false), ("@cline/core", false)]
    {
        let program = Program::as_shipped();
        let file = program.put("workspace/dot.png", dot());
        let mut server = of_client(program, client);
        let result = server.call("ReadImage", json!({"file_path": file}));
        assert!(text(&result).contains("dot.png"), "{client}: {result}");
        assert_eq!(result["content"].as_array().expect("content").len() == 2, is_shown, "{client}: {result}");
        assert_eq!(text(&result).contains("[an image (image/png, "), !is_shown, "{client}: {result}");
    }
}

#[test]
fn a_message_waits_for_a_result_whose_text_the_model_is_shown() {
    for (client, comes) in [("tests", true), ("codex-mcp-client", false)] {
        let program = Program::as_shipped();
        install_kinds(&program, "");
        let mut server = of_client(program, client);
        let arguments = json!({"action": "set", "message": "REMIND", "delay_seconds": 1, "repeat_count": 1});
        server.text("SetCallback", arguments);
        server.notification("notifications/message");
        let result = server.call("kinds.divide", json!({"a": 6, "b": 3}));
        assert_eq!(text(&result).contains("REMIND"), comes, "{client}: {result}");
        let next = server.call("ListBgTasks", json!({}));
        assert_eq!(text(&next).contains("\n\n[Callback 0 "), !comes, "{client}: {next}");
    }
}

#[test]
fn a_message_comes_in_the_data_where_the_model_is_shown_that_alone() {
    for (client, is_in_data) in [("tests", false), ("codex-mcp-client", true), ("claude-code", true)] {
        let mut server = of_client(Program::as_shipped().with("STRUCTURED", "true"), client);
        let arguments = json!({"action": "set", "message": "REMIND", "delay_seconds": 1, "repeat_count": 1});
        server.text("SetCallback", arguments);
        server.notification("notifications/message");
        let result = server.call("ListBgTasks", json!({}));
        assert!(text(&result).contains("\n\n[Callback 0 "), "{client}: {result}");
        let data = &result["structuredContent"];
        let said = data["callback_messages"][0].as_str().unwrap_or_default();
        assert_eq!(said.contains("REMIND"), is_in_data, "{client}: {result}");
        assert_eq!(data["tasks"], json!([]), "{client}: {result}");
        let next = server.call("ListBgTasks", json!({}));
        assert!(!next.to_string().contains("REMIND"), "once: {client}: {next}");
        assert_eq!(next["structuredContent"], json!({"tasks": []}), "{client}: {next}");
    }
}
