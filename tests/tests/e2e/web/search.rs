//! Tests of `WebSearch`: all engines in parallel, against a site that simulates them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use scorpiox_tests::site::{Answer, Asked, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{failure, program, serve, start, success};

/// Engines that need no API key.
const ENGINES: [&str; 11] = [
    "duckduckgo",
    "brave",
    "startpage",
    "bing",
    "mojeek",
    "qwant",
    "yahoo",
    "yep",
    "mwmbl",
    "wikipedia",
    "wiby",
];

/// Returns a recorded page of an engine: `normal`, `empty`, `blocked` or `home`.
fn page(engine: &str, kind: &str) -> Option<Answer> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools-wasm/web-search/pages").join(engine);
    [("html", "text/html; charset=utf-8"), ("json", "application/json")].iter().find_map(
        |(extension, kind_of)| {
            let body = std::fs::read(folder.join(format!("{kind}.{extension}"))).ok()?;
            Some(Answer::of(kind_of, body))
        },
    )
}

/// Starts a site that simulates every engine below a path of its name, with the responses of `play`.
fn site(play: impl Fn(&str, &Asked) -> Answer + Send + Sync + 'static) -> Site {
    Site::start(move |asked| {
        let engine = asked.path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
        // Startpage's home page contains a value that the search request must include.
        if engine == "startpage" && asked.method == "GET" {
            return page("startpage", "home").unwrap_or_else(Answer::not_found);
        }
        play(&engine, asked)
    })
}

fn normal(engine: &str, _: &Asked) -> Answer {
    page(engine, "normal").unwrap_or_else(|| panic!("no page of {engine}"))
}

/// Returns a program that uses the site for all engines.
fn searching(site: &Site) -> Program {
    let mut policy = String::new();
    for engine in ENGINES {
        policy.push_str(&format!(
            "[search.engine.{engine}]\nbase_url = \"{}\"\n",
            site.url(&format!("/{engine}"))
        ));
    }
    program(&policy)
}

fn search(server: &mut Started, query: &str) -> Value {
    server.call("WebSearch", json!({ "query": query }))
}

/// Returns the status of each engine.
fn statuses(result: &Value) -> BTreeMap<String, String> {
    let engines = result["structuredContent"]["engines"].as_array().expect("engines");
    let status = |engine: &Value| {
        let text = |name: &str| engine[name].as_str().expect("a text").to_owned();
        (text("name"), text("status"))
    };
    engines.iter().map(status).collect()
}

#[test]
fn all_eleven_engines_are_asked_and_become_one_list() {
    let site = site(normal);
    let result = search(&mut serve(searching(&site)), "rust wasm");
    let text = success(&result);
    assert!(text.contains("1. "), "{text}");
    let statuses = statuses(&result);
    assert_eq!(statuses.len(), 11, "{statuses:?}");
    assert!(statuses.values().all(|status| status == "ok"), "{statuses:?}");
    let results = result["structuredContent"]["results"].as_array().expect("results");
    // The recorded results cover nine web pages; one of them appears with and without `www.`.
    assert_eq!(results.len(), 9, "{results:?}");
    for engine in ENGINES {
        assert!(site.count(&format!("/{engine}/")) >= 1, "{engine} was not asked");
    }
    let urls: Vec<_> = results.iter().map(|result| result["url"].as_str().expect("a URL")).collect();
    assert!(urls.iter().all(|url| url.starts_with("http")), "{urls:?}");
    // Requests identify the program and contain the unmodified query.
    let asked = site.asked();
    assert!(asked.iter().all(|asked| asked.headers["user-agent"].starts_with("scorpiox-code/")));
    assert!(asked.iter().any(|asked| asked.path.contains("rust+wasm") || asked.path.contains("rust%20wasm")));
}

#[test]
fn engines_that_fail_are_named_and_the_others_are_used() {
    let site = site(|engine, asked| match engine {
        "bing" => Answer::html("oops").status("500 Internal Server Error"),
        "brave" => page("brave", "blocked").expect("a page"),
        "mojeek" => page("mojeek", "empty").expect("a page"),
        "yahoo" => Answer::html("<html><body>entirely new layout</body></html>"),
        "qwant" => Answer::silence(),
        _ => normal(engine, asked),
    });
    let begin = Instant::now();
    let result = search(&mut serve(searching(&site)), "rust");
    assert!(begin.elapsed() < Duration::from_secs(9), "{:?}", begin.elapsed());
    success(&result);
    let statuses = statuses(&result);
    for (engine, expected) in [
        ("bing", "failed"),
        ("brave", "blocked"),
        ("mojeek", "empty"),
        ("yahoo", "failed"),
        ("qwant", "timed out"),
        ("wiby", "ok"),
    ] {
        let found = statuses[engine].replace(['_', '-'], " ");
        assert_eq!(found, expected, "{engine}: {statuses:?}");
    }
}

