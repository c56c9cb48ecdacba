//! Tests of prompts, resources and completion of plugins.

use std::fs;

use scorpiox_tests::program::modern;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{guest, install, source};

/// Returns the `offering` component in a mode that determines its lists.
fn offering_as(mode: &str) -> Vec<u8> {
    const MARK: &[u8] = b"mode:";
    const ROOM: usize = 16 - MARK.len();
    let mut bytes = fs::read(guest("offering")).expect("the component");
    let at = bytes.windows(MARK.len() + 5).position(|window| window == b"mode:plain").expect("the mode");
    let at = at + MARK.len();
    bytes[at..at + ROOM].copy_from_slice(format!("{mode:ROOM$}").as_bytes());
    bytes
}

fn offering(server_revision: &str) -> (Program, Started) {
    let program = Program::new();
    install(&program, &source(&program, "offering", "", &offering_as("plain")));
    let mut server = program.start();
    server.initialize(server_revision);
    (program, server)
}

/// Installs a source with plain names, without the plugin's prefix.
fn install_plain(program: &Program, source: &str) {
    let (_, hash, _) = program.run(&["plugin", "hash", source, "--plain-names"]);
    let (_, other, _) = program.run(&["plugin", "hash", source]);
    assert_ne!(hash, other, "the decision is part of what is approved");
    let (status, out, err) = program.run(&["plugin", "add", source, "--plain-names", "--yes", hash.trim()]);
    assert!(status.success(), "{out}{err}");
}

fn result(answer: &Value) -> &Value {
    assert!(answer["error"].is_null(), "{answer}");
    &answer["result"]
}

fn error(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}"));
    (error["code"].as_i64().expect("a code"), message.to_owned())
}

