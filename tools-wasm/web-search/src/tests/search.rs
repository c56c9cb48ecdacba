//! Results of a call.

use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::WebError;

use super::definition::assert_conforms;
use super::fake::*;
use super::*;

#[test]
fn a_search_gives_one_ranked_list() {
    let mut server = Server::only(&["duckduckgo", "brave", "bing", "wiby"]);
    let output = server.search("  tide tables ", &normal).expect("succeeds");
    let expected = "6 results for \"tide tables\"

1. How tides work
   https://sea.example.org/how-tides-work
   Twice a day the sea rises: the moon and the sun pull at it, and the shape of the coast does the rest.
   [duckduckgo, brave, bing]

2. Tide tables for Brest & around
   https://tides.example.com/tables?port=brest
   3 days ago · Brest, Le Conquet, Ouessant.
   [duckduckgo, bing]

3. The moon and the sea
   http://simple.example.net/moon.html
   Notes by a fisherman \"of the old kind\".
   [wiby]

4. Tides 2026 · Almanac
   https://almanac.example.com/2026/tides/
   All ports, the whole year.
   [brave]

5. Anne's tide page
   http://old.example.org/~anne/tides.htm
   Under construction since 1998.
   [wiby]

6. Harbour office
   http://harbour.example.net/
   [duckduckgo]

Engines: duckduckgo 3, brave 2, bing 2, wiby 2.";
    assert_eq!(output.text, expected);
    let data = data(output.structured.as_deref());
    assert_conforms(&data);
    assert_eq!(data["query"], "tide tables");
    assert_eq!(data["results"][0]["rank"], 1);
    assert_eq!(data["results"][0]["engines"], serde_json::json!(["duckduckgo", "brave", "bing"]));
    // First for Brave and for Bing's index, independent of DuckDuckGo's rank.
    assert_eq!(data["results"][0]["score"], serde_json::json!(0.032_787));
    assert_eq!(
        data["engines"][3],
        serde_json::json!({"name": "wiby", "status": "ok", "results": 2, "duration_ms": 100, "message": null})
    );
}

#[test]
fn engines_that_fail_are_named_and_the_others_count() {
    let mut server = Server::new();
    let mixed = |name: &str, request: &_| match name {
        "brave" => (50, Ok(response(429, ""))),
        "bing" => (60, gives(name, request, "blocked")),
        "yep" => (70, Err(WebError::Failed("cannot be reached".to_owned()))),
        "qwant" => (80, Ok(response(200, "<html>new design</html>"))),
        "wiby" => (90, gives(name, request, "empty")),
        "mwmbl" => (0, Err(WebError::Denied("policy line 4".to_owned()))),
        _ => (100, gives(name, request, "normal")),
    };
    let output = server.search("tide", &mixed).expect("succeeds");
    assert!(output.text.ends_with("Engines: duckduckgo 3, brave blocked, startpage 2, bing blocked, mojeek 2, qwant failed, yahoo 2, yep failed, mwmbl denied, wikipedia 2, wiby empty."), "{}", output.text);
    let data = data(output.structured.as_deref());
    assert_conforms(&data);
    let messages: Vec<&Value> =
        data["engines"].as_array().expect("list").iter().map(|e| &e["message"]).collect();
    assert_eq!(messages[1], "HTTP 429");
    assert_eq!(messages[3], "it asks for a captcha");
    assert!(messages[5].as_str().expect("text").starts_with("its answer is not JSON"));
    assert_eq!(messages[7], "cannot be reached");
    assert_eq!(messages[8], "policy line 4");
    assert_eq!(messages[10], &Value::Null);
}

#[test]
fn nothing_found_is_a_success_that_says_so() {
    let mut server = Server::new();
    let output =
        server.search("qzxv", &|name, request| (9, gives(name, request, "empty"))).expect("succeeds");
    assert!(output.text.starts_with("Nothing was found for \"qzxv\""), "{}", output.text);
    assert!(output.text.contains("Engines: duckduckgo empty, "));
    let data = data(output.structured.as_deref());
    assert_conforms(&data);
    assert_eq!(data["results"], serde_json::json!([]));
}

#[test]
fn a_machine_that_looks_up_no_names_may_be_offline() {
    let mut server = Server::new();
    let why = "failed to lookup address information: Name or service not known";
    let text = failed(server.search("tide", &|_, _| (40, Err(WebError::Failed(why.to_owned())))));
    let expected = format!(
        "No search engine answered \"tide\": this machine cannot look up names of hosts ({why}). Is it offline?"
    );
    assert_eq!(text, expected);
}