#[test]
fn when_all_fail_the_error_says_why_for_each() {
    let site = site(|_, _| Answer::html("oops").status("502 Bad Gateway"));
    let mut server = serve(searching(&site));
    let result = search(&mut server, "rust");
    let text = failure(&result).to_lowercase();
    for engine in ["bing", "brave", "wikipedia"] {
        assert!(text.contains(engine), "{text}");
    }
    assert!(text.contains("502"), "{text}");
}

#[test]
fn an_engine_that_blocks_is_left_alone_also_by_the_next_server() {
    let site = site(|engine, asked| match engine {
        "duckduckgo" => page("duckduckgo", "blocked").expect("a page").status("202 Accepted"),
        _ => normal(engine, asked),
    });
    let program = searching(&site);
    search(&mut start(&program), "one");
    let asked = site.count("/duckduckgo/");
    assert_eq!(asked, 1);
    let again = search(&mut start(&program), "two");
    assert_eq!(site.count("/duckduckgo/"), asked, "it was asked again");
    assert_eq!(statuses(&again)["duckduckgo"], "suspended");
    assert!(site.count("/bing/") >= 2, "the others are asked");
}

#[test]
fn a_search_does_not_keep_others_from_writing() {
    let site = site(|engine, asked| if engine == "bing" { Answer::silence() } else { normal(engine, asked) });
    let program = searching(&site);
    let mut server = start(&program);
    let slow = server.request("tools/call", json!({"name": "WebSearch", "arguments": {"query": "slow"}}));
    // The call is waiting for the last engine.
    while site.count("/bing/") == 0 {
        std::thread::yield_now();
    }
    let begin = Instant::now();
    let mut other = start(&program);
    other.text("TaskManager", json!({"action": "create", "text": "meanwhile"}));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    server.text("TaskManager", json!({"action": "create", "text": "here, too"}));
    let answer = server.answer(slow);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn progress_tells_which_engine_has_answered() {
    let site = site(normal);
    let mut server = serve(searching(&site));
    let params = json!({
        "name": "WebSearch", "arguments": {"query": "rust"}, "_meta": {"progressToken": "p"}
    });
    let id = server.request("tools/call", params);
    server.answer(id);
    let told: Vec<_> = server.received.iter().filter(|m| m["method"] == "notifications/progress").collect();
    assert!(told.len() >= 11, "{} messages", told.len());
    let last = told.last().expect("one")["params"]["message"].as_str().expect("a message");
    assert!(last.contains("11 of 11"), "{last}");
}

#[test]
fn a_cancelled_search_ends_at_once() {
    let site = site(|_, _| Answer::silence());
    let mut server = serve(searching(&site));
    let id = server.request("tools/call", json!({"name": "WebSearch", "arguments": {"query": "rust"}}));
    while site.asked().len() < 5 {
        std::thread::yield_now();
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    let begin = Instant::now();
    server.ask("ping", json!({}));
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn queries_that_cannot_be_meant_are_refused_with_the_reason() {
    let site = site(normal);
    let mut server = serve(searching(&site));
    for query in ["", "   ", &"a".repeat(500)] {
        let result = search(&mut server, query);
        assert!(failure(&result).contains("query"), "{result}");
    }
    assert!(site.asked().is_empty());
}

#[test]
fn the_operator_switches_engines_and_the_web_off() {
    let site = site(normal);
    let program = searching(&site);
    let path = program.home().join(".scorpiox/policy.toml");
    let policy = std::fs::read_to_string(&path).expect("a policy");
    std::fs::write(
        &path,
        policy.replace("[search.engine.bing]\n", "[search.engine.bing]\nenabled = false\n"),
    )
    .expect("written");
    let result = search(&mut start(&program), "rust");
    assert!(!statuses(&result).contains_key("bing") && site.count("/bing/") == 0, "{result}");

    std::fs::write(&path, policy.replace("[web]\n", "[web]\nenabled = false\n")).expect("written");
    let before = site.asked().len();
    let result = search(&mut start(&program), "rust");
    assert!(failure(&result).contains("enabled = false"), "{result}");
    assert_eq!(site.asked().len(), before);
}
