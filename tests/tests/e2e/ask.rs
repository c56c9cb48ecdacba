//! Tests of `AskUserQuestion`: with the client's forms, in a terminal, or as text.

#[cfg(unix)]
mod attacks;
#[cfg(unix)]
mod dialogs;
#[cfg(unix)]
mod pane;
#[cfg(unix)]
mod popup;
#[cfg(unix)]
mod screens;
#[cfg(unix)]
mod tmux;

use std::thread;
use std::time::Duration;

use scorpiox_tests::program::modern;
use scorpiox_tests::schema::Schema;
use scorpiox_tests::{Program, Served, Started};
use serde_json::{Value, json};

const TWO: &str = r#"{"questions":[
    {"text":"Which colour?","options":["Red","Grün"]},
    {"question":"Which sizes?","header":"Sizes","multiSelect":true,
     "options":[{"label":"S","description":"small"},{"label":"L","description":"large"}]}]}"#;

fn ask(server: &mut Started, questions: &str) -> u64 {
    server
        .request("tools/call", json!({"name": "AskUserQuestion", "arguments": {"questions_json": questions}}))
}

/// Starts a server whose client supports forms.
fn eliciting(revision: &str) -> Served {
    let mut server = program().serve();
    server.initialize_with(revision, json!({"elicitation": {}}));
    server
}

/// Returns a program without access to a terminal or a desktop.
fn program() -> Program {
    Program::new().with("PATH", "/usr/bin:/bin")
}

/// Asserts that a message matches the revision's schema.
fn check(revision: &str, name: &str, message: &Value) {
    Schema::of(revision).check(name, message);
}

/// Returns the server's elicitation request.
fn form(server: &mut Started) -> Value {
    server.notification("elicitation/create")
}

fn accept(server: &mut Started, form: &Value, content: Value) {
    server.send(
        &json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": content}}),
    );
}

#[test]
fn the_clients_form_is_used_where_it_has_one() {
    for (revision, content) in [
        ("2025-06-18", json!({"q1": "Grün", "q2_01": true, "q2_02": true})),
        ("2025-11-25", json!({"q1": "Grün", "q2": ["S", "L"]})),
    ] {
        let mut server = eliciting(revision);
        let id = ask(&mut server, TWO);
        let form = form(&mut server);
        assert!(form["id"].is_string(), "{form}");
        check(revision, "ElicitRequest", &form);
        let shown = form["params"].to_string();
        for word in ["Which colour?", "Red", "Sizes", "small"] {
            assert!(shown.contains(word), "{revision}: {shown}");
        }
        accept(&mut server, &form, content);
        let answer = server.answer(id);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let expected = json!({"answers": [
            {"question": "Which colour?", "selected": "Grün"},
            {"question": "Which sizes?", "selected": ["S", "L"]}
        ]});
        assert_eq!(result["structuredContent"], expected, "{revision}");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.contains("Which colour?") && text.contains("Grün"), "{text}");
    }
}

/// Longer than a client needs to decline automatically.
const READING_TIME: Duration = Duration::from_millis(1050);

#[test]
fn a_person_who_declines_has_answered() {
    thread::scope(|scope| {
        for action in ["decline", "cancel"] {
            scope.spawn(move || {
                let mut server = eliciting("2025-11-25");
                let id = ask(&mut server, TWO);
                let form = form(&mut server);
                // Time in which a user would read the question.
                assert!(server.is_silent_for(READING_TIME));
                server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": action}}));
                let answer = server.answer(id);
                assert_eq!(answer["result"]["isError"], false, "{answer}");
                assert_eq!(answer["result"]["structuredContent"]["declined"], true, "{answer}");
            });
        }
    });
}

#[test]
fn a_client_that_declines_at_once_has_no_person_and_the_model_gets_the_questions() {
    for action in ["decline", "cancel"] {
        let mut server = eliciting("2025-11-25");
        let id = ask(&mut server, TWO);
        let form = form(&mut server);
        server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": action}}));
        not_asked(&server.answer(id)["result"]);
    }
}

/// Asserts that a result contains the questions and reports that the user was not asked.
fn not_asked(result: &Value) {
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("The person could not be asked (the client: it declined after "), "{text}");
    assert!(text.contains("1. Which colour?") && !text.contains("The person declined"), "{text}");
}

#[test]
fn own_words_are_an_answer() {
    let mut server = eliciting("2025-11-25");
    let id = ask(&mut server, r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#);
    let form = form(&mut server);
    accept(&mut server, &form, json!({"q1_other": "neither, 第三"}));
    let answer = server.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["answers"][0]["selected"], "neither, 第三", "{answer}");
}

#[test]
fn other_requests_are_answered_while_the_person_thinks() {
    let mut server = eliciting("2025-11-25");
    let id = ask(&mut server, TWO);
    let form = form(&mut server);
    server.text("PlanMode", json!({"action": "status"}));
    server.ask("ping", json!({}));
    accept(&mut server, &form, json!({"q1": "Red", "q2": []}));
    assert_eq!(server.answer(id)["result"]["isError"], false);
}

