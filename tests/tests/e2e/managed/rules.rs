//! Tests of `[[rules]]`: calls that are refused, or for which a person is asked.

use std::fs;
use std::time::Duration;

use scorpiox_tests::program::modern;
use scorpiox_tests::schema::Schema;
use scorpiox_tests::{Program, Served, Started};
use serde_json::{Value, json};

use crate::audit::lines;

const PUSH: &str = "version = 1\n[[rules]]\nname = \"push\"\ntools = [\"Bash\"]\n\
                    arguments = { \"/command\" = \"*git push*\" }\nthen = \"ask\"\nreason = \"pushes are reviewed\"\n";
const PUSHED: &str = "echo git push > ran";

fn program(policy: &str) -> Program {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

fn eliciting(program: Program) -> Served {
    let mut server = program.serve();
    server.initialize_with("2025-11-25", json!({"elicitation": {}}));
    server
}

fn push(server: &mut Started) -> u64 {
    server.request("tools/call", json!({"name": "Bash", "arguments": {"command": PUSHED}}))
}

fn answer(server: &mut Started, form: &Value, result: &Value) {
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().expect("text").to_owned()
}

fn allow() -> Value {
    json!({"action": "accept", "content": {"q1": "Allow this call"}})
}

#[test]
fn a_person_approves_one_call_with_the_shown_arguments() {
    let mut server = eliciting(program(PUSH));
    // Other commands run without a question.
    let id = server.request("tools/call", json!({"name": "Bash", "arguments": {"command": "echo other"}}));
    assert!(text(&server.answer(id)).starts_with("other"));
    for _ in 0..2 {
        let id = push(&mut server);
        let form = server.notification("elicitation/create");
        Schema::of("2025-11-25").check("ElicitRequest", &form);
        let message = form["params"]["message"].as_str().expect("a message");
        for piece in [
            "your policy",
            "Bash",
            &format!("\"command\":\"{PUSHED}\""),
            "rule \"push\" (policy.toml line 2)",
            "pushes are reviewed",
        ] {
            assert!(message.contains(piece), "{piece}: {message}");
        }
        let ran = server.program.workspace().join("ran");
        assert!(!ran.exists(), "nothing ran before the answer");
        answer(&mut server, &form, &allow());
        let done = server.answer(id);
        assert!(text(&done).contains("exit code 0"), "{done}");
        fs::remove_file(ran).expect("it ran");
    }
    let recorded = lines(&server.program, 3);
    let approved: Vec<_> =
        recorded.iter().filter(|line| line.to_string().contains("rule push, waited")).collect();
    assert_eq!(approved.len(), 2, "{recorded:?}");
}

#[test]
fn without_an_approval_nothing_runs() {
    let declined = json!({"action": "decline"});
    let other = json!({"action": "accept", "content": {"q1": "Deny"}});
    for (result, waits) in
        [(&declined, true), (&declined, false), (&other, false), (&json!({"action": "accept"}), false)]
    {
        let mut server = eliciting(program(PUSH));
        let id = push(&mut server);
        let form = server.notification("elicitation/create");
        if waits {
            assert!(server.is_silent_for(Duration::from_millis(1050)));
        }
        answer(&mut server, &form, result);
        let refused = server.answer(id);
        let said = text(&refused);
        assert_eq!(refused["result"]["isError"], true, "{said}");
        assert!(said.contains("was not run") && said.contains("rule \"push\""), "{said}");
        assert!(!server.program.workspace().join("ran").exists());
        let last = lines(&server.program, 1).pop().expect("a line").to_string();
        assert!(last.contains("policy") && last.contains("rules"), "{last}");
    }
}

#[test]
fn where_nobody_can_be_asked_the_call_is_refused() {
    let mut server = program(PUSH).serve();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    let said = text(&server.answer(id));
    assert!(said.contains("nobody could be asked") && said.contains("elicitation"), "{said}");
    assert!(!server.program.workspace().join("ran").exists());
}

#[test]
fn a_client_that_gives_up_first_is_told_to_ask_again() {
    let mut server = eliciting(program(PUSH).with("ANSWER_WITHIN", "2"));
    let id = push(&mut server);
    server.notification("elicitation/create");
    let said = text(&server.answer(id));
    assert!(said.contains("nobody answered within") && said.contains("Call it again"), "{said}");
    assert!(!server.program.workspace().join("ran").exists());
}

#[test]
fn arguments_that_cannot_be_shown_completely_are_refused() {
    let mut server = eliciting(program(PUSH));
    let long = format!("{PUSHED}; # {}", "x".repeat(2000));
    let id = server.request("tools/call", json!({"name": "Bash", "arguments": {"command": long}}));
    let said = text(&server.answer(id));
    assert!(said.contains("at most 1500 can be shown"), "{said}");
    // Characters that hide or reorder others are shown as escapes.
    let id = server.request(
        "tools/call",
        json!({"name": "Bash", "arguments": {"command": "git push \u{202e}x\nAsked by nobody"}}),
    );
    let form = server.notification("elicitation/create");
    let message = form["params"]["message"].as_str().expect("a message");
    assert!(message.contains(r#"git push \u202ex\nAsked by nobody""#), "{message}");
    answer(&mut server, &form, &json!({"action": "accept", "content": {"q1": "Deny"}}));
    server.answer(id);
}

#[test]
fn a_rule_that_denies_wins_over_one_that_asks() {
    let force =
        "[[rules]]\nname = \"force\"\narguments = { \"/command\" = \"*--force*\" }\nthen = \"deny\"\n";
    let mut server = eliciting(program(&format!("{PUSH}{force}")));
    for tool in ["Bash", "BackgroundBash"] {
        let call = json!({"name": tool, "arguments": {"command": format!("{PUSHED} --force")}});
        let id = server.request("tools/call", call);
        let said = text(&server.answer(id));
        assert!(said.contains("rule \"force\" (policy.toml line 8) denies it"), "{said}");
    }
    assert!(!server.program.workspace().join("ran").exists());
}

#[test]
fn in_the_newest_revision_an_approval_is_good_for_its_call_and_its_rule() {
    let program = program(PUSH);
    let mut server = program.start();
    let with_forms = |params: &Value| {
        let mut params = modern(params.clone());
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        params
    };
    let call = json!({"name": "Bash", "arguments": {"command": PUSHED}});
    let first = server.ask("tools/call", with_forms(&call));
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let key =
        first["result"]["inputRequests"].as_object().expect("requests").keys().next().expect("a key").clone();
    let mut again = call.clone();
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({ (key.as_str()): allow() });
    // Without a state of this server, for another command, or without an answer.
    for (state, command, responses) in [
        (Value::Null, PUSHED, again["inputResponses"].clone()),
        (again["requestState"].clone(), "echo git push > other", again["inputResponses"].clone()),
    ] {
        let forged = json!({"name": "Bash", "arguments": {"command": command}, "requestState": state, "inputResponses": responses});
        let refused = server.ask("tools/call", with_forms(&forged));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let mut unanswered = again.clone();
    unanswered["inputResponses"] = json!({});
    let asked = server.ask("tools/call", with_forms(&unanswered));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!program.workspace().join("ran").exists());
    let done = server.ask("tools/call", with_forms(&again));
    assert!(text(&done).contains("exit code 0") && program.workspace().join("ran").exists(), "{done}");
    // An approval is good once.
    fs::remove_file(program.workspace().join("ran")).expect("it ran");
    let asked = server.ask("tools/call", with_forms(&again));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!program.workspace().join("ran").exists());
    // Another reason is another question.
    let changed = PUSH.replace("reviewed", "announced");
    let new = program.put("home/.scorpiox/policy.new", changed);
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    let asked = server.ask("tools/call", with_forms(&again));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
}

/// Calls with forms in the newest revision, like a client that answers what it is asked.
fn ask_with_forms(server: &mut Started, params: &Value) -> Value {
    let mut params = modern(params.clone());
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    server.ask("tools/call", params)
}

/// Returns the key of the only question of an answer.
fn asked(answer: &Value) -> String {
    let requests = answer["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{answer}"));
    requests.keys().next().expect("a key").clone()
}

/// Adds the answer to the question of an earlier round.
fn with(call: &Value, round: &Value, answer: &Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = round["result"]["requestState"].clone();
    call["inputResponses"] = json!({ (asked(round)): answer });
    call
}

/// A client can send the call with its answer several times at once.
#[test]
fn copies_of_a_call_with_an_answer_run_once() {
    let program = program(PUSH);
    let mut server = program.start();
    let call = json!({"name": "Bash", "arguments": {"command": "echo git push; echo ran >> ran; git push"}});
    let first = ask_with_forms(&mut server, &call);
    let mut copy = modern(with(&call, &first, &allow()));
    copy["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let ids: Vec<_> = (0..16).map(|_| server.request("tools/call", copy.clone())).collect();
    let answers: Vec<_> = ids.into_iter().map(|id| server.answer(id)).collect();
    let asks = answers.iter().filter(|answer| answer["result"]["resultType"] == "input_required").count();
    let ran = fs::read_to_string(program.workspace().join("ran")).expect("it ran");
    assert_eq!((ran.lines().count(), asks), (1, 15), "{answers:?}");
    let again = ask_with_forms(&mut server, &call);
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
}

#[test]
fn an_approval_runs_a_tool_that_asks_once_more_for_each_answer() {
    let rule = "version = 1\n[[rules]]\nname = \"quiet\"\ntools = [\"AskUserQuestion\"]\nthen = \"ask\"\n";
    let program = program(rule);
    let mut server = program.start();
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let call = json!({"name": "AskUserQuestion", "arguments": {"questions_json": questions}});
    let first = ask_with_forms(&mut server, &call);
    assert!(asked(&first).starts_with("approval-"), "{first}");
    let second = ask_with_forms(&mut server, &with(&call, &first, &allow()));
    assert_eq!(asked(&second), "form", "{second}");
    let choice = json!({"action": "accept", "content": {"q1": "B"}});
    let done = ask_with_forms(&mut server, &with(&call, &second, &choice));
    assert_eq!(done["result"]["structuredContent"]["answers"][0]["selected"], "B", "{done}");
    // Neither token is good for another run.
    for again in [with(&call, &first, &allow()), with(&call, &second, &choice)] {
        let round = ask_with_forms(&mut server, &again);
        assert!(asked(&round).starts_with("approval-"), "{round}");
        // Nor is the token of the new question without an answer.
        let mut without = call.clone();
        without["requestState"] = round["result"]["requestState"].clone();
        let round = ask_with_forms(&mut server, &without);
        assert!(asked(&round).starts_with("approval-"), "{round}");
        // A new approval is.
        let round = ask_with_forms(&mut server, &with(&call, &round, &allow()));
        assert_eq!(asked(&round), "form", "{round}");
    }
    // A client that does not answer the tool's question gets one more run, not many.
    let first = ask_with_forms(&mut server, &call);
    let mut round = ask_with_forms(&mut server, &with(&call, &first, &allow()));
    let mut runs = 0;
    while asked(&round) == "form" {
        runs += 1;
        assert!(runs < 4, "{round}");
        let mut without = call.clone();
        without["requestState"] = round["result"]["requestState"].clone();
        round = ask_with_forms(&mut server, &without);
    }
    assert_eq!(runs, 2);
}

#[test]
fn an_approval_under_another_policy_is_asked_for_again() {
    let program = program(PUSH);
    let mut server = program.start();
    let call = json!({"name": "Bash", "arguments": {"command": PUSHED}});
    let first = ask_with_forms(&mut server, &call);
    // The rule that asks stays as it is.
    let new = program.put("home/.scorpiox/policy.new", format!("{PUSH}[web]\nenabled = false\n"));
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    let second = ask_with_forms(&mut server, &with(&call, &first, &allow()));
    assert!(asked(&second).starts_with("approval-") && asked(&second) != asked(&first), "{second}");
    assert!(!program.workspace().join("ran").exists());
    let done = ask_with_forms(&mut server, &with(&call, &second, &allow()));
    assert!(text(&done).contains("exit code 0") && program.workspace().join("ran").exists(), "{done}");
}

#[test]
fn a_tool_that_asks_by_itself_is_asked_for_first() {
    let rule = "version = 1\n[[rules]]\nname = \"quiet\"\ntools = [\"AskUserQuestion\"]\nthen = \"ask\"\n";
    let mut server = eliciting(program(rule));
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let id = server.request(
        "tools/call",
        json!({"name": "AskUserQuestion", "arguments": {"questions_json": questions}}),
    );
    let form = server.notification("elicitation/create");
    assert!(form.to_string().contains("Allow this call"), "{form}");
    answer(&mut server, &form, &allow());
    let form = server.notification("elicitation/create");
    assert!(form.to_string().contains("Which?"), "{form}");
    answer(&mut server, &form, &json!({"action": "accept", "content": {"q1": "B"}}));
    let done = server.answer(id);
    assert_eq!(done["result"]["structuredContent"]["answers"][0]["selected"], "B", "{done}");
}

#[test]
fn a_new_rule_holds_from_the_next_call_on() {
    let program = program("version = 1\n");
    let mut server = program.start();
    server.initialize_with("2025-11-25", json!({"elicitation": {}}));
    let id = push(&mut server);
    assert!(text(&server.answer(id)).contains("exit code 0"));
    let new = program.put("home/.scorpiox/policy.new", PUSH);
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    let id = push(&mut server);
    let form = server.notification("elicitation/create");
    answer(&mut server, &form, &json!({"action": "accept", "content": {"q1": "Deny"}}));
    assert!(text(&server.answer(id)).contains("denied it"));
}

#[test]
fn an_approval_after_a_change_of_the_policy_runs_nothing() {
    for changed in
        [PUSH.replace("\"ask\"", "\"deny\""), "version = 1\n[[rules\n".to_owned(), "version = 1\n".to_owned()]
    {
        let mut server = eliciting(program(PUSH));
        let id = push(&mut server);
        let form = server.notification("elicitation/create");
        let new = server.program.put("home/.scorpiox/policy.new", changed);
        fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
        answer(&mut server, &form, &allow());
        let said = text(&server.answer(id));
        assert!(said.contains("the policy was changed while the person was asked"), "{said}");
        assert!(!server.program.workspace().join("ran").exists());
    }
}

#[test]
fn a_rule_holds_in_a_workspace_to_which_its_link_leads() {
    let rule = "version = 1\n[[rules]]\nname = \"closed\"\nworkspaces = [\"~/link\"]\nthen = \"deny\"\n";
    let program = program(rule);
    std::os::unix::fs::symlink(program.workspace(), program.home().join("link")).expect("a link");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    let said = text(&server.answer(id));
    assert!(said.contains("rule \"closed\""), "{said}");
}

#[test]
fn a_skill_as_a_prompt_obeys_rules_that_deny() {
    let rule = "version = 1\n[[rules]]\nname = \"no\"\ntools = [\"InvokeSkill\"]\nthen = \"deny\"\n";
    let program = program(rule);
    program.put("home/.scorpiox/skills/dep/SKILL.md", "---\nname: dep\ndescription: Deploys\n---\nDo it.\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let refused = server.ask("prompts/get", json!({"name": "dep"}));
    assert!(
        refused["error"]["message"].as_str().is_some_and(|said| said.contains("rule \"no\"")),
        "{refused}"
    );
}

#[test]
fn a_skill_as_a_resource_obeys_the_rules_on_its_tool() {
    for then in ["deny", "ask"] {
        for arguments in ["", "arguments = { \"/skill_name\" = \"dep\" }\n"] {
            let rule = format!(
                "version = 1\n[[rules]]\nname = \"no\"\ntools = [\"InvokeSkill\"]\n{arguments}then = \"{then}\"\n"
            );
            let program = program(&rule);
            for name in ["dep", "open"] {
                let text = format!("---\nname: {name}\ndescription: Deploys\n---\nDo it.\n");
                program.put(&format!("home/.scorpiox/skills/{name}/SKILL.md"), text);
                program.put(&format!("home/.scorpiox/skills/{name}/a b/notes.md"), "Do it.\n");
            }
            let mut server = program.start();
            for (method, uri) in [
                ("resources/read", "skill://dep/SKILL.md"),
                ("resources/read", "skill://dep/a%20b/notes.md"),
                ("resources/directory/read", "skill://dep"),
                ("resources/directory/read", "skill://dep/a%20b/"),
                ("skills/get", "skill://dep/SKILL.md"),
            ] {
                let answer = server.ask(method, modern(json!({ "uri": uri })));
                let said = answer["error"]["message"].as_str().unwrap_or_default();
                assert!(
                    said.starts_with("InvokeSkill was not run: rule \"no\""),
                    "{method} {uri} {then}: {answer}"
                );
                assert_eq!(
                    said.contains("call InvokeSkill with the skill_name \"dep"),
                    then == "ask",
                    "{said}"
                );
                let other = server.ask(method, modern(json!({ "uri": uri.replace("dep", "open") })));
                assert_eq!(other.get("error").is_none(), !arguments.is_empty(), "{method} {uri}: {other}");
            }
            let listed = server.ask("skills/list", modern(json!({})));
            let listed = listed["result"]["skills"].as_array().expect("a list");
            let uris: Vec<_> = listed.iter().filter_map(|skill| skill["uri"].as_str()).collect();
            let expected: &[&str] = if arguments.is_empty() { &[] } else { &["skill://open/SKILL.md"] };
            assert_eq!(uris, expected);
            let read = lines(&program, 1).into_iter().find(|line| line["tool"] == "resources/read");
            let read = read.expect("a line").to_string();
            assert!(read.contains("\"rules\"") && read.contains("rule no: "), "{read}");
        }
    }
}

#[test]
fn the_policy_explains_its_rules() {
    let deny = "[[rules]]\nname = \"no pages\"\ntools = [\"WebSearch\", \"ReadDocs\"]\nworkspaces = [\"~/secret\", \"/\"]\nthen = \"deny\"\n";
    let program = program(&format!("{PUSH}{deny}"));
    let (status, said, _) = program.run(&["policy", "why", "tool", "Bash"]);
    assert!(
        status.success()
            && said.contains("rule \"push\"")
            && said.contains("asks before calls with its arguments"),
        "{said}"
    );
    let (status, said, _) = program.run(&["policy", "why", "tool", "ReadDocs"]);
    assert!(!status.success() && said.contains("rule \"no pages\" (policy.toml line 8) denies it"), "{said}");
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(
        shown.contains("[[rules]]") && shown.contains("arguments.\"/command\" = [\"*git push*\"]"),
        "{shown}"
    );
    let (status, said, _) = program.run(&["policy", "why", "command", "git push"]);
    assert!(status.success() && said.contains("after a person approved the call (rule \"push\""), "{said}");
    let typo = PUSH.replace("/command", "/comand").replace("*git push*", "git push");
    program.put("workspace/typo.toml", typo);
    let (_, said, _) = program.run(&["policy", "check", "typo.toml"]);
    assert!(said.contains("/comand (typo.toml line 2), which none of its tools has"), "{said}");
    let (_, shown, _) = program.run(&["policy", "diff"]);
    assert!(shown.contains("[[rules]] \"push\"") && shown.contains("+ then = \"ask\""), "{shown}");
    let (_, shown, _) = program.run(&["policy", "show"]);
    program.put("workspace/shown.toml", shown);
    let (status, out, err) = program.run(&["policy", "check", "shown.toml"]);
    assert!(status.success() && !out.contains("note: [rules"), "{out}{err}");
    let odd = PUSH.replace("\"Bash\"", "\"Bahs\"");
    program.put("workspace/odd.toml", odd);
    let (_, out, _) = program.run(&["policy", "check", "odd.toml"]);
    assert!(
        out.contains("[rules \"push\"] names Bahs (odd.toml line 2)") && out.contains("did you mean Bash?"),
        "{out}"
    );
}