#[test]
fn when_all_fail_the_error_has_a_line_for_each_and_what_to_do() {
    let mut server = Server::new();
    let text = failed(server.search("tide", &|_, _| (40, Ok(response(500, "")))));
    assert!(
        text.starts_with("No search engine answered \"tide\".\n- duckduckgo: failed (HTTP 500), 40 ms\n"),
        "{text}"
    );
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 11);
    assert!(text.ends_with("in [search.engine.NAME] of policy.toml."));
}

#[test]
fn when_the_policy_denies_all_the_call_is_denied() {
    let mut server = Server::new();
    match server.search("tide", &|_, _| (0, Err(WebError::Denied("add web.allow".to_owned())))) {
        Err(Failure::Denied(text)) => {
            assert!(text.contains("- wiby: denied (add web.allow), 0 ms"), "{text}");
        }
        other => panic!("not denied: {other:?}"),
    }
    assert_eq!(server.store.writes, 0, "a policy says nothing about an engine");
}

#[test]
fn long_lists_are_cut() {
    let many = |name: &str, _: &_| {
        let item = |n: usize| serde_json::json!({"URL": format!("https://{name}.example/{n}"), "Title": format!("{name} {n}"), "Snippet": ""});
        let list: Vec<Value> = (0..200).map(item).collect();
        (1, Ok(response(200, Value::from(list).to_string())))
    };
    let mut server = Server::only(&["wiby"]);
    let output = server.search("x", &many).expect("succeeds");
    assert!(output.text.starts_with("The best 20 of 50 results for \"x\""));
    assert!(output.text.contains("\n20. wiby 19\n") && !output.text.contains("\n21. "));
    assert_eq!(data(output.structured.as_deref())["results"].as_array().expect("list").len(), 30);
}

#[test]
fn as_many_results_are_shown_as_the_client_has_room_for() {
    let many = |name: &str, _: &_| {
        let snippet = "s".repeat(280);
        let item = |n: usize| serde_json::json!({"URL": format!("https://{name}.example/{n}"), "Title": format!("{name} {n}"), "Snippet": snippet});
        let list: Vec<Value> = (0..50).map(item).collect();
        (1, Ok(response(200, Value::from(list).to_string())))
    };
    for (room, shown) in [(4600, 5..20), (17_600, 20..21)] {
        let mut server = Server::only(&["wiby"]);
        server.client.room = room;
        let text = server.search(&"q".repeat(400), &many).expect("succeeds").text;
        let results = text.matches("\n   [wiby]\n").count();
        assert!(text.chars().count() <= room && shown.contains(&results), "{room}: {results}: {text}");
        assert!(text.starts_with(&format!("The best {results} of 50 results")), "{text}");
        assert!(text.ends_with("Engines: wiby 50."), "{text}");
    }
}

#[test]
fn a_failed_search_names_the_tool_as_the_client_knows_it() {
    let mut server = Server::new();
    server.client.prefix = "my-";
    let text = failed(server.search("ReadDocs", &|_, _| (40, Ok(response(500, "")))));
    assert!(text.starts_with("No search engine answered \"ReadDocs\"."), "{text}");
    assert!(text.contains("read a known address with my-ReadDocs."), "{text}");
}

fn refused(arguments: &str) -> String {
    let mut server = Server::new();
    match server.call(arguments, &normal) {
        Err(Failure::InvalidInput(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn queries_that_cannot_be_asked_say_why() {
    assert!(refused("{}").starts_with("query is missing"));
    assert!(refused(r#"{"query":"  "}"#).starts_with("query is missing"));
    assert_eq!(refused(r#"{"query":5}"#), "query must be a string, but was 5.");
    let long = serde_json::json!({"query": "é".repeat(401)}).to_string();
    assert!(refused(&long).starts_with("query has 401 characters; the limit is 400."));
    assert!(refused(r#"{"query":"a\u0007b"}"#).starts_with("query contains the control character U+0007"));
    assert!(refused(r#"{"query":"a\nb"}"#).starts_with("query contains the control character U+000A"));
}

#[test]
fn the_longest_query_in_any_script_is_asked() {
    let mut server = Server::only(&["bing"]);
    let query = "潮".repeat(400);
    server.search(&query, &normal).expect("succeeds");
    assert!(server.asked[0].1.url.ends_with(&"%E6%BD%AE".repeat(400)));
}
