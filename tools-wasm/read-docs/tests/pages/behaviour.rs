//! Results of calls, over a web with a single page.

use crate::fake::{Fake, NO_BROWSER, ROOM, data};
use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::WebError;
use serde_json::{Value, json};

const URL: &str = "https://example.org/docs/page";

fn article(body: &str) -> String {
    let filler =
        "This is a sentence of the article, with commas, and long enough to count as text. ".repeat(4);
    format!(
        "<html><head><title>The title</title><meta name=author content='Jane Doe'>\
         <meta property='article:published_time' content='2024-05-06'></head>\
         <body><nav><a href=/>Home</a></nav><article><h1>The title</h1><p>{filler}</p>{body}<p>{filler}</p></article>\
         <footer>Imprint</footer></body></html>"
    )
}

fn content(html: &str) -> String {
    Fake::html(&article(html)).read().text
}

fn asked(format: &str) -> Value {
    json!({"url": URL, "format": format})
}

#[test]
fn the_definition_is_the_specified_one() {
    let definition = read_docs::definition();
    assert_eq!(definition.name, "ReadDocs");
    let schema: Value = serde_json::from_str(definition.input_schema).expect("JSON");
    assert_eq!(schema["required"], json!(["url"]));
    assert_eq!(schema["properties"]["wait_ms"]["description"], "Wait time for page load in ms");
    let hints = definition.hints;
    assert!(hints.read_only && !hints.destructive && hints.idempotent && hints.open_world);
}

#[test]
fn wrong_arguments_say_what_to_write() {
    let cases = [
        (json!({}), "url is missing"),
        (json!({"url": "docs.rs/serde/latest"}), "write https://docs.rs/serde/latest (or http://"),
        (json!({"url": "localhost:8080/x"}), "write https://localhost:8080/x"),
        (json!({"url": "ftp://x.org/"}), "has the scheme ftp; only http and https"),
        (json!({"url": "file:///etc/passwd"}), "/etc/passwd does not exist"),
        (json!({"url": "not a url"}), "write it like https://example.org/page"),
        (json!({"url": URL, "format": "pdf"}), "format \"pdf\" is unknown; use markdown, text or html."),
        (json!({"url": URL, "wait_ms": 30001}), "wait_ms must be between 0 and 30000, but was 30001."),
        (json!({"url": format!("{URL}#page=0")}), "must be a number from 1"),
        (json!({"url": format!("{URL}#page=x")}), "must be a number from 1"),
    ];
    for (arguments, wanted) in cases {
        let got = Fake::html("<p>x").refused(&arguments);
        assert!(got.contains(wanted), "{arguments}: {got}");
    }
}

#[test]
fn the_request_is_cached_and_prefers_markdown_and_has_no_fragment() {
    let mut web = Fake::html(&article(""));
    web.call(&json!({"url": format!("{URL}?q=1#part")})).expect("a page");
    let request = &web.requests[0];
    assert_eq!(request.url, format!("{URL}?q=1"));
    assert!(request.cached);
    assert!(request.headers[0].1.starts_with("text/markdown, text/html;q=0.9"));
    assert!(web.renders.is_empty());
    assert!(web.reports[0].starts_with("Fetching"));
}

#[test]
fn an_article_has_its_title_author_date_and_address_on_top() {
    let output = Fake::html(&article("")).at("https://example.org/moved").read();
    let top = "# The title\n\nBy Jane Doe · 2024-05-06 · <https://example.org/moved>\n\nThis is a sentence";
    assert!(output.text.starts_with(top), "{}", output.text);
    assert!(!output.text.contains("Home") && !output.text.contains("Imprint"));
    let data = data(&output);
    assert_eq!(data["title"], "The title");
    assert_eq!(data["byline"], "Jane Doe");
    assert_eq!(data["published"], "2024-05-06");
    assert_eq!(data["url"], URL);
    assert_eq!(data["final_url"], "https://example.org/moved");
    assert_eq!((&data["page"], &data["pages"], &data["status"]), (&json!(1), &json!(1), &json!(200)));
    assert_eq!((&data["rendered"], &data["format"]), (&json!(false), &json!("markdown")));
}