fn names(list: &Value, member: &str, name: &str) -> Vec<String> {
    let entries = list[member].as_array().unwrap_or_else(|| panic!("no {member}: {list}"));
    entries.iter().map(|entry| entry[name].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn prompts_are_listed_and_filled_in_in_both_eras() {
    let (_program, mut server) = offering("2025-11-25");
    let list = server.ask("prompts/list", json!({}));
    let list = result(&list);
    assert_eq!(
        names(list, "prompts", "name"),
        ["offering.greet", "offering.picture", "offering.none", "offering.trap", "offering.unknown"]
    );
    let greet = &list["prompts"][0];
    assert_eq!(greet["title"], "Prompt greet");
    assert_eq!(greet["arguments"][0], json!({ "name": "name", "required": true }));
    let params = json!({ "name": "offering.greet", "arguments": { "name": "Ann" } });
    let filled = server.ask("prompts/get", params.clone());
    let message =
        json!({ "role": "user", "content": { "type": "text", "text": "Say hello to Ann, friendly." } });
    assert_eq!(result(&filled)["messages"], json!([message]), "{filled}");
    assert_eq!(result(&filled)["description"], "As it was filled in");
    let newest = server.ask("prompts/get", modern(params));
    assert_eq!(result(&newest)["resultType"], "complete");
    assert_eq!(result(&newest)["messages"], json!([message]));
}

#[test]
fn a_prompt_that_cannot_be_given_is_an_error() {
    let (_program, mut server) = offering("2025-11-25");
    let mut fail = |name: &str, arguments: Value| {
        error(&server.ask("prompts/get", json!({ "name": name, "arguments": arguments })))
    };
    let (code, missing) = fail("offering.greet", json!({}));
    assert_eq!((code, &*missing), (-32602, "the argument name is missing; the prompt takes name, tone"));
    let (code, other) = fail("offering.greet", json!({ "name": "Ann", "colour": "red" }));
    assert_eq!((code, &*other), (-32602, "there is no argument \"colour\"; the prompt takes name, tone"));
    assert_eq!(fail("offering.greet", json!({ "name": 7 })).0, -32602);
    assert_eq!(fail("greet", json!({ "name": "Ann" })).0, -32602, "its name has the plugin's before it");
    assert_eq!(fail("other.greet", json!({})).0, -32602);
    assert_eq!(fail("offering.unknown", json!({})), (-32602, "It is not there.".to_owned()));
    let (code, picture) = fail("offering.picture", json!({}));
    assert_eq!(code, -32603);
    assert!(picture.contains("3 bytes are no image/png; they begin with: 01 02 03"), "{picture}");
    assert!(fail("offering.none", json!({})).1.contains("gave 0 messages"));
    let (code, trap) = fail("offering.trap", json!({}));
    assert!(code == -32603 && trap.contains("offering"), "{trap}");
}

#[test]
fn resources_of_its_own_scheme_are_listed_and_read() {
    let (_program, mut server) = offering("2025-11-25");
    let list = server.ask("resources/list", json!({}));
    let uris = names(result(&list), "resources", "uri");
    assert!(uris.len() == 7 && uris.iter().all(|uri| uri.starts_with("offering://")), "{uris:?}");
    let templates = server.ask("resources/templates/list", json!({}));
    assert_eq!(names(result(&templates), "resourceTemplates", "uriTemplate"), ["offering://notes/{name}"]);
    let mut read = |uri: &str| server.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(
        result(&read("offering://text"))["contents"],
        json!([{ "uri": "offering://text", "text": "A text" }])
    );
    assert_eq!(
        result(&read("offering://bytes"))["contents"],
        json!([{ "uri": "offering://bytes", "blob": "AP8B" }])
    );
    assert_eq!(result(&read("offering://notes/one"))["contents"][0]["text"], "The note one");
    for missing in
        ["offering://notes/missing", "offering://nothing", "offering://empty", "offering://notes/a/b"]
    {
        let answer = read(missing);
        assert_eq!(error(&answer).0, -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], missing);
    }
    assert_eq!(error(&read("offering://notes/secret")), (-32602, "The note is secret.".to_owned()));
    assert_eq!(error(&read("offering://notes/broken")), (-32603, "The note is broken.".to_owned()));
    // A plugin cannot serve URIs of others, even if it lists them.
    for other in ["file:///etc/passwd", "test://theirs"] {
        assert_eq!(error(&read(other)).0, -32002, "{other}");
    }
    let (code, other) = error(&read("offering://other"));
    assert!(code == -32603 && other.contains("is no address of the plugin"), "{other}");
    let (_, large) = error(&read("offering://large"));
    assert!(large.contains("20971520 bytes") || large.contains("bytes; at most 1048576"), "{large}");
    assert_eq!(error(&read("offering://trap")).0, -32603);
    assert_eq!(result(&read("offering://text"))["contents"][0]["text"], "A text", "the server goes on");
    let modern_missing = server.ask("resources/read", modern(json!({ "uri": "offering://nothing" })));
    assert_eq!(error(&modern_missing).0, -32602);
    assert_eq!(modern_missing["error"]["data"], json!({ "uri": "offering://nothing" }));
}

#[test]
fn what_people_type_is_completed_in_both_eras() {
    let (program, mut server) = offering("2025-11-25");
    let prompt = |name: &str, argument: &str, value: &str| json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": argument, "value": value } });
    let completed = server.ask("completion/complete", prompt("offering.greet", "tone", "fo"));
    assert_eq!(
        result(&completed)["completion"],
        json!({ "values": ["formal"], "total": 1, "hasMore": false })
    );
    let mut with_context = prompt("offering.greet", "tone", "formal");
    with_context["context"] = json!({ "arguments": { "name": "Ann" } });
    let completed = server.ask("completion/complete", modern(with_context));
    assert_eq!(result(&completed)["completion"]["values"], json!(["formalAnn"]));
    let many = server.ask("completion/complete", prompt("offering.greet", "name", ""));
    let completion = &result(&many)["completion"];
    assert_eq!(completion["values"].as_array().expect("values").len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    let template = json!({
        "ref": { "type": "ref/resource", "uri": "offering://notes/{name}" },
        "argument": { "name": "name", "value": "t" },
    });
    let completed = server.ask("completion/complete", template);
    assert_eq!(result(&completed)["completion"]["values"], json!(["two"]));
    for unknown in [
        prompt("offering.nothing", "name", ""),
        json!({ "ref": { "type": "ref/resource", "uri": "offering://{x}" }, "argument": { "name": "x", "value": "" } }),
        json!({ "ref": { "type": "ref/other" }, "argument": { "name": "x", "value": "" } }),
        json!({ "argument": { "name": "x", "value": "" } }),
    ] {
        let answer = server.ask("completion/complete", unknown);
        assert!([-32602, -32002].contains(&error(&answer).0), "{answer}");
    }
    // Skills have no arguments to complete.
    program.put("workspace/.scorpiox/skills/hello/SKILL.md", "---\nname: hello\ndescription: A\n---\nHello");
    let nothing = server.ask("completion/complete", prompt("hello", "arguments", "x"));
    assert_eq!(result(&nothing)["completion"], json!({ "values": [], "total": 0, "hasMore": false }));
}

#[test]
fn who_asked_is_told_of_changes_and_nobody_else() {
    let (_program, mut server) = offering("2025-11-25");
    let read = json!({ "uri": "offering://changes" });
    // Without a list or a subscription, the client receives only log messages, from the default level upward.
    let id = server.request("resources/read", read.clone());
    let log = server.notification("notifications/message");
    assert_eq!(log["params"], json!({ "level": "warning", "logger": "offering", "data": "It changes" }));
    assert!(result(&server.answer(id))["contents"].is_array());
    for uri in ["offering://nothing", "file:///etc/passwd", "skill://a/SKILL.md"] {
        let refused = server.ask("resources/subscribe", json!({ "uri": uri }));
        assert_eq!(error(&refused).0, -32002, "{refused}");
    }
    result(&server.ask("resources/subscribe", json!({ "uri": "offering://text" })));
    result(&server.ask("prompts/list", json!({})));
    result(&server.ask("logging/setLevel", json!({ "level": "error" })));
    server.request("resources/read", read.clone());
    let updated = server.next().expect("a message");
    assert_eq!(updated["params"], json!({ "uri": "offering://text" }), "{updated}");
    let changed = server.next().expect("a message");
    assert_eq!(changed["method"], "notifications/prompts/list_changed", "{changed}");
    let answer = server.next().expect("a message");
    assert_eq!(answer["result"]["contents"][0]["text"], "It has changed.", "once is enough: {answer}");
    result(&server.ask("resources/unsubscribe", json!({ "uri": "offering://text" })));
    server.request("resources/read", read);
    assert_eq!(server.next().expect("a message")["method"], "notifications/prompts/list_changed");
}

#[test]
fn in_the_newest_revision_a_stream_tells_of_changes() {
    let (_program, mut server) = offering("2025-11-25");
    let wanted = json!({
        "promptsListChanged": true,
        "resourceSubscriptions": ["offering://text", "offering://nothing", "file:///etc/passwd"],
    });
    let listen = server.request("subscriptions/listen", modern(json!({ "notifications": wanted })));
    let acknowledged = server.notification("notifications/subscriptions/acknowledged");
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "promptsListChanged": true, "resourceSubscriptions": ["offering://text"] })
    );
    let id = server.request("resources/read", modern(json!({ "uri": "offering://changes" })));
    let updated = server.next().expect("a message");
    assert_eq!(updated["method"], "notifications/resources/updated", "no log without a level: {updated}");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(listen));
    assert_eq!(server.next().expect("a message")["method"], "notifications/prompts/list_changed");
    assert!(result(&server.answer(id))["contents"].is_array());
}

