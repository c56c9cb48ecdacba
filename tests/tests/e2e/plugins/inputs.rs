//! Tests of requests from a plugin to the client, in both eras: elicitation, sampling and roots.

use scorpiox_tests::program::modern;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{refused, with};

const ALL: &str = "[capabilities.clock]\nwhy = \"a\"\n[capabilities.forms]\nwhy = \"a\"\n\
    [capabilities.sampling]\nwhy = \"a\"\ncalls = 2\ntokens = 120\n[capabilities.roots]\nwhy = \"a\"\n";

fn conformance(manifest: &str) -> (Program, Started) {
    with(Program::new(), "conformance", manifest)
}

/// Starts a server for a client of the handshake era with all capabilities.
fn able() -> (Program, Started) {
    let (program, first) = conformance(ALL);
    drop(first);
    let mut server = program.start();
    server.initialize_with("2025-11-25", json!({ "elicitation": {}, "sampling": {}, "roots": {} }));
    (program, server)
}

fn call(name: &str) -> Value {
    json!({ "name": format!("conformance.test_{name}"), "arguments": {} })
}

fn given(capabilities: Value, mut params: Value) -> Value {
    params = modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

fn all() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

#[test]
fn in_the_older_revisions_each_is_a_request() {
    let (_program, mut server) = able();
    let id = server.request("tools/call", call("input_required_result_multiple_inputs"));
    let form = server.notification("elicitation/create");
    assert_eq!(form["params"]["message"], "The plugin conformance asks: What is your name?");
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["name"]));
    let accepted = json!({ "action": "accept", "content": { "name": "Ann", "more": 1 } });
    server.send(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": accepted }));
    let question = server.notification("sampling/createMessage");
    assert_eq!(question["params"]["maxTokens"], 50);
    let answer = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hi." } });
    server.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let roots = server.notification("roots/list");
    server.send(
        &json!({ "jsonrpc": "2.0", "id": roots["id"], "result": { "roots": [{ "uri": "file:///a" }] } }),
    );
    let result = server.answer(id)["result"].take();
    let said = text(&result);
    assert!(said.contains("Ann") && said.contains("Hi.") && said.contains("file:///a"), "{said}");
    assert!(!said.contains("more"), "what the form does not have is left out: {said}");
}