#[test]
fn code_keeps_its_language_and_lines() {
    let cases = [
        ("<pre><code class='language-rust'>fn x() {}\n  y</code></pre>", "```rust\nfn x() {}\n  y\n```"),
        (
            "<div class='highlight-python notranslate'><div class=highlight><pre>def f():\n    pass</pre></div></div>",
            "```python\ndef f():\n    pass\n```",
        ),
        ("<div class='highlight highlight-source-js'><pre>let a;</pre></div>", "```js\nlet a;\n```"),
        ("<pre class='brush: js; ruler: true'>a<br><br>b</pre>", "```js\na\n\nb\n```"),
        ("<pre class='sourceCode haskell'><code>x</code></pre>", "```haskell\nx\n```"),
        ("<pre><code><div class=line>a</div><div class=line>b</div></code></pre>", "```\na\nb\n```"),
        ("<pre>x\n```\ny</pre>", "````\nx\n```\ny\n````"),
        ("<p>a <code>b`c</code></p>", "a ``b`c``"),
    ];
    for (html, wanted) in cases {
        assert!(content(html).contains(wanted), "{html}: {}", content(html));
    }
}

#[test]
fn tables_keep_every_cell_in_its_column() {
    let spanning = "<table><thead><tr><th>A</th><th align=right>B</th><th>C</th></tr></thead><tbody>\
        <tr><td colspan=2>wide</td><td>x|y</td></tr><tr><td rowspan=2>tall</td><td>1</td><td><code>a|b</code></td></tr>\
        <tr><td>2</td><td><p>one</p><ul><li>two</ul></td></tr></tbody></table>";
    let wanted = "| A | B | C |\n| --- | ---: | --- |\n| wide |  | x\\|y |\n| tall | 1 | `a\\|b` |\n|  | 2 | one<br>• two |";
    assert!(content(spanning).contains(wanted), "{}", content(spanning));
    let headless = "<table><tr><td>1, and</td><td>2</td></tr><tr><td>3, or</td><td>4</td></tr></table>";
    assert!(
        content(headless).contains("|  |  |\n| --- | --- |\n| 1, and | 2 |\n| 3, or | 4 |"),
        "{}",
        content(headless)
    );
}

#[test]
fn lists_nest_and_know_tasks_and_terms() {
    let cases = [
        ("<ul><li>a, b<ol start=3><li>c<li>d</ol><li>e</ul>", "- a, b\n  3. c\n  4. d\n- e"),
        (
            "<ul><li><input type=checkbox checked> done<li><input type=checkbox> to do</ul>",
            "- [x] done\n- [ ] to do",
        ),
        (
            "<dl><dt>Term<dd>What it is<dt>Other<dd><p>One</p><p>Two</p></dl>",
            "- **Term**: What it is\n- **Other**\n\n  One\n\n  Two",
        ),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b"),
    ];
    for (html, wanted) in cases {
        assert!(content(html).contains(wanted), "{html}: {}", content(html));
    }
}

#[test]
fn formulas_are_kept_as_tex_and_only_once() {
    let mathml = "<math><semantics><mrow><mi>x</mi></mrow><annotation encoding='application/x-tex'>x_1</annotation></semantics></math>";
    let katex = format!(
        "<span class=katex><span class=katex-mathml>{mathml}</span><span class=katex-html aria-hidden=true>x1</span></span>"
    );
    let cases = [
        (format!("<p>Let {mathml} be.</p>"), "Let $x_1$ be."),
        (format!("<p>Let {katex} be.</p>"), "Let $x_1$ be."),
        (format!("<span class=katex-display>{katex}</span>"), "$$\nx_1\n$$"),
        ("<p>Let <script type='math/tex'>a*b</script> be.</p>".to_owned(), "Let $a*b$ be."),
        ("<script type='math/tex; mode=display'>\\sum</script>".to_owned(), "$$\n\\sum\n$$"),
        ("<p>Let <math alttext='y^2'><mi>y</mi></math> be.</p>".to_owned(), "Let $y^2$ be."),
        (
            "<p>Let <math><mfrac><mi>a</mi><msup><mi>b</mi><mn>2</mn></msup></mfrac></math> be.</p>"
                .to_owned(),
            "Let $\\frac{a}{b^2}$ be.",
        ),
    ];
    for (html, wanted) in cases {
        let got = content(&html);
        assert!(got.contains(wanted) && !got.contains("x1"), "{html}: {got}");
    }
}