#[test]
fn lists_that_nobody_should_be_shown_keep_a_plugin_out() {
    let program = Program::new();
    for (mode, expected) in [
        ("trap", "it failed when it was asked for its tools"),
        ("spin", "it failed when it was asked for its tools"),
        ("huge", "it has 100000 prompts; the limit is 64"),
        ("deceive", "the description of the prompt greet has the invisible character \\u{202e}"),
    ] {
        let source = source(&program, "offering", "", &offering_as(mode));
        let (status, out, err) = program.run(&["plugin", "add", &source]);
        assert!(!status.success() && !out.contains('\u{202e}'), "{out}");
        let err = scorpiox_tests::program::unwrapped(&err);
        assert!(err.contains(expected) || mode == "huge" && err.contains("it failed when"), "{mode}: {err}");
    }
    let (_, out, _) = program.run(&["plugin", "list"]);
    assert!(out.contains("no plugins"), "{out}");
}

#[test]
fn a_person_sees_what_it_offers_and_what_is_not_served() {
    let (program, _server) = offering("2025-11-25");
    let (_, out, _) = program.run(&["plugin", "show", "offering"]);
    assert!(out.contains("Its tools\n  none"), "{out}");
    // The plugin's own texts are marked with a line on the left.
    let out = out.replace("\n  | ", " ");
    for part in [
        "Its prompts",
        "offering.greet name [tone]",
        "Says hello to somebody",
        "Its resources",
        "offering://notes/{name}: Notes",
        "file:///etc/passwd is not served: no plugin serves addresses that begin with file:",
        "--plain-names was not given",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("Its names"), "{out}");
    let inspected = program.workspace().join("sources/offering/c.wasm").display().to_string();
    let (_, out, _) = program.run(&["plugin", "inspect", &inspected]);
    assert!(out.contains("scorpiox:tool/prompts@0.1.0") && out.contains("prompts and resources"), "{out}");
}

