//! Tests of `ReadDocs` without a browser.

use std::io::Write as _;
use std::time::{Duration, Instant};

use scorpiox_tests::Started;
use scorpiox_tests::site::{Answer, Asked, Site};
use serde_json::{Value, json};

use super::support::{failure, program, serve, start, success};

const ARTICLE: &str = r#"<!DOCTYPE html><html lang="en"><head><title>On lakes | The Water Site</title>
    <meta name="author" content="Ana Lake"></head><body>
    <nav><a href="/">Home</a> <a href="/about">About</a></nav>
    <article><h1>On lakes</h1>
    <p>Lakes are bodies of water that are surrounded by land, and there are many millions of them, most of them small,
       in the north of the world, where glaciers have left hollows behind them for the water to stay in.</p>
    <p>See the <a href="/list?all=1">whole list</a>, which has been kept for a very long time by people who measure
       how deep they are, how warm, and what lives in them from year to year without ever coming to an end.</p>
    <pre><code class="language-rust">fn depth() -&gt; u32 { 12 }</code></pre>
    <table><tr><th>Lake</th><th>Depth</th></tr><tr><td>Baikal</td><td>1642 | m</td></tr></table>
    </article><footer>Imprint and cookies</footer></body></html>"#;

/// Starts a site with a single page.
fn site_with(answer: Answer) -> Site {
    Site::start(move |_| answer.clone())
}

fn read(server: &mut Started, url: &str) -> Value {
    server.call("ReadDocs", json!({ "url": url }))
}

/// Reads the only page of a site, under a policy that allows the site but no browser.
fn read_one(answer: Answer) -> Value {
    let site = site_with(answer);
    read(&mut serve(program("browser = false\n")), &site.url("/page"))
}

#[test]
fn an_article_becomes_markdown_without_what_surrounds_it() {
    let site = site_with(Answer::html(ARTICLE));
    let mut server = serve(program(""));
    let result = read(&mut server, &site.url("/lakes"));
    let text = success(&result);
    for piece in [
        "# On lakes",
        "Ana Lake",
        "```rust\nfn depth() -> u32 { 12 }\n```",
        "1642 \\| m",
        &site.url("/list?all=1"),
    ] {
        assert!(text.contains(piece), "no {piece:?} in:\n{text}");
    }
    assert!(!text.contains("Imprint") && !text.contains("About"), "{text}");
    assert_eq!(result["structuredContent"]["status"], 200);
    assert_eq!(result["structuredContent"]["rendered"], false);

    let plain = server.text("ReadDocs", json!({"url": site.url("/lakes"), "format": "text"}));
    assert!(plain.contains("fn depth") && !plain.contains("```") && !plain.contains("]("), "{plain}");
    assert_eq!(site.count("/lakes"), 1, "the later one came from memory");
    let html = server.text("ReadDocs", json!({"url": site.url("/lakes"), "format": "html"}));
    assert!(html.contains("<table>") && !html.contains("Imprint"), "{html}");
    // This format requests HTML first, because a site may serve Markdown to other clients.
    assert_eq!(site.count("/lakes"), 2);
    let asked = site.asked();
    assert!(asked[1].headers["accept"].starts_with("text/html"), "{:?}", asked[1].headers);
    assert!(site.asked()[0].headers["user-agent"].starts_with("scorpiox-code/"));
}

/// Behind a proxy that is the only way out, nothing else would say that it was not asked.
#[test]
fn an_error_names_a_proxy_that_is_not_used() {
    let program = program("");
    let mut command = program.command();
    command.env("HTTPS_PROXY", "http://user:secret@127.0.0.1:9");
    let mut server = Started::spawn(command);
    server.initialize("2025-11-25");
    let result = read(&mut server, "http://127.0.0.1:9/");
    let said = failure(&result);
    assert!(said.contains("HTTPS_PROXY is set") && !said.contains("secret"), "{said}");
}