#[test]
fn an_answer_that_does_not_fit_is_none() {
    let (_program, mut server) = able();
    for answer in [
        json!({ "action": "accept", "content": { "name": 12345 } }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "shrug" }),
        json!(7),
    ] {
        let id = server.request("tools/call", call("input_required_result_elicitation"));
        let form = server.notification("elicitation/create");
        server.send(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": answer }));
        assert!(refused(&server.answer(id)["result"]).contains("Refused"), "{answer}");
    }
    let id = server.request("tools/call", call("input_required_result_elicitation"));
    let form = server.notification("elicitation/create");
    server.send(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": { "action": "decline" } }));
    assert!(refused(&server.answer(id)["result"]).contains("Declined"));
}

#[test]
fn in_the_newest_revision_the_answers_of_all_rounds_are_carried_by_the_client() {
    let (program, mut server) = able();
    let call = call("input_required_result_multi_round");
    let first = server.ask("tools/call", given(all(), call.clone()));
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert!(first["result"]["inputRequests"]["step1"].is_object(), "{first}");
    let mut again = call.clone();
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({ "step1": { "action": "accept", "content": { "name": "Ann" } } });
    let second = server.ask("tools/call", given(all(), again.clone()));
    let requests = second["result"]["inputRequests"].as_object().expect("requests");
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["step2"]);
    // The state is bound to the tool and the arguments of the call.
    let state = second["result"]["requestState"].clone();
    let mut last = call.clone();
    last["requestState"] = state.clone();
    last["inputResponses"] = json!({ "step2": { "action": "accept", "content": { "color": "red" } } });
    for (name, arguments) in [
        ("input_required_result_elicitation", json!({})),
        ("input_required_result_multi_round", json!({ "a": 1 })),
    ] {
        let mut other = last.clone();
        other["name"] = json!(format!("conformance.test_{name}"));
        other["arguments"] = arguments;
        let refused = server.ask("tools/call", given(all(), other));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let third = server.ask("tools/call", given(all(), last));
    assert_eq!(third["result"]["resultType"], "complete", "{third}");
    let said = text(&third["result"]);
    assert!(said.contains("Ann") && said.contains("red"), "{said}");
    drop(program);
}

#[test]
fn what_the_client_did_not_declare_is_never_asked() {
    let (_program, mut server) = able();
    let capabilities = call("input_required_result_capabilities");
    let keys = |answer: &Value| {
        let requests = answer["result"]["inputRequests"].as_object().expect("requests");
        requests.keys().cloned().collect::<Vec<_>>()
    };
    let some = server.ask("tools/call", given(json!({ "sampling": {} }), capabilities.clone()));
    assert_eq!(keys(&some), ["greeting"]);
    let every = server.ask("tools/call", given(all(), capabilities.clone()));
    assert_eq!(keys(&every), ["folders", "greeting", "name"]);
    let none = server.ask("tools/call", given(json!({}), capabilities));
    assert_eq!(none["result"]["resultType"], "complete", "{none}");
    let plain = server.ask("tools/call", given(json!({}), call("input_required_result_elicitation")));
    assert!(refused(&plain["result"]).contains("this client does not have elicitation"), "{plain}");
    // A missing required capability is a protocol error in revisions that define one.
    let lacking = server.ask("tools/call", given(json!({ "roots": {} }), call("missing_capability")));
    assert_eq!(lacking["error"]["code"], -32021, "{lacking}");
    assert_eq!(lacking["error"]["data"], json!({ "requiredCapabilities": { "sampling": {} } }));
    let (_program, mut older) = conformance(ALL);
    let lacking = older.call("conformance.test_missing_capability", json!({}));
    assert!(refused(&lacking).contains("the client lacks what the tool needs: sampling"), "{lacking}");
}

#[test]
fn what_was_not_approved_is_denied() {
    let (_program, mut server) = conformance("[capabilities.clock]\nwhy = \"a\"\n");
    for (name, ask) in [
        ("input_required_result_elicitation", "forms"),
        ("input_required_result_sampling", "sampling"),
        ("input_required_result_list_roots", "roots"),
    ] {
        let result = server.ask("tools/call", given(all(), call(name)));
        let said = refused(&result["result"]);
        assert!(said.contains(&format!("[capabilities.{ask}]")), "{said}");
    }
}

#[test]
fn a_question_over_the_budget_is_not_asked() {
    let (_program, mut server) = able();
    let first = server.ask("tools/call", given(all(), call("input_required_result_sampling")));
    let params = &first["result"]["inputRequests"]["capital_question"]["params"];
    assert_eq!(params["maxTokens"], 100, "{first}");
    let prompt =
        json!({ "name": "conformance.test_sampling", "arguments": { "prompt": "x".repeat(300_000) } });
    let long = server.ask("tools/call", given(all(), prompt));
    assert!(refused(&long["result"]).contains("the limit is 262144"), "{long}");
}

#[test]
fn sounds_and_resources_come_with_a_result_as_far_as_the_client_knows_them() {
    let (program, mut server) = conformance(ALL);
    let sound = server.call("conformance.test_audio_content", json!({}));
    assert_eq!(
        (&sound["content"][0]["type"], &sound["content"][0]["mimeType"]),
        (&json!("audio"), &json!("audio/wav"))
    );
    let mixed = server.call("conformance.test_multiple_content_types", json!({}));
    let kinds: Vec<_> =
        mixed["content"].as_array().expect("content").iter().map(|content| &content["type"]).collect();
    assert_eq!(kinds, ["text", "image", "resource"]);
    assert_eq!(mixed["content"][2]["resource"]["uri"], "test://mixed-content-resource");
    drop(server);
    let mut first = program.start();
    first.initialize("2024-11-05");
    let sound = first.call("conformance.test_audio_content", json!({}));
    assert!(text(&sound).starts_with("[a sound (audio/wav, "), "{sound}");
}
