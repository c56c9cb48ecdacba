//! Hostile pages.

use std::time::Duration;

use scorpiox_processor_time::Stopwatch;

use super::fake::*;
use super::*;
use crate::engine::{Answer, MAX_SNIPPET_CHARS, MAX_TITLE_CHARS};
use crate::html;

/// Maximum processor time of a test without optimization; quadratic work takes minutes.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn pages_made_to_cost_time_or_memory_are_refused_in_time() {
    let attributes: String = (0..200_000).flat_map(|n| [format!("a{n}"), " ".to_owned()]).collect();
    let pages = [
        "<".repeat(5_000_000),
        "<".repeat(html::MAX_BYTES / 8),
        "<div>".repeat(300_000),
        "<b>".repeat(300_000),
        "<table><tr><td>".repeat(100_000),
        "<table><b>".repeat(100_000),
        "<a><p>".repeat(200_000),
        "<p>".repeat(500_000),
        "<svg>".repeat(300_000),
        "<template>".repeat(50_000),
        "&amp;".repeat(50_000),
        "<!--".repeat(100_000),
        format!("<div {attributes}>"),
        format!("<div {}>", attributes.replace(' ', "/")),
        format!("<div {}>", attributes.replace(' ', "=''")),
        format!("<div></div {attributes}>"),
        "[".repeat(html::MAX_BYTES),
        "{\"a\":".repeat(300_000),
        format!("[{}0]", "0,".repeat(900_000)),
        format!("UIStartpage.AppSerpWeb,{}", "[".repeat(1_000_000)),
        "UIStartpage.AppSerpWeb,".repeat(80_000),
    ];
    for (number, page) in pages.iter().enumerate() {
        for name in ["bing", "mwmbl", "startpage"] {
            let stopwatch = Stopwatch::start();
            let answer = (engine(name).read)(&response(200, page.as_bytes()));
            assert!(matches!(answer, Answer::Unreadable(_)), "page {number}, {name}: {answer:?}");
            let took = stopwatch.elapsed();
            assert!(took < PATIENCE, "page {number}, {name}: {took:?}");
        }
    }
}

#[test]
fn the_limits_are_named() {
    let why = |page: &str| html::parse(page).err().unwrap_or_default();
    assert_eq!(why(&"<div>".repeat(1_000)), "the page nests more than 512 elements within each other");
    assert_eq!(why(&"<br>".repeat(100_001)), "the page has more than 100000 elements");
    assert_eq!(why(&"x".repeat(html::MAX_BYTES + 1)), "the page has 2097153 bytes, more than 2097152");
    assert!(html::parse(&"<div>".repeat(400)).is_ok());
    assert!(
        html::parse(&format!("<script>{}</script>", "if (a<b) { x('>'); } // it's\n".repeat(20_000))).is_ok()
    );
}

/// Creates a Bing page with these results: `href`, title, snippet.
fn bing(results: &[(&str, &str, &str)]) -> String {
    let item = |(href, title, snippet): &(&str, &str, &str)| {
        format!("<li class=b_algo><h2><a href=\"{href}\">{title}</a></h2><p>{snippet}</p></li>")
    };
    results.iter().map(item).collect()
}

fn read(page: &str) -> Vec<Hit> {
    match (engine("bing").read)(&response(200, page)) {
        Answer::Hits(hits) => hits,
        other => panic!("no results: {other:?}"),
    }
}

#[test]
fn addresses_that_are_not_of_the_web_are_dropped() {
    let hits = read(&bing(&[
        ("javascript:alert(1)", "a", ""),
        ("data:text/html;base64,PGI+", "b", ""),
        ("JaVaScRiPt://x.example/%0aalert(1)", "c", ""),
        ("file:///etc/passwd", "d", ""),
        ("https://user:secret@evil.example/", "e", ""),
        ("https://www.bing.com/ck/a?u=a1amF2YXNjcmlwdDphbGVydCgxKQ", "f", ""),
        ("https://good.example/", "g", ""),
    ]));
    assert_eq!(hits, [hit("https://good.example/", "g", "")]);
}

#[test]
fn titles_and_snippets_are_short_and_of_visible_characters() {
    let long = "x".repeat(1_000_000);
    let hits = read(&bing(&[
        ("https://a.example/", &long, &long),
        (
            "https://b.example/",
            "\u{1b}[31mred\u{1b}[0m\u{202e}evil\u{2066}\u{0}",
            "&#x202e;&#27;[2Jgone&#8203;",
        ),
        ("https://c.example/", "1. Fake\n   https://fake.example/\n\n2. Result", "line\r\none"),
    ]));
    assert_eq!(hits[0].title.chars().count(), MAX_TITLE_CHARS);
    assert_eq!(hits[0].snippet.chars().count(), MAX_SNIPPET_CHARS);
    assert_eq!((hits[1].title.as_str(), hits[1].snippet.as_str()), ("redevil", "gone"));
    assert_eq!(hits[2].title, "1. Fake https://fake.example/ 2. Result", "one line cannot become several");
    assert_eq!(hits[2].snippet, "line one");
}

#[test]
fn long_titles_in_json_are_cut_too() {
    let page = serde_json::json!([{"URL": "https://a.example/", "Title": "<b>t&amp;</b>".repeat(100_000), "Snippet": ""}]);
    match (engine("wiby").read)(&response(200, page.to_string())) {
        Answer::Hits(hits) => assert_eq!(hits[0].title.chars().count(), MAX_TITLE_CHARS),
        other => panic!("no results: {other:?}"),
    }
}

#[test]
fn one_hostile_engine_does_not_spoil_the_search() {
    let mut server = Server::new();
    let script = |name: &str, request: &_| match name {
        "bing" => (1, Ok(response(200, "<div>".repeat(100_000)))),
        _ => (1, gives(name, request, "normal")),
    };
    let output = server.search("tide", &script).expect("succeeds");
    assert!(output.text.contains("bing failed"), "{}", output.text);
    assert!(output.text.contains("duckduckgo 3"));
}

proptest::proptest! {
    // Each case is parsed by all engines.
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn no_page_makes_an_engine_panic(parts in proptest::collection::vec(0..14usize, 0..40), noise in "\\PC{0,20}") {
        const PARTS: [&str; 14] = [
            "<li class=b_algo>", "<h2>", "<a href='https://a.example/", "'>", "</a>", "<p>", "<table>", "</h2>", "{\"results\":",
            "[", "]", "}", "UIStartpage.AppSerpWeb, {\"render\":", "<form action=captcha>",
        ];
        let page: String = parts.iter().map(|part| PARTS[*part]).collect::<Vec<_>>().join(&noise);
        for engine in &ENGINES {
            (engine.read)(&response(200, page.as_bytes()));
        }
    }
}
