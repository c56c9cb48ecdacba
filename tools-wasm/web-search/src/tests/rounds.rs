//! Waiting: slow engines, lost requests, two phases, progress.

use scorpiox_tool_kit::memory::MemoryStore;
use scorpiox_tool_kit::web::{Method, WebError};

use super::fake::*;
use super::*;

fn engine_data(output: &scorpiox_tool_kit::Output, name: &str) -> Value {
    let data = data(output.structured.as_deref());
    let engines = data["engines"].as_array().expect("engines").clone();
    engines.into_iter().find(|engine| engine["name"] == name).expect("in the list")
}

#[test]
fn all_engines_are_asked_before_any_is_waited_for() {
    let mut server = Server::new();
    server.search("tide tables", &normal).expect("succeeds");
    let first: Vec<&str> = server.asked().into_iter().take(11).collect();
    assert_eq!(first, OPEN);
    assert_eq!(server.asked().len(), 12, "Startpage is asked twice");
}

#[test]
fn the_answer_comes_when_all_have_answered() {
    let mut server = Server::new();
    server
        .search("tide", &|name, request| {
            (if name == "bing" { 900 } else { 10 }, gives(name, request, "normal"))
        })
        .expect("succeeds");
    assert_eq!(server.clock.get() - START, 900);
}

#[test]
fn slow_engines_time_out_and_the_others_count() {
    let mut server = Server::new();
    let slow = |name: &str, request: &_| {
        (if matches!(name, "bing" | "wikipedia") { 60_000 } else { 200 }, gives(name, request, "normal"))
    };
    let output = server.search("tide", &slow).expect("succeeds");
    assert!(output.text.ends_with("Engines: duckduckgo 3, brave 2, startpage 2, bing timed out, mojeek 2, qwant 2, yahoo 2, yep 2, mwmbl 2, wikipedia timed out, wiby 2."), "{}", output.text);
    assert_eq!(engine_data(&output, "bing")["duration_ms"], 5_000);
    assert_eq!(engine_data(&output, "wikipedia")["duration_ms"], 4_000);
    assert_eq!(engine_data(&output, "bing")["status"], "timed_out");
    assert_eq!(server.clock.get() - START, 5_000);
}

#[test]
fn nothing_lasts_longer_than_six_seconds() {
    let mut server = Server::new();
    let text = failed(server.search("tide", &|name, request| (3_600_000, gives(name, request, "normal"))));
    assert_eq!(server.clock.get() - START, 6_000);
    assert!(text.contains("- startpage: timed out, 6000 ms"), "{text}");
}

#[test]
fn a_host_that_lost_the_requests_does_not_make_the_search_spin() {
    let mut server = Server::new();
    server.forgetful = true;
    let text = failed(server.search("tide", &normal));
    assert_eq!(server.clock.get(), START, "nothing was waited for");
    assert!(text.contains("- bing: failed (its request was lost), 0 ms"), "{text}");
}

#[test]
fn startpage_is_asked_for_its_token_first() {
    let mut server = Server::only(&["startpage"]);
    server.search("a&b=c é", &normal).expect("succeeds");
    let [(_, first), (_, second)] = &server.asked[..] else { panic!("two requests") };
    assert_eq!((first.method, first.url.as_str()), (Method::Get, "http://engines.test/startpage/"));
    assert_eq!(second.url, "http://engines.test/startpage/sp/search");
    assert_eq!(String::from_utf8_lossy(&second.body), "query=a%26b%3Dc%20%C3%A9&cat=web&sc=Sc0de%2B%2F20");
    assert_eq!(first.timeout_ms, 6_000);
    assert_eq!(second.timeout_ms, 5_900, "what the first left of its time");
}

