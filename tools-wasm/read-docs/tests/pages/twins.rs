//! Pages that announce a Markdown version, and indexes of sites.

use crate::fake::{Fake, data};
use scorpiox_processor_time::Stopwatch;
use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::{Response, WebError};
use serde_json::json;

const URL: &str = "https://example.org/docs/page";
const TWIN: &str = "https://example.org/docs/page.md";
const LINK: &str = "<link rel='alternate' type='text/markdown' href='/docs/page.md'>";
const WORDS: &str = "The tide table shows when the sea is high and when it is low, for each day and for each port that you \
    name in the file of settings. Heights are in metres above chart datum, and times are in the zone of the port.";
const SHELL: &str = "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div><script src=/app.js></script>";

fn page(head: &str, body: &str) -> String {
    format!(
        "<html><head><title>Tide tables</title>{head}</head><body><article><h1>Tide tables</h1><p>{WORDS}</p>{body}</article></body></html>"
    )
}

fn markdown() -> String {
    format!(
        "---\ntitle: Tide tables\n---\n\n# Tide tables\n\n{WORDS}\n\n```python\nonly = 'in Markdown'\n```\n"
    )
}

fn announced(head: &str) -> Fake {
    Fake::html(&page(head, "")).with(TWIN, 200, "text/markdown; charset=utf-8", &markdown())
}

#[test]
fn links_of_a_twin_lead_where_they_do_on_its_site() {
    let text = markdown() + "\n[Ports](ports.md#all), [times][1]\n\n[1]: /times\n";
    let mut web = Fake::html(&page(LINK, "")).with(TWIN, 200, "text/markdown", &text);
    let text = web.read().text;
    assert!(text.contains("[Ports](https://example.org/docs/ports.md#all), [times][1]"), "{text}");
    assert!(text.contains("[1]: https://example.org/times"), "{text}");
}

#[test]
fn an_announced_twin_is_read_in_the_pages_place() {
    for (head, header) in [
        (LINK, None),
        ("<link href=page.md type='text/markdown; charset=utf-8' rel='Alternate nofollow'>", None),
        (
            "<base href='https://example.org/docs/x/'><link rel=alternate type=text/markdown href=../page.md>",
            None,
        ),
        ("", Some("<https://example.org/docs/page.md>; rel=\"alternate\"; type=\"text/markdown\"")),
        ("", Some("</style.css>; rel=preload; as=style, <page.md>; type=text/markdown; rel=alternate")),
    ] {
        let mut web = announced(head);
        if let Some(header) = header {
            web = web.header("link", header);
        }
        let output = web.read();
        assert!(output.text.starts_with("# Tide tables\n\nThe tide table shows"), "{}", output.text);
        assert!(output.text.contains("only = 'in Markdown'"), "{head}: {}", output.text);
        assert!(
            output.text.ends_with(&format!("Note: Read from the Markdown that the page announces: {TWIN}"))
        );
        let data = data(&output);
        assert_eq!((&data["content_type"], &data["final_url"]), (&json!("text/markdown"), &json!(URL)));
        assert_eq!((&data["title"], &data["rendered"]), (&json!("Tide tables"), &json!(false)));
        let asked: Vec<&str> = web.requests.iter().map(|request| request.url.as_str()).collect();
        assert_eq!(asked, [URL, TWIN]);
        assert!(web.requests[1].cached && web.requests[1].headers[0].1.starts_with("text/markdown"));
    }
}

#[test]
fn a_twin_is_asked_for_only_where_it_is_announced_on_the_same_site() {
    for head in [
        "",
        "<link rel=alternate type=text/markdown href='https://other.org/docs/page.md'>",
        "<link rel=alternate type=text/markdown href='http://example.org/docs/page.md'>",
        "<link rel=alternate type=text/markdown href='https://example.org:8443/docs/page.md'>",
        "<link rel=alternate type=text/markdown href='https://example.org@other.org/page.md'>",
        "<link rel=alternate type=text/markdown href='https://sub.example.org/page.md'>",
        "<link rel=alternate type=text/markdown href='/docs/page#part'>",
        "<link rel=alternate type=application/rss+xml href=/page.md>",
        "<link rel=next type=text/markdown href=/page.md>",
        "<link rel=alternate type=text/markdown href=''>",
        "<link rel=alternate type=text/markdown href='file:///etc/passwd'>",
        "<base href='https://other.org/'><link rel=alternate type=text/markdown href='page.md'>",
    ] {
        let mut web = announced(head);
        let output = web.read();
        assert_eq!(web.requests.len(), 1, "{head}: {:?}", web.requests);
        assert!(
            output.text.contains("The tide table shows") && !output.text.contains("Note:"),
            "{}",
            output.text
        );
    }
}