#[test]
fn what_is_no_html_is_handled_by_its_kind() {
    for (answer, piece) in [
        (Answer::of("text/markdown", "# As it is\n\n* a\n"), "# As it is\n\n* a"),
        (Answer::of("application/json", r#"{"b":[1,2],"a":"ä"}"#), "\"a\": \"ä\""),
        (Answer::of("text/plain; charset=iso-8859-1", b"caf\xe9".to_vec()), "café"),
        (Answer::of("text/csv", "a,b\n1,2\n"), "| 1 | 2 |"),
        (
            Answer::of(
                "text/xml",
                "<rss><channel><title>News</title><item><title>One</title></item></channel></rss>",
            ),
            "# News",
        ),
        (
            Answer::of("text/html", b"<meta charset=windows-1252><p>\x93quoted\x94 text".to_vec()),
            "“quoted” text",
        ),
        (Answer::of("text/html; charset=utf-8", "<p>größer</p>"), "größer"),
    ] {
        let result = read_one(answer);
        assert!(success(&result).contains(piece), "{piece}: {result}");
    }
    for (mime_type, piece) in [("image/png", "image/png"), ("application/octet-stream", "octet-stream")] {
        let result = read_one(Answer::of(mime_type, vec![0, 1, 2, 0xff]));
        assert!(failure(&result).contains(piece), "{result}");
    }
}

fn packed(how: &str, text: &str) -> Vec<u8> {
    match how {
        "gzip" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(text.as_bytes()).expect("packs");
            packer.finish().expect("packs")
        }
        "zstd" => zstd::encode_all(text.as_bytes(), 9).expect("packs"),
        _ => {
            let mut packed = Vec::new();
            brotli::BrotliCompress(
                &mut text.as_bytes(),
                &mut packed,
                &brotli::enc::BrotliEncoderParams::default(),
            )
            .expect("packs");
            packed
        }
    }
}

#[test]
fn packed_pages_are_unpacked_and_bombs_end() {
    for how in ["gzip", "br", "zstd"] {
        let page = Answer::html(packed(how, ARTICLE)).header("Content-Encoding", how);
        assert!(success(&read_one(page)).contains("# On lakes"), "{how}");
        let bomb = Answer::html(packed(how, &" ".repeat(64 << 20))).header("Content-Encoding", how);
        let result = read_one(bomb);
        assert!(failure(&result).contains("10485760 bytes"), "{how}: {result}");
    }
    let result = read_one(Answer::html("<p>a").endless());
    assert!(failure(&result).contains("10485760 bytes"), "{result}");
}

#[test]
fn redirects_are_followed_on_the_host_and_told_of_elsewhere() {
    let other = site_with(Answer::html(ARTICLE));
    let elsewhere = other.url("/there");
    let site = Site::start(move |asked: &Asked| match asked.path.as_str() {
        "/a" => Answer::redirect("/b"),
        "/b" => Answer::redirect("lakes"),
        "/lakes" => Answer::html(ARTICLE),
        "/away" => Answer::redirect(&elsewhere),
        _ => Answer::redirect("/again"),
    });
    let mut server = serve(program(""));
    let result = read(&mut server, &site.url("/a"));
    assert!(success(&result).contains("# On lakes"));
    assert_eq!(result["structuredContent"]["final_url"], site.url("/lakes"));
    assert!(success(&result).contains(&format!("Note: The page came from {}", site.url("/lakes"))));
    let result = read(&mut server, &site.url("/away"));
    assert!(failure(&result).contains(&other.url("/there")), "{result}");
    assert!(other.asked().is_empty());
    let result = read(&mut server, &site.url("/again"));
    assert!(failure(&result).contains("more than 5 times"), "{result}");
}

#[test]
fn a_page_that_is_missing_is_given_with_its_status() {
    let result = read_one(Answer::not_found());
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("404") && text.contains("There is nothing here"), "{text}");
    assert_eq!(result["structuredContent"]["status"], 404, "{result}");
}