#[test]
fn startpage_without_token_fails_and_with_captcha_is_blocked() {
    let mut server = Server::only(&["startpage"]);
    let text = failed(server.search("x", &|_, _| (1, Ok(response(200, "<form></form>")))));
    assert!(text.contains("- startpage: failed (its first page has no value for sc"), "{text}");
    let blocked = |name: &str, _: &_| (1, Ok(response(200, page(name, "blocked"))));
    assert!(failed(server.search("x", &blocked)).contains("- startpage: blocked (it asks for a captcha)"));
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn requests_are_what_the_engines_expect() {
    let mut server = Server::new();
    for (name, key) in [
        ("brave-api", "k1"),
        ("tavily", "k2"),
        ("exa", "k3"),
        ("kagi", "k4"),
        ("google", "k5:cx5"),
        ("searxng", ""),
    ] {
        server.settings.push(at_the_fake(name, Some(key)));
    }
    server.search("tide tables", &normal).expect("succeeds");
    let told = |name: &str| {
        let (_, request) = server.asked.iter().find(|(asked, _)| asked == name).expect("asked");
        let header = |(name, value): &(String, String)| format!("{name}: {value}");
        let headers: Vec<String> =
            request.headers.iter().filter(|(name, _)| !name.starts_with("accept")).map(header).collect();
        let url = request.url.trim_start_matches("http://engines.test/");
        [url.to_owned(), headers.join("; "), String::from_utf8_lossy(&request.body).into_owned()]
            .join(" ")
            .trim()
            .to_owned()
    };
    let expected = [
        (
            "duckduckgo",
            "duckduckgo/html/ content-type: application/x-www-form-urlencoded q=tide%20tables&b=&kl=wt-wt",
        ),
        ("brave", "brave/search?q=tide%20tables&source=web"),
        ("bing", "bing/search?q=tide%20tables"),
        ("mojeek", "mojeek/search?q=tide%20tables"),
        ("qwant", "qwant/v3/search/web?q=tide%20tables&count=10&offset=0&locale=en_US"),
        ("yahoo", "yahoo/search?p=tide%20tables"),
        ("yep", "yep/search?query=tide%20tables&limit=20"),
        ("mwmbl", "mwmbl/api/v1/search/?s=tide%20tables"),
        ("wikipedia", "wikipedia/w/rest.php/v1/search/page?q=tide%20tables&limit=10"),
        ("wiby", "wiby/json/?q=tide%20tables"),
        ("brave-api", "brave-api/res/v1/web/search?q=tide%20tables&count=20 x-subscription-token: k1"),
        (
            "tavily",
            "tavily/search authorization: Bearer k2; content-type: application/json {\"max_results\":20,\"query\":\"tide tables\"}",
        ),
        (
            "exa",
            "exa/search x-api-key: k3; content-type: application/json {\"contents\":{\"highlights\":true},\"numResults\":10,\"query\":\"tide tables\",\"type\":\"auto\"}",
        ),
        ("kagi", "kagi/api/v1/search?q=tide%20tables authorization: Bot k4"),
        ("google", "google/customsearch/v1?key=k5&cx=cx5&q=tide%20tables&num=10"),
        ("searxng", "searxng/search?q=tide%20tables&format=json&categories=general"),
    ];
    for (name, request) in expected {
        assert_eq!(told(name), request);
    }
    assert!(server.asked.iter().all(|(_, request)| {
        let named = |wanted: &str| request.headers.iter().any(|(name, _)| name == wanted);
        !request.cached && named("accept") && !named("user-agent")
    }));
}

#[test]
fn progress_names_each_engine_as_it_answers() {
    let mut server = Server::only(&["brave", "wiby", "bing", "mojeek"]);
    server
        .search("tide", &|name, request| match name {
            "brave" => (300, gives(name, request, "normal")),
            "wiby" => (100, gives(name, request, "empty")),
            "bing" => (200, gives(name, request, "blocked")),
            _ => (0, Err(WebError::Denied("no".to_owned()))),
        })
        .expect("succeeds");
    let told: Vec<(u32, Option<u32>, &str)> =
        server.heard.0.iter().map(|(done, total, text)| (*done, *total, text.as_str())).collect();
    assert_eq!(
        told,
        [
            (1, Some(4), "Mojeek: denied"),
            (2, Some(4), "Wiby: nothing found"),
            (3, Some(4), "Bing: blocked"),
            (4, Some(4), "Brave: 2 results"),
        ]
    );
}

#[test]
fn a_call_that_is_cancelled_ends_at_once() {
    let mut server = Server::new();
    let cancelled = |name: &str, request: &_| match name {
        "wiby" => (50, Err(WebError::Cancelled)),
        _ => (2_000, gives(name, request, "normal")),
    };
    assert_eq!(server.search("tide", &cancelled), Err(scorpiox_tool_kit::Failure::Cancelled));
    assert_eq!(server.clock.get() - START, 50);
}

#[test]
fn errors_of_the_web_are_told_without_the_key() {
    let mut server = Server::only(&[]);
    server.settings.push(at_the_fake("google", Some("s3cret:c/x")));
    let errors = [
        (
            WebError::Denied("line 3 denies http://a/?key=s3cret&cx=c%2Fx".to_owned()),
            "denied (line 3 denies http://a/?key=…&cx=…)",
        ),
        (
            WebError::Moved("https://consent.example/?k=s3cret".to_owned()),
            "failed (it redirects to another host: https://consent.example/?k=…)",
        ),
        (WebError::Moved("https://geo.example/captcha/".to_owned()), "blocked (it asks for a captcha)"),
        (WebError::TooLarge(10), "failed (its answer has more than 10 bytes)"),
        (WebError::Failed("no\u{1b}[1m\nroute\u{202e}".to_owned()), "failed (no route)"),
        (WebError::Invalid("bad address".to_owned()), "failed (bad address)"),
    ];
    for (error, told) in errors {
        server.store = MemoryStore::default();
        let text = match server.search("x", &|_, _| (1, Err(error.clone()))) {
            Err(scorpiox_tool_kit::Failure::Failed(text) | scorpiox_tool_kit::Failure::Denied(text)) => text,
            other => panic!("not a failure: {other:?}"),
        };
        assert!(text.contains(&format!("- google: {told}")), "{text}");
    }
}
