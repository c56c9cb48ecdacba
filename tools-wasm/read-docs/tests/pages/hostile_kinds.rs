//! Hostile files of kinds other than HTML: each call ends soon with a result or an error.

use std::time::Duration;

use crate::fake::Fake;
use crate::word::{WORD, archive, word};
use scorpiox_processor_time::Stopwatch;
use serde_json::json;

const MIB: usize = 1024 * 1024;
/// Maximum processor time of a call with little optimization. Quadratic work takes minutes.
const LIMIT: Duration = Duration::from_secs(20);

fn repeated(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

/// Runs in a stack of a guest's size, so that excessive recursion is detected.
fn survives(name: &'static str, content_type: &'static str, body: impl Into<Vec<u8>>) {
    let body = body.into();
    let run = move || {
        for format in ["markdown", "text", "html"] {
            let stopwatch = Stopwatch::start();
            let result = Fake::new(content_type, body.clone())
                .call(&json!({"url": "https://example.org/x", "format": format}));
            let length = result.map_or(0, |output| output.text.chars().count());
            assert!(length <= 110_000, "{name}: a page of {length} characters");
            let took = stopwatch.elapsed();
            assert!(took < LIMIT, "{name} as {format} took {took:?}");
        }
    };
    // Stack frames without optimization are several times as large as those of a guest, which has 1 MiB.
    let thread = std::thread::Builder::new().stack_size(4 * MIB).spawn(run).expect("a thread");
    assert!(thread.join().is_ok(), "{name} failed");
}

fn refused(content_type: &str, body: impl Into<Vec<u8>>) -> String {
    Fake::new(content_type, body).refused(&json!({"url": "https://example.org/x"}))
}

#[test]
fn feeds() {
    let feed = |inside: String| format!("<rss><channel><title>t</title>{inside}");
    survives(
        "entries",
        "text/xml",
        feed(repeated("<item><title>x</title><description>a &lt;b>b&lt;/b></description></item>", 10 * MIB)),
    );
    survives(
        "a long entry",
        "text/xml",
        feed(format!("<item><description><![CDATA[{}", repeated("<p>text <b>bold</b></p>", 10 * MIB))),
    );
    survives("depth", "text/xml", feed(repeated("<a>", 10 * MIB)));
    survives(
        "depth in a text",
        "text/xml",
        feed(format!("<item><description>{}", repeated("<a>", 10 * MIB))),
    );
    survives(
        "names",
        "text/xml",
        feed((0..400_000).fold(String::new(), |text, n| text + &format!("<a xmlns:n{n}='u{n}'>"))),
    );
    let attributes = (0..500_000).fold(String::new(), |text, n| text + &format!(" a{n}='v'"));
    survives("attributes", "text/xml", feed(format!("<item{attributes}><link{attributes}/></item>")));
    survives(
        "references",
        "text/xml",
        feed(format!("<item><title>{}", repeated("&nbsp;&#65;&x;&", 10 * MIB))),
    );
    survives(
        "links",
        "text/xml",
        feed(format!("<item>{}", repeated("<link>/</link><enclosure url='/x'/>", 10 * MIB))),
    );
    survives("ends", "text/xml", feed(repeated("</a>", 10 * MIB)));
    let base = format!("https://example.org/{}/", "x".repeat(8000));
    let entry = format!("<item><description>{}</description></item>", "&lt;a href='y'>z&lt;/a>".repeat(100));
    survives(
        "a long base",
        "text/xml",
        format!("<rss xml:base='{base}'><channel>{}", repeated(&entry, 5 * MIB)),
    );
    survives("a prolog", "text/html", format!("{}<rss>", repeated("<!-- -->", 10 * MIB)));
}

#[test]
fn json_and_notebooks() {
    let notebook = |cells: String| format!("{{\"nbformat\":4,\"cells\":[{cells}]}}");
    let cell = "{\"cell_type\":\"code\",\"source\":\"x\",\"outputs\":[{\"output_type\":\"stream\",\"text\":\"y\"}]},";
    survives("cells", "application/json", notebook(repeated(cell, 10 * MIB) + "{}"));
    let markdown = repeated("*a* [b](c) `d` ![e](data:image/png;base64,AAAA) \\n", 10 * MIB);
    survives(
        "a markdown cell",
        "application/json",
        notebook(format!("{{\"cell_type\":\"markdown\",\"source\":\"{markdown}\"}}")),
    );
    for piece in ["[", "*_", "> ", "`", "- ", "<a>", "![", "|"] {
        let text = repeated(piece, MIB);
        survives(
            "markdown",
            "application/json",
            notebook(format!("{{\"cell_type\":\"markdown\",\"source\":\"{text}\"}}")),
        );
    }
    let picture = "A".repeat(10 * MIB);
    survives(
        "a picture",
        "application/json",
        notebook(format!(
            "{{\"cell_type\":\"code\",\"source\":\"\",\"outputs\":[{{\"output_type\":\"display_data\",\"data\":{{\"image/png\":\"{picture}\"}}}}]}}"
        )),
    );
    let colours = repeated("\\u001b[31mx\\u001b[0m\\r\\b", 10 * MIB);
    survives(
        "colours",
        "application/json",
        notebook(format!(
            "{{\"cell_type\":\"code\",\"outputs\":[{{\"output_type\":\"stream\",\"text\":\"{colours}\"}}]}}"
        )),
    );
    survives(
        "members",
        "application/json",
        format!(
            "{{{}\"z\":1}}",
            (0..500_000).fold(String::new(), |text, n| text + &format!("\"k{n}\":{{}},"))
        ),
    );
    survives("numbers", "application/json", format!("[{}1]", repeated("1,", 10 * MIB)));
}

#[test]
fn files_of_markdown() {
    for piece in [
        "![",
        "[a](b)",
        "[a](<b",
        "[x]: b\n",
        "[a][x]\n\n[x]: y\n",
        "[a](b \"",
        "![a](b",
        "`](x)",
        "> [a](b)\n",
        "|[a](b)|\n|-|\n",
    ] {
        survives("links", "text/markdown", repeated(piece, MIB));
    }
    survives("nested", "text/markdown", repeated("![", MIB / 2) + &repeated("](a)", MIB / 2 - 8));
}

#[test]
fn descriptions_of_interfaces() {
    let described = |inside: &str| format!("{{\"openapi\":\"3.0.0\",\"info\":{{\"title\":\"t\"}},{inside}}}");
    let operations = (0..40_000).fold(String::new(), |text, n| {
        text + &format!("\"/p{n}\":{{\"get\":{{\"description\":\"*a* `b`\",\"parameters\":[{{\"$ref\":\"#/components/parameters/p\"}},{{\"name\":\"q\",\"in\":\"query\",\"schema\":{{\"type\":\"string\"}}}}],\"responses\":{{\"200\":{{\"description\":\"ok\"}}}}}}}},")
    });
    survives("operations", "application/json", described(&format!("\"paths\":{{{operations}\"/\":{{}}}}")));
    let nested = format!("{}{{}}{}", "{\"type\":\"array\",\"items\":".repeat(50), "}".repeat(50));
    let fields = (0..2000).fold(String::new(), |text, n| text + &format!("\"f{n}\":{nested},"));
    survives(
        "schemas",
        "application/json",
        described(&format!(
            "\"components\":{{\"schemas\":{{\"A\":{{\"properties\":{{{fields}\"z\":{{}}}}}}}}}}"
        )),
    );
    survives(
        "circles",
        "application/json",
        described(
            "\"components\":{\"parameters\":{\"a\":{\"$ref\":\"#/components/parameters/a\"}},\"schemas\":{\"A\":{\"allOf\":[{\"$ref\":\"#/components/schemas/A\"}]}}},\"paths\":{\"/\":{\"get\":{\"parameters\":[{\"$ref\":\"#/components/parameters/a\"}]}}}",
        ),
    );
    let choices =
        (0..3).fold("{}".to_owned(), |inner, _| format!("{{\"anyOf\":[{}]}}", vec![inner; 60].join(",")));
    survives(
        "choices",
        "application/json",
        described(&format!("\"components\":{{\"schemas\":{{\"A\":{choices}}}}}")),
    );
    survives(
        "parameters",
        "application/json",
        described(&format!(
            "\"paths\":{{\"/\":{{\"get\":{{\"parameters\":[{}1]}}}}}}",
            repeated("{\"name\":\"a\",\"in\":\"query\"},", 10 * MIB)
        )),
    );
    for (name, inside) in [
        ("flow", repeated("[", 10 * MIB)),
        ("yaml", repeated("- a: b\n", 10 * MIB)),
        ("indented", (0..3000).fold(String::new(), |text, n| text + &" ".repeat(n) + "a:\n")),
        ("anchors", format!("a: &a [x]\nb: [{}]", repeated("*a,", 10 * MIB))),
        ("quotes", repeated("\"", 10 * MIB)),
        ("block", format!("a: |\n{}", repeated("  text\n", 10 * MIB))),
        ("keys", repeated("? a\n", 10 * MIB)),
        ("colons", repeated(": ", 10 * MIB)),
    ] {
        survives(name, "application/yaml", format!("openapi: 3.0.0\n{inside}"));
    }
}

#[test]
fn tables() {
    survives("rows", "text/csv", repeated("abc,\"d, e\",1.5,*f*\n", 10 * MIB));
    survives("columns", "text/csv", repeated("a,", 10 * MIB));
    survives("empty", "text/csv", repeated(",\n", 10 * MIB));
    survives("quotes", "text/csv", format!("a,b\n{}", repeated("\"", 10 * MIB)));
    survives("open quotes", "text/csv", format!("a,b\n1,\"{}", repeated("x,y\n", 10 * MIB)));
    survives("one line", "text/csv", format!("a,{}", repeated("x y", 10 * MIB)));
    survives("marks", "text/csv", format!("a,b\n{}", repeated("|`*_[<&\\,![x\n", 10 * MIB)));
    survives("spaces", "text/csv", format!("a,b\n{}", repeated(" ", 10 * MIB)));
    survives("ragged", "text/csv", format!("{}\n{}", "a,".repeat(400), repeated("b\n", 5 * MIB)));
}

#[test]
fn json_feeds() {
    let feed =
        |items: String| format!("{{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{items}1]}}");
    survives("numbers for entries", "application/feed+json", feed(repeated("1,", 10 * MIB)));
    survives("empty entries", "application/feed+json", feed(repeated("{},", 10 * MIB)));
    survives("nested lists", "application/feed+json", feed(repeated("[", 10 * MIB)));
}

#[test]
fn equations_of_word() {
    let long = format!("<m:r><m:t>{}</m:t></m:r>", "x".repeat(5 * MIB));
    let text = format!("<w:p><m:oMath>{long}{}</m:oMath>", "<m:r><m:t>x</m:t></m:r>".repeat(9000));
    survives("a long run and many others", WORD, word(&text));
    survives(
        "depth of an equation",
        WORD,
        word(&format!("<w:p><m:oMath>{}", repeated("<m:f><m:num>", 10 * MIB))),
    );
    survives(
        "a long equation",
        WORD,
        word(&format!("<w:p><m:oMath>{}", repeated("<m:r><m:t>x</m:t></m:r>", 10 * MIB))),
    );
    survives(
        "equations",
        WORD,
        word(&format!("<w:p>{}", repeated("<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>", 10 * MIB))),
    );
}

#[test]
fn documents_of_word() {
    survives(
        "paragraphs",
        WORD,
        word(&repeated("<w:p><w:r><w:t>text of a paragraph</w:t></w:r></w:p>", 10 * MIB)),
    );
    survives(
        "marks",
        WORD,
        word(&repeated(
            "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:t>b</w:t></w:r></w:p>",
            10 * MIB,
        )),
    );
    survives(
        "runs",
        WORD,
        word(&format!(
            "<w:p>{}",
            repeated("<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:br/></w:r>", 10 * MIB)
        )),
    );
    survives("depth", WORD, word(&repeated("<w:p>", 10 * MIB)));
    survives(
        "tables in tables",
        WORD,
        word(&repeated("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p>", 10 * MIB)),
    );
    survives("boxes", WORD, word(&repeated("<w:p><w:r><w:txbxContent>", 10 * MIB)));
    survives(
        "rows",
        WORD,
        word(&format!(
            "<w:tbl>{}",
            repeated(
                "<w:tr><w:tc><w:tcPr><w:vMerge/><w:gridSpan w:val='99999999999'/></w:tcPr><w:p/></w:tc></w:tr>",
                10 * MIB
            )
        )),
    );
    survives(
        "items",
        WORD,
        word(&repeated(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val='7'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>",
            10 * MIB,
        )),
    );
    survives(
        "fields",
        WORD,
        word(&format!(
            "<w:p>{}",
            repeated(
                "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText>HYPERLINK \"</w:instrText></w:r>",
                10 * MIB
            )
        )),
    );
    survives(
        "notes",
        WORD,
        word(&format!("<w:p>{}", repeated("<w:r><w:footnoteReference w:id='1'/></w:r>", 10 * MIB))),
    );
    let styles = (0..100_000).fold(String::new(), |text, n| {
        text + &format!("<w:style w:styleId='s{n}'><w:basedOn w:val='s{}'/></w:style>", (n + 1) % 100_000)
    });
    survives(
        "styles",
        WORD,
        archive(&[
            ("word/document.xml", b"<d><p><pPr><pStyle val='s1'/></pPr><r><t>x</t></r></p></d>"),
            ("word/styles.xml", format!("<s>{styles}</s>").as_bytes()),
        ]),
    );
    // Two hundred megabytes, compressed to two hundred kilobytes.
    let bomb = word(&format!("<w:p><w:r><w:t>{}", "x".repeat(200 * MIB)));
    assert!(bomb.len() < 3 * MIB);
    survives("bomb", WORD, bomb.clone());
    let read = Fake::new(WORD, bomb).read().text;
    assert!(
        read.contains("Note: The document is very large; of its part word/document.xml only"),
        "{}",
        &read[read.len() - 500..]
    );
    let many: Vec<_> = (0..60_000).map(|n| format!("x/{n}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    survives("entries", WORD, archive(&many));
}

#[test]
fn documents_of_word_that_cannot_be_read_say_why() {
    let encrypted = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[0; 600]].concat();
    assert!(
        refused(WORD, encrypted).contains("protected by a password, or of a version of Word before 2007")
    );
    assert!(
        refused(WORD, "PK\x03\x04 and nothing")
            .contains("The document is damaged: as an archive it cannot be read")
    );
    assert!(refused(WORD, archive(&[("a.txt", b"x")])).contains("it has no part word/document.xml"));
    let whole = word("<w:p><w:r><w:t>text</w:t></w:r></w:p>");
    let mut locked = whole.clone();
    let central = locked.windows(4).position(|bytes| bytes == b"PK\x01\x02").expect("a directory");
    locked[central + 8] |= 1;
    assert!(refused(WORD, locked).contains("The document is encrypted"));
    let mut method = whole.clone();
    method[central + 10] = 99;
    assert!(refused(WORD, method).contains("packed in a way that is not known"));
    // Wrong sizes in the archive are not trusted.
    let mut lying = whole.clone();
    lying[central + 24..central + 28].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(Fake::new(WORD, lying).read().text, "text");
    let cut = archive(&[("word/document.xml", b"<d><p><r><t>text</t></r></p><p><r><t>mo")]);
    let text = Fake::new(WORD, cut).read().text;
    assert_eq!(text, "text\n\nmo\n\nNote: The document ends early; what is there was read.");
    // Every single byte is damaged in turn.
    for at in 0..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        let _ = Fake::new(WORD, broken).call(&json!({"url": "https://example.org/x"}));
        let _ = Fake::new(WORD, &whole[..at]).call(&json!({"url": "https://example.org/x"}));
    }
}

#[test]
fn encodings() {
    survives("metas", "text/html", repeated("<meta a=b ", 10 * MIB));
    survives("attributes of a meta", "text/html", format!("<meta {}", repeated("a ", 10 * MIB)));
    survives("broken text", "text/plain", vec![0xff; 10 * MIB]);
    survives("broken pairs", "text/plain; charset=utf-16", vec![0xd8; 10 * MIB + 1]);
    survives("escapes", "text/plain", vec![0x1b; 10 * MIB]);
}