#[test]
fn names_without_the_plugins_are_a_decision_and_skills_keep_theirs() {
    let program = Program::new();
    program.put(
        "home/.scorpiox/skills/picture/SKILL.md",
        "---\nname: picture\ndescription: A skill\n---\nOf the skill",
    );
    install_plain(&program, &source(&program, "offering", "", &offering_as("plain")));
    let (_, shown, _) = program.run(&["plugin", "show", "offering"]);
    assert!(shown.contains("Its names\n"), "{shown}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let list = server.ask("prompts/list", json!({}));
    let listed = names(result(&list), "prompts", "name");
    assert_eq!(listed, ["picture", "greet", "offering.picture", "none", "trap", "unknown"]);
    let skill = server.ask("prompts/get", json!({ "name": "picture" }));
    assert!(result(&skill).to_string().contains("Of the skill"), "{skill}");
    for name in ["greet", "offering.greet"] {
        let filled = server.ask("prompts/get", json!({ "name": name, "arguments": { "name": "Ann" } }));
        assert!(result(&filled).to_string().contains("Say hello to Ann"), "{filled}");
    }
    let theirs = server.ask("resources/read", json!({ "uri": "test://theirs" }));
    assert_eq!(result(&theirs)["contents"][0]["text"], "theirs");
    for never in ["file:///etc/passwd", "skill://greet/SKILL.md"] {
        let answer = server.ask("resources/read", json!({ "uri": never }));
        assert_eq!(error(&answer).0, -32002, "{answer}");
    }
    // The decision for plain names carries over to a new version, and the user can revoke it.
    let source = source(&program, "offering", "version = \"2.0.0\"\n", &offering_as("plain"));
    let (_, hash, _) = program.run(&["plugin", "hash", &source, "--plain-names"]);
    let (status, out, err) =
        program.run(&["plugin", "update", "offering", "--from", &source, "--yes", hash.trim()]);
    assert!(status.success(), "{out}{err}");
    let list = server.ask("prompts/list", json!({}));
    assert!(names(result(&list), "prompts", "name").contains(&"greet".to_owned()), "{list}");
    let (_, hash, _) = program.run(&["plugin", "hash", &source]);
    let (status, out, err) = program.run(&["plugin", "approve", "offering", "--yes", hash.trim()]);
    assert!(status.success(), "{out}{err}");
    server.notification("notifications/prompts/list_changed");
    let list = server.ask("prompts/list", json!({}));
    assert!(names(result(&list), "prompts", "name").contains(&"offering.greet".to_owned()), "{list}");
}

#[test]
fn tools_have_names_of_their_own_where_that_was_decided() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    install_plain(&program, &source(&program, "kinds", "", &bytes));
    // A plugin that is added later does not get a plain name that is taken.
    install_plain(&program, &source(&program, "later", "select = [\"divide\"]\n", &bytes));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let list = server.ask("tools/list", json!({}));
    let listed = names(result(&list), "tools", "name");
    assert!(
        listed.contains(&"divide".to_owned()) && !listed.contains(&"kinds.divide".to_owned()),
        "{listed:?}"
    );
    assert!(listed.contains(&"later.divide".to_owned()) && listed.contains(&"kinds.echo.text".to_owned()));
    for name in ["divide", "kinds.divide", "later.divide"] {
        let result = server.call(name, json!({ "a": 6, "b": 3 }));
        assert_eq!(result["structuredContent"]["result"], json!(2), "{name}");
    }
    // The policy matches the full name, regardless of the name used in the call.
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"kinds.*\"]\n");
    drop(server);
    let mut server = program.start();
    server.initialize("2025-11-25");
    for name in ["divide", "kinds.divide"] {
        let answer = server.ask("tools/call", json!({ "name": name, "arguments": { "a": 6, "b": 3 } }));
        assert_eq!(error(&answer).0, -32602, "{answer}");
    }
}