#[test]
fn footnotes_are_footnotes() {
    let html = "<p>Said<sup id=r1><a href='#fn1'>1</a></sup> so.</p><ol class=footnotes><li id=fn1><p>The note, with text. <a href='#r1'>↩</a></p></li></ol>";
    let got = content(html);
    assert!(got.contains("Said[^1] so.") && got.contains("[^1]: The note, with text."), "{got}");
    assert!(!got.contains('↩'));
}

#[test]
fn what_else_means_something_is_kept() {
    let cases = [
        ("<p><a href='../x y'>there</a></p>", "[there](https://example.org/x%20y)"),
        ("<p>x <img src=i.png alt='A dog' title=T></p>", "![A dog](https://example.org/docs/i.png \"T\")"),
        (
            "<p>Press <kbd>Ctrl</kbd>, E=mc<sup>2</sup>, H<sub>2</sub>O, <del>gone</del></p>",
            "Press <kbd>Ctrl</kbd>, E=mc<sup>2</sup>, H<sub>2</sub>O, ~~gone~~",
        ),
        ("<details><summary>More</summary><p>Within, here.</p></details>", "**More**\n\nWithin, here."),
        ("<p>a<b>&quot;b&quot;</b>c and <i>x</i><i>y</i></p>", "a<strong>\"b\"</strong>c and *x*<em>y</em>"),
        ("<blockquote><p>a, b</p><blockquote>c</blockquote></blockquote>", "> a, b\n>\n> > c"),
        ("<h2>Part <a href='#part'>#</a></h2><p>x, y</p>", "## Part\n"),
    ];
    for (html, wanted) in cases {
        assert!(content(html).contains(wanted), "{html}: {}", content(html));
    }
}

#[test]
fn documentation_is_taken_by_its_landmark() {
    let page = "<html><head><title>Vec - Rust</title><meta name=generator content=rustdoc></head><body><nav>Crates</nav>\
        <main><section id=main-content><h1>Struct Vec</h1><a href=src.html>Source</a><table><tr><th>a<th>b<tr><td>1<td>2</table>\
        <ul><li><a href=a.html>one of many</a><li><a href=b.html>another link of the list</a></ul><p>Few words of text stand here, more than twenty with all the rest of it, for a section must have some.</section></main></body></html>";
    let output = Fake::html(page).read();
    assert!(
        output.text.starts_with("# Struct Vec\n\n<https://example.org/docs/page>\n\n[Source]"),
        "{}",
        output.text
    );
    assert!(output.text.contains("| a | b |") && output.text.contains("[another link of the list]"));
    assert!(!output.text.contains("Crates"));
}

#[test]
fn text_is_the_same_without_markup_and_html_without_looks() {
    let page = article(
        "<h2 class=x>Part</h2><p style='color:red'>a <b>bold</b> <a href=/l onclick=evil()>link</a></p><pre><code class=language-c>int x;</code></pre><script>evil()</script>",
    );
    let text = Fake::html(&page).call(&asked("text")).expect("text").text;
    assert!(
        text.starts_with("The title\n\nBy Jane Doe · 2024-05-06 · https://example.org/docs/page\n\n"),
        "{text}"
    );
    assert!(text.contains("Part\n\na bold link\n\nint x;\n"), "{text}");
    let pictures = article(
        "<p><a href=/l><img src=a.png alt='On its own line'></a></p><p>In a line <img src=b.png alt='of words'></p><div><img src=c.png alt='before a block'><p>A block.</p></div><ul><li><a href=/g><img src=g.png alt=gallery></a></ul><table><tr><th>OS<th>Runs<tr><td>Linux<td><img src=d.png alt=yes></table>",
    );
    let pictures = Fake::html(&pictures).call(&asked("text")).expect("text").text;
    assert!(pictures.contains("In a line of words\n\nA block.") && pictures.contains("yes"), "{pictures}");
    for alone in ["own line", "before", "gallery", "\n-"] {
        assert!(!pictures.contains(alone), "{alone}: {pictures}");
    }
    let html = Fake::html(&page).call(&asked("html")).expect("html").text;
    assert!(html.starts_with("<h1>The title</h1>\n<p>By Jane Doe"), "{html}");
    assert!(html.contains("<p>a <b>bold</b> <a href=\"https://example.org/l\">link</a></p>"), "{html}");
    assert!(html.contains("<pre class=\"language-c\">"), "{html}");
    assert!(!html.contains("evil") && !html.contains("color"));
}