#[test]
fn a_cancelled_call_takes_its_form_back() {
    let mut server = eliciting("2025-11-25");
    let id = ask(&mut server, TWO);
    let form = form(&mut server);
    server.notify("notifications/cancelled", json!({"requestId": id}));
    let cancelled = server.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form["id"]);
    // A late answer and answers to unknown requests are ignored.
    accept(&mut server, &form, json!({"q1": "Red"}));
    server.send(&json!({"jsonrpc": "2.0", "id": "scorpiox-99", "result": {}}));
    server.send(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}));
    server.ask("ping", json!({}));
    assert!(server.received.iter().all(|message| message["id"] != id || message.get("method").is_some()));
}

#[test]
fn a_client_that_fails_or_answers_nonsense_leaves_the_questions_as_text() {
    let mut server = eliciting("2025-11-25");
    for answer in [
        json!({"error": {"code": -32601, "message": "Method not found"}}),
        json!({"result": {"action": "maybe"}}),
        json!({"result": {"action": "accept", "content": {"q1": "Blue"}}}),
        json!({"result": {"action": "accept"}}),
    ] {
        let id = ask(&mut server, TWO);
        let form = form(&mut server);
        let mut message = json!({"jsonrpc": "2.0", "id": form["id"]});
        for (name, value) in answer.as_object().expect("an object") {
            message[name] = value.clone();
        }
        server.send(&message);
        let result = server.answer(id)["result"].clone();
        assert_eq!(result["isError"], true, "{answer}: {result}");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.contains("the client: ") && text.contains("1. Which colour?"), "{text}");
    }
}

#[test]
fn without_any_way_to_ask_the_model_gets_the_questions_as_text() {
    let mut server = program().serve();
    server.initialize("2025-11-25");
    let id = ask(&mut server, TWO);
    let result = server.answer(id)["result"].clone();
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().expect("text");
    for piece in ["Ask in the chat", "Which colour?", "Red", "Grün", "Which sizes?", "large"] {
        assert!(text.contains(piece), "{text}");
    }
}

#[test]
fn bad_questions_are_refused_with_the_reason() {
    let mut server = eliciting("2025-11-25");
    let many = format!("{{\"questions\":[{}]}}", [r#"{"text":"a","options":["b"]}"#; 5].join(","));
    for (questions, piece) in [
        ("not json", "JSON"),
        ("{}", "question"),
        (r#"{"questions":[]}"#, "question"),
        (r#"{"questions":[{"text":"a"}]}"#, "option"),
        (r#"{"questions":[{"text":"a","options":[]}]}"#, "option"),
        (many.as_str(), "4"),
    ] {
        let id = ask(&mut server, questions);
        let result = server.answer(id)["result"].clone();
        assert_eq!(result["isError"], true, "{questions}");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.contains(piece), "{questions}: {text}");
    }
    let result = server.call("AskUserQuestion", json!({}));
    assert!(result["content"][0]["text"].as_str().expect("text").contains("questions_json is missing"));
}

/// Returns parameters of a client of the newest revision that supports forms.
fn with_forms(params: Value) -> Value {
    let mut params = modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    params
}

#[test]
fn in_the_newest_revision_the_client_calls_again_with_the_answer() {
    let mut server = program().serve();
    let call = json!({"name": "AskUserQuestion", "arguments": {"questions_json": TWO}});
    let first = server.ask("tools/call", with_forms(call.clone()));
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    check("2026-07-28", "InputRequiredResult", result);
    check("2026-07-28", "ElicitRequest", &result["inputRequests"]["form"]);

    let mut again = call.clone();
    again["requestState"] = result["requestState"].clone();
    again["inputResponses"] = json!({"form": {"action": "accept", "content": {"q1": "Red", "q2": ["L"]}}});
    let second = server.ask("tools/call", with_forms(again.clone()));
    assert_eq!(second["result"]["resultType"], "complete", "{second}");
    assert_eq!(second["result"]["structuredContent"]["answers"][1]["selected"], json!(["L"]), "{second}");

    // A client that answers in the user's place is recognized by its speed, in this revision too.
    let again_at_once = |server: &mut Started| {
        let first = server.ask("tools/call", with_forms(call.clone()));
        let mut again = call.clone();
        again["requestState"] = first["result"]["requestState"].clone();
        again["inputResponses"] = json!({"form": {"action": "decline"}});
        (server.ask("tools/call", with_forms(again.clone())), again)
    };
    let (refused, declined) = again_at_once(&mut server);
    not_asked(&refused["result"]);
    assert!(server.is_silent_for(READING_TIME));
    let later = server.ask("tools/call", with_forms(declined));
    assert_eq!(later["result"]["structuredContent"]["declined"], true, "{later}");

    // The state is bound to the call and to the server.
    again["arguments"]["questions_json"] = json!(r#"{"questions":[{"text":"Other?","options":["A"]}]}"#);
    for state in [again["requestState"].clone(), json!("made up"), json!("0.made up"), Value::Null] {
        again["requestState"] = state;
        let refused = server.ask("tools/call", with_forms(again.clone()));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    // A client without forms receives the questions as text.
    let text = server.ask("tools/call", modern(call));
    assert_eq!(text["result"]["isError"], true, "{text}");
}