#[test]
fn without_plugins_the_older_revisions_have_no_resources() {
    let program = Program::new();
    let mut server = program.start();
    let capabilities = server.initialize("2025-11-25")["capabilities"].clone();
    assert!(capabilities["resources"].is_null() && capabilities["completions"].is_null(), "{capabilities}");
    for method in ["resources/list", "resources/templates/list", "completion/complete"] {
        assert_eq!(error(&server.ask(method, json!({}))).0, -32601, "{method}");
    }
    for method in ["resources/read", "resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(error(&server.ask(method, json!({ "uri": "a:b" }))).0, -32601, "{method}");
    }
    drop(server);
    install(&program, &source(&program, "offering", "", &offering_as("plain")));
    let mut server = program.start();
    let capabilities = server.initialize("2025-11-25")["capabilities"].clone();
    assert_eq!(capabilities["resources"], json!({ "listChanged": true, "subscribe": true }));
    assert_eq!(capabilities["completions"], json!({}));
}

#[test]
fn over_http_rules_of_access_are_about_prompts_and_resources_too() {
    const ANN: &str = "token-of-ann-0123456789";
    const BOB: &str = "token-of-bob-0123456789";
    let sha256 = |token: &str| -> String {
        use sha2::{Digest as _, Sha256};
        Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let program = Program::new();
    install_plain(&program, &source(&program, "offering", "", &offering_as("plain")));
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
         [http.auth.tokens.bob]\nsha256 = \"{}\"\n\
         [access.ann]\nprincipals = [\"ann\"]\nallow = [\"offering.*\"]\n\
         [access.bob]\nprincipals = [\"bob\"]\nallow = [\"offering.greet\"]\n",
        sha256(ANN),
        sha256(BOB)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let server = program.serve_http(0);
    let prompts = |token: &str| {
        let list = server.shown(token).modern("prompts/list", json!({})).json();
        names(&list["result"], "prompts", "name")
    };
    assert_eq!(prompts(ANN).len(), 5);
    assert_eq!(prompts(BOB), ["greet"]);
    let get = |token: &str, name: &str| {
        let params = json!({ "name": name, "arguments": { "name": "Ann" } });
        server.shown(token).modern("prompts/get", params).json()
    };
    assert!(result(&get(BOB, "greet"))["messages"].is_array());
    for name in ["unknown", "offering.unknown"] {
        assert_eq!(error(&get(BOB, name)), (-32602, format!("there is no prompt {name:?}")));
    }
    let read = |token: &str| {
        server.shown(token).modern("resources/read", json!({ "uri": "offering://text" })).json()
    };
    assert!(result(&read(ANN))["contents"].is_array());
    assert_eq!(error(&read(BOB)).0, -32602);
    let list = server.shown(BOB).modern("resources/list", json!({})).json();
    assert_eq!(names(&list["result"], "resources", "uri"), [""; 0]);
}