#[test]
fn html_is_asked_for_and_read_as_html() {
    let mut web = announced(LINK);
    let output = web.call(&json!({"url": URL, "format": "html"})).expect("a page");
    assert_eq!(web.requests.len(), 1);
    assert!(web.requests[0].headers[0].1.starts_with("text/html,"));
    assert!(output.text.starts_with("<h1>Tide tables</h1>"), "{}", output.text);
}

#[test]
fn text_comes_from_the_twin_too() {
    let output = announced(LINK).call(&json!({"url": URL, "format": "text"})).expect("a page");
    assert!(output.text.contains("only = 'in Markdown'"), "{}", output.text);
}

#[test]
fn a_twin_that_is_none_leaves_the_page() {
    let other = "# Sailing boats\n\nBoats with one mast carry a mainsail; crews hoist whatever canvas suits stronger winds, reefing early \
        before squalls arrive. Varnish wood yearly, inspect rigging, grease winches, and replace frayed sheets without delay, please.";
    let html = page("", "only = 'in Markdown'");
    let cases = [
        (404, "text/markdown", "# Not found\n\nonly = 'in Markdown'"),
        (500, "text/markdown", "only = 'in Markdown'"),
        (200, "text/markdown", "  \n"),
        (200, "text/markdown", "---\ntitle: only = 'in Markdown'\n---\n"),
        (200, "text/html", html.as_str()),
        (200, "text/markdown", html.as_str()),
        (200, "text/markdown", "<!DOCTYPE html><p>only = 'in Markdown'"),
        (200, "text/markdown", "# Tide tables\n\nThe tide table shows only = 'in Markdown'"),
        (200, "text/markdown", other),
        (200, "application/json", "{\"only\": \"only = 'in Markdown'\"}"),
        (200, "text/markdown", "\0\u{1}only = 'in Markdown'"),
    ];
    for (status, kind, body) in cases {
        let mut web = Fake::html(&page(LINK, "")).with(TWIN, status, kind, body);
        let output = web.read();
        assert_eq!(web.requests.len(), 2);
        assert!(
            output.text.contains("The tide table shows when") && !output.text.contains("only ="),
            "{}",
            output.text
        );
        assert!(
            !output.text.contains("mainsail") && !output.text.contains("Note:"),
            "{status} {kind}: {}",
            output.text
        );
        assert_eq!(data(&output)["content_type"], "text/html");
    }
}

#[test]
fn a_twin_that_fails_leaves_the_page() {
    let errors = [
        WebError::Denied("no".to_owned()),
        WebError::Moved("https://other.org/page.md".to_owned()),
        WebError::TooLarge(10),
        WebError::TimedOut("late".to_owned()),
        WebError::Failed("no".to_owned()),
    ];
    for error in errors {
        let mut web = Fake::html(&page(LINK, ""));
        web.others.push((TWIN.to_owned(), Err(error)));
        let output = web.read();
        assert!(
            output.text.contains("The tide table shows") && !output.text.contains("Note:"),
            "{}",
            output.text
        );
    }
    let mut web = Fake::html(&page(LINK, ""));
    web.others.push((TWIN.to_owned(), Err(WebError::Cancelled)));
    assert_eq!(web.call(&json!({"url": URL})), Err(Failure::Cancelled));
}

#[test]
fn a_twin_that_came_from_elsewhere_is_none() {
    let mut web = Fake::html(&page(LINK, ""));
    let headers = vec![("content-type".to_owned(), "text/markdown".to_owned())];
    let body = markdown().into_bytes();
    let elsewhere = Response { url: "https://other.org/docs/page.md".to_owned(), status: 200, headers, body };
    web.others.push((TWIN.to_owned(), Ok(elsewhere)));
    assert!(!web.read().text.contains("only ="));
}