#[test]
fn long_pages_are_given_in_parts() {
    let mut body = String::from("<title>Long</title><article><h1>Long</h1>");
    for at in 0..6000 {
        body.push_str(&format!("<p>Paragraph number {at} of a very long text about nothing.</p>"));
    }
    let site = site_with(Answer::html(body));
    let mut server = serve(program(""));
    let first = read(&mut server, &site.url("/long"));
    let text = success(&first);
    let pages = first["structuredContent"]["pages"].as_u64().expect("a number");
    assert!(pages >= 20 && text.contains("#page=2"), "{pages} pages");
    assert!(text.chars().count() <= 20_000, "{}", text.chars().count());
    let mut seen = text.to_owned();
    for page in 2..=pages {
        seen.push_str(success(&read(&mut server, &format!("{}#page={page}", site.url("/long")))));
    }
    for at in [0, 1999, 2000, 5999] {
        assert_eq!(seen.matches(&format!("Paragraph number {at} of")).count(), 1, "{at}");
    }
    assert_eq!(site.asked().len(), 1);
    let beyond = read(&mut server, &format!("{}#page=99", site.url("/long")));
    assert!(failure(&beyond).contains(&pages.to_string()), "{beyond}");
}

#[test]
fn addresses_inside_are_refused_unless_the_operator_allows_them() {
    let site = site_with(Answer::html(ARTICLE));
    let closed = scorpiox_tests::Program::new();
    let mut server = start(&closed);
    for url in [
        site.url("/"),
        format!("http://localhost:{}/", site.address.port()),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let result = read(&mut server, &url);
        assert!(failure(&result).contains("allow_private"), "{url}: {result}");
    }
    for url in ["ftp://example.com/", "gopher://127.0.0.1/", "javascript:alert(1)"] {
        let result = read(&mut server, url);
        assert!(failure(&result).contains("http"), "{url}: {result}");
    }
    assert!(site.asked().is_empty());
}

#[test]
fn no_proxy_of_the_environment_is_used() {
    let (site, proxy) = (site_with(Answer::html(ARTICLE)), site_with(Answer::html("the proxy")));
    let mut proxied = program("");
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        proxied = proxied.with(name, &proxy.url(""));
    }
    let result = read(&mut serve(proxied), &site.url("/lakes"));
    assert!(success(&result).contains("# On lakes"), "{result}");
    assert!(proxy.asked().is_empty());
}

#[test]
fn a_silent_server_is_given_up_on_and_a_cancel_reaches_it() {
    let site = site_with(Answer::silence());
    let mut server = serve(program(""));
    let call = json!({"name": "ReadDocs", "arguments": {"url": site.url("/silent")}});
    let id = server.request("tools/call", call);
    while site.asked().is_empty() {
        std::thread::yield_now();
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    let begin = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn arguments_that_cannot_be_meant_are_refused_with_the_reason() {
    let mut server = serve(program(""));
    for (arguments, piece) in [
        (json!({}), "url is missing"),
        (json!({"url": "https://example.com/", "format": "pdf"}), "pdf"),
        (json!({"url": "https://example.com/", "wait_ms": -1}), "wait_ms"),
        (json!({"url": "https://example.com/", "wait_ms": "soon"}), "wait_ms"),
        (json!({"url": "no url"}), "no url"),
    ] {
        let result = server.call("ReadDocs", arguments);
        assert!(failure(&result).contains(piece), "{piece}: {result}");
    }
}

#[test]
fn hostile_pages_end_one_call_and_no_more() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/deep" => Answer::html("<div>".repeat(200_000)),
        "/inline" => Answer::html("<b><i>".repeat(200_000)),
        "/angle" => Answer::html("<".repeat(4 << 20)),
        "/table" => Answer::html(format!("<table>{}", "<td>".repeat(100_000))),
        "/wide" => Answer::html(format!("<p title=\"{}\">a", "x".repeat(4 << 20))),
        _ => Answer::html(ARTICLE),
    });
    let mut server = serve(program("browser = false\n"));
    for path in ["/deep", "/inline", "/angle", "/table", "/wide"] {
        let begin = Instant::now();
        let result = read(&mut server, &site.url(path));
        assert!(begin.elapsed() < Duration::from_secs(15), "{path}: {:?}", begin.elapsed());
        assert!(!result["content"][0]["text"].as_str().expect("text").is_empty(), "{path}");
        assert!(success(&read(&mut server, &site.url("/fine"))).contains("# On lakes"), "after {path}");
    }
}