const SHELL: &str = "<html><head><title>App</title></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div><script src=/app.js></script></body></html>";

#[test]
fn a_frame_for_scripts_is_opened_in_the_browser() {
    let mut web = Fake::html(SHELL).with_browser(&article(""));
    let output = web.call(&json!({"url": format!("{URL}#/guide")})).expect("a page");
    assert_eq!(web.renders, [(format!("{URL}#/guide"), 500)]);
    assert!(output.text.contains("This is a sentence"));
    let data = data(&output);
    assert_eq!((&data["rendered"], &data["notes"]), (&json!(true), &json!(["Two requests were refused."])));
}

#[test]
fn a_frame_whose_scripts_are_only_announced_is_one() {
    let frame = "<html><head><link rel=modulepreload href=/app.js></head><body><div class=loading></div></body></html>";
    let mut web = Fake::html(frame).with_browser(&article(""));
    assert!(web.read().text.contains("This is a sentence"));
    assert_eq!(web.renders.len(), 1);
}

#[test]
fn a_page_that_is_in_noscript_is_no_frame() {
    let posts = "This is a post of the topic, with commas, and long enough to count as text. ".repeat(8);
    let page = format!(
        "<html><head><title>Topic</title></head><body><noscript><div class=topic-body><p>{posts}</p></div>\
         <p>Best viewed with JavaScript enabled.</p></noscript><div id=root></div><script src=/app.js></script></body></html>"
    );
    let mut web = Fake::html(&page).with_browser(&article(""));
    let output = web.read();
    assert!(web.renders.is_empty() && output.text.contains("This is a post"), "{}", output.text);
    // Markup in a `noscript` that is not read does not count as text.
    let tracked =
        content("<noscript><img src=pixel.gif></noscript><p>More words of the article, with commas.</p>");
    assert!(!tracked.contains("pixel") && tracked.contains("More words"), "{tracked}");
}

#[test]
fn wait_ms_asks_for_the_browser() {
    let mut web = Fake::html(&article("<p>This paragraph is static.</p>"))
        .with_browser(&article("<p>This paragraph is dynamic.</p>"));
    let output = web.call(&json!({"url": URL, "wait_ms": 0})).expect("a page");
    assert_eq!(web.renders, [(URL.to_owned(), 0)]);
    assert!(output.text.contains("dynamic"));
}

#[test]
fn without_a_browser_there_is_the_static_page_with_a_note_or_an_error_that_says_why() {
    let output = Fake::html(&article("")).call(&json!({"url": URL, "wait_ms": 9})).expect("a page");
    assert!(output.text.contains("This is a sentence"));
    assert!(data(&output)["notes"][0].as_str().is_some_and(|note| note.contains(NO_BROWSER)));
    let refused = Fake::html(SHELL).refused(&json!({"url": URL}));
    assert!(refused.contains(NO_BROWSER) && refused.contains("until its scripts run"), "{refused}");
    let mut web = Fake::html(SHELL);
    web.rendered = Err(WebError::Cancelled);
    assert_eq!(web.call(&json!({"url": URL})), Err(Failure::Cancelled));
}