#[test]
fn a_frame_for_scripts_with_a_twin_needs_no_browser() {
    let frame =
        format!("<html><head><title>Tide tables · Docs</title>{LINK}</head><body>{SHELL}</body></html>");
    let mut web =
        Fake::html(&frame).with(TWIN, 200, "text/plain", &markdown()).with_browser(&page("", "by a browser"));
    let output = web.read();
    assert!(web.renders.is_empty() && output.text.contains("only = 'in Markdown'"), "{}", output.text);
    // A call with `wait_ms` requests the browser.
    let output = web.call(&json!({"url": URL, "wait_ms": 1})).expect("a page");
    assert!(web.renders.len() == 1 && output.text.contains("by a browser"), "{}", output.text);
    let mut web = Fake::html(&frame)
        .with(TWIN, 200, "text/markdown", "# Boats\n\nAll of them.")
        .with_browser(&page("", "by a browser"));
    assert!(web.read().text.contains("by a browser"));
}

#[test]
fn an_error_page_has_no_twin() {
    let mut web = announced(LINK).status(404);
    assert!(web.read().text.starts_with("HTTP 404") && web.requests.len() == 1);
}

#[test]
fn an_index_is_named_and_not_fetched() {
    let note =
        |address: &str| format!("Note: The site announces an index of its pages for models: {address}");
    let here = note("https://example.org/llms.txt");
    let said = "<blockquote><h2>Documentation Index</h2><p>Fetch the complete documentation index at: https://example.org/docs/llms.txt</p></blockquote>";
    for (head, header, body, wanted) in [
        ("<link rel=llms-txt href=/llms.txt>", None, "", here.as_str()),
        ("<link rel=describedby href=/llms.txt type=text/markdown>", None, "", here.as_str()),
        ("<link rel=alternate type=text/markdown title=LLM href=/llms.txt>", None, "", here.as_str()),
        (
            "<link rel=llms-full-txt href=/llms-full.txt><link rel=llms-txt href=/llms.txt>",
            None,
            "",
            here.as_str(),
        ),
        (
            "<link rel=alternate type=text/plain href=/llms-full.txt>",
            None,
            "",
            &note("https://example.org/llms-full.txt"),
        ),
        (
            "",
            Some(("link", "</llms.txt>; rel=\"llms-txt\", </llms-full.txt>; rel=\"llms-full-txt\"")),
            "",
            here.as_str(),
        ),
        ("", Some(("x-llms-txt", "/llms.txt")), "", here.as_str()),
        (
            "<link rel=llms-txt href=https://other.org/llms.txt>",
            Some(("x-llms-txt", "//other.org/llms.txt")),
            "",
            "",
        ),
        ("", None, "<p>See other.org/llms.txt in the index.</p>", ""),
        ("", None, said, "complete documentation index at: https://example.org/docs/llms.txt"),
        ("", None, &format!("<div hidden>{said}</div>"), &note("https://example.org/docs/llms.txt")),
    ] {
        let mut web = Fake::html(&page(head, body));
        if let Some((name, value)) = header {
            web = web.header(name, value);
        }
        let output = web.read();
        assert_eq!(web.requests.len(), 1, "{head}");
        assert!(output.text.contains(wanted), "{head} {header:?}: {}", output.text);
        let notes = output.text.matches("Note: ").count();
        assert_eq!(notes, usize::from(wanted.starts_with("Note")), "{head} {header:?}: {}", output.text);
    }
}

#[test]
fn markdown_from_the_server_itself_names_the_index_too() {
    let output = Fake::new("text/markdown", "# Start\n\nText.").header("x-llms-txt", "/llms.txt").read();
    assert!(output.text.ends_with("models: https://example.org/llms.txt"), "{}", output.text);
    let said = "> Fetch the index at: https://example.org/llms.txt\n\n# Start";
    let output = Fake::new("text/markdown", said).header("link", "</llms.txt>; rel=llms-txt").read();
    assert_eq!(output.text, said);
}

#[test]
fn floods_of_announcements_take_no_time() {
    let links = "<link rel=alternate type=text/markdown href=https://other.org/x.md>".repeat(20_000);
    let header = "<https://other.org/x>; rel=alternate; type=\"text/markdown\", ".repeat(20_000);
    let said = "<p>index of /llms.txtx index".repeat(20_000);
    let stopwatch = Stopwatch::start();
    let mut web = Fake::html(&page(&links, &said)).header("link", &header);
    web.read();
    assert!(web.requests.len() == 1 && stopwatch.elapsed().as_secs() < 20);
}