#[test]
fn other_types_are_read_as_what_they_are() {
    let cases = [
        ("text/markdown", "# Title\n\n*as* it is", "# Title\n\n*as* it is"),
        ("application/json", "{\"a\":[1,2]}", "```json\n{\n  \"a\": [\n    1,\n    2\n  ]\n}\n```"),
        ("text/plain", "<b>plain</b> *text*", "<b>plain</b> *text*"),
        ("text/csv", "a,b\n1,2", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("application/xml", "<a><b/></a>", "<a><b/></a>"),
        ("", "<!doctype html><p>Hello</p>", "<https://example.org/docs/page>\n\nHello"),
    ];
    for (kind, body, wanted) in cases {
        assert_eq!(Fake::new(kind, body).read().text, wanted, "{kind}");
    }
    let broken = Fake::new("application/json", "{a:1}").read();
    assert!(broken.text.starts_with("{a:1}\n\nNote: ") && broken.text.contains("not valid"));
    assert_eq!(data(&Fake::new("text/markdown", "x\n# The # title\n").read())["title"], "The # title");
    let html = Fake::new("text/plain", "a<b").call(&asked("html")).expect("html");
    assert_eq!(html.text, "<pre>a&lt;b</pre>");
}

#[test]
fn text_is_decoded_by_header_or_declaration() {
    let page = |head: &str| {
        let mut bytes = format!("<html><head>{head}<title>x</title></head><body><p>").into_bytes();
        bytes.extend(b"\xec\xe8\xf0 caf\xe9</p></body></html>");
        bytes
    };
    let by_header = Fake::new("text/html; charset=windows-1251", page("")).read().text;
    let by_meta = Fake::new("text/html", page("<meta charset=windows-1251>")).read().text;
    assert!(by_header.contains("мир") && by_meta.contains("мир"), "{by_header} {by_meta}");
}

#[test]
fn what_cannot_be_read_says_what_it_is() {
    let cases: [(&str, &[u8], &str); 4] = [
        ("image/png", b"\x89PNG\r\n\x1a\n", "an image (image/png), which cannot be read as text"),
        ("application/octet-stream", b"\xff\xd8\xff\xe0", "an image (image/jpeg)"),
        ("application/zip", b"PK\x03\x04", "a binary file (application/zip)"),
        ("application/pdf", b"%PDF-1.7 nothing", "The PDF is damaged"),
    ];
    for (kind, body, wanted) in cases {
        let got = Fake::new(kind, body).refused(&json!({"url": URL}));
        assert!(got.contains(wanted), "{kind}: {got}");
    }
    let image = Fake::new("image/png", "x").refused(&json!({"url": URL}));
    assert!(image.contains("ReadImage is for files"));
    let mut of_client = Fake { prefix: "my-", ..Fake::new("image/png", "ReadImage") };
    let image = of_client.refused(&json!({"url": URL}));
    assert!(image.contains("open that with my-ReadImage: my-ReadImage is for files"), "{image}");
}

#[test]
fn a_refusing_status_stands_first_and_without_text_is_an_error() {
    let output = Fake::html("<h1>Sorry</h1><p>No such page</p>").status(404).read();
    assert!(output.text.starts_with("HTTP 404 Not Found\n\n"), "{}", output.text);
    assert!(output.text.contains("No such page"));
    assert_eq!(data(&output)["status"], 404);
    let empty = Fake::html("").status(503).refused(&json!({"url": URL}));
    assert!(empty.contains("HTTP 503 Service Unavailable"), "{empty}");
    assert!(Fake::html("").refused(&json!({"url": URL})).contains("nothing to read"));
}

#[test]
fn errors_of_the_web_come_through() {
    let moved =
        Fake::failing(WebError::Moved("https://other.org/x".to_owned())).refused(&json!({"url": URL}));
    assert!(moved.contains(
        "redirects to another host: https://other.org/x. Call ReadDocs again with url \"https://other.org/x\""
    ));
    let denied = WebError::Denied("policy.toml, [web] deny: example.org.".to_owned());
    assert_eq!(
        Fake::failing(denied).call(&json!({"url": URL})),
        Err(Failure::Denied("policy.toml, [web] deny: example.org.".to_owned()))
    );
    assert_eq!(Fake::failing(WebError::Cancelled).call(&json!({"url": URL})), Err(Failure::Cancelled));
    assert!(
        Fake::failing(WebError::TooLarge(10)).refused(&json!({"url": URL})).contains("more than 10 bytes")
    );
}

#[test]
fn long_pages_are_cut_and_say_how_to_read_on() {
    let paragraph = format!("{}\n\n", "word ".repeat(20).trim_end());
    let text = paragraph.repeat(2500);
    let mut web = Fake::new("text/markdown", text.clone());
    let first = web.call(&json!({"url": format!("{URL}#part")})).expect("page 1");
    let count = data(&first)["pages"].as_u64().expect("a number");
    let total = "252,500";
    let position = format!("Page 1 of {count} (of {total} characters). Go on with {URL}#part#page=2");
    assert!(count > 14 && first.text.ends_with(&position), "{}", &first.text[first.text.len() - 200..]);
    assert_eq!(data(&first)["total_characters"], json!(252_500));
    let mut page = |number: u64| web.call(&json!({"url": format!("{URL}#page={number}")})).expect("a page");
    let last = page(count);
    let position = format!("Page {count} of {count} (of {total} characters). This is the last page.");
    assert!(last.text.ends_with(&position));
    let pages: Vec<_> = (1..=count).map(|number| page(number).text).collect();
    assert!(pages.iter().all(|page| page.chars().count() <= ROOM));
    assert_eq!(pages.iter().map(|page| page.matches("word").count()).sum::<usize>(), 2500 * 20);
    // A long URL leaves less room for the page.
    let long = web.call(&json!({"url": format!("{URL}#{}", "x".repeat(8000))})).expect("page 1");
    assert!(long.text.contains("Go on with") && long.text.chars().count() <= ROOM, "{}", long.text.len());
    let refused = web.refused(&json!({"url": format!("{URL}#page={}", count + 1)}));
    assert!(refused.contains(&format!("has {count} pages")), "{refused}");
    assert!(web.requests.iter().all(|request| request.url == URL && request.cached));
}

#[test]
fn comments_of_code_are_no_headings() {
    let script = format!("# a step of the script\n{}\n", "true\n".repeat(200)).repeat(30);
    for format in ["markdown", "text", "html"] {
        let output = Fake::new("text/plain", script.clone()).call(&asked(format)).expect("a page");
        assert!(output.text.contains("\n\nPage 1 of "), "{format}");
        assert!(!output.text.contains("Outline:"), "{format}: {}", output.text);
    }
    let book = "# One\n\n".to_owned() + &"text\n\n".repeat(5000) + "# Two\n\ntext";
    let output = Fake::new("text/markdown", book).read();
    assert!(output.text.contains("\n\nOutline:\n- One (page 1)\n- Two (page "), "{}", output.text);
}

#[test]
fn the_first_of_several_pages_has_an_outline() {
    let chapter = |n: usize| format!("## Chapter {n}\n\n{}\n\n", "word ".repeat(2000).trim_end());
    let text: String = (1..=5).map(chapter).collect();
    let mut web = Fake::new("text/markdown", format!("# Book\n\n{text}"));
    let first = web.read().text;
    assert!(first.contains("\n\nOutline:\n- Book (page 1)\n  - Chapter 1 (page 1)\n"), "{first}");
    assert!(first.contains("  - Chapter 5 (page "), "{first}");
    let second = web.call(&json!({"url": format!("{URL}#page=2")})).expect("page 2").text;
    assert!(!second.contains("Outline:"), "{second}");
}

#[test]
fn pages_past_the_limits_are_read_in_part_with_a_note() {
    let long = format!("<p>{}</p>", "word ".repeat(1_200_000));
    let output = Fake::html(&long).read();
    assert!(
        data(&output)["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("only the first 5242880 were read"))
    );
    let deep = format!("<p>Before, with some words to see.</p>{}", "<div>".repeat(5000));
    let output = Fake::html(&deep).read();
    assert!(output.text.contains("Before, with some words"));
    assert!(
        data(&output)["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("more than 1000 elements within each other"))
    );
}

#[test]
fn a_pdf_gives_its_text() {
    let mut pdf = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n\
        5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj\n6 0 obj<</Title(A small file)>>endobj\n"
        .to_vec();
    let content = "BT /F 12 Tf 20 200 Td (Hello from) Tj 0 -14 Td [(a P)20(DF)-400(file.)] TJ 0 -40 Td (Caf\\351) Tj ET";
    pdf.extend(format!("4 0 obj<</Length {}>>stream\n{content}\nendstream endobj\ntrailer<</Root 1 0 R/Info 6 0 R>>\n%%EOF", content.len()).into_bytes());
    let output = Fake::new("application/pdf", pdf).read();
    assert_eq!(output.text, "Hello from a PDF file.\n\nCafé");
    assert_eq!(data(&output)["content_type"], "application/pdf");
}
