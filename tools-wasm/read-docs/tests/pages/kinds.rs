//! Content other than HTML: files from other programs (`tests/files/make.py`), and small files of kinds that
//! these do not write.

use std::path::Path;

use crate::fake::{Fake, data};
use scorpiox_tool_kit::Output;
use serde_json::json;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(path).expect("a file of the tests")
}

fn read_as(content_type: &str, name: &str, format: &str) -> Output {
    let url = format!("https://example.com/files/{name}");
    Fake::new(content_type, file(name))
        .at(&url)
        .call(&json!({"url": url, "format": format}))
        .expect("a result")
}

fn markdown(content_type: &str, body: impl Into<Vec<u8>>) -> String {
    Fake::new(content_type, body).read().text
}

/// Asserts that the pieces occur in this order.
fn assert_in_order(text: &str, pieces: &[&str]) {
    let mut rest = text;
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else {
            panic!("no {piece:?} in its place in:\n{text}")
        };
        rest = after;
    }
}

#[test]
fn feeds_of_a_generator_are_their_entries() {
    for (content_type, name) in [
        ("application/rss+xml", "feedgen.rss"),
        ("text/html; charset=utf-8", "feedgen.rss"),
        ("application/atom+xml", "feedgen.atom"),
        ("text/xml", "feedgen.atom"),
        ("", "feedgen.atom"),
    ] {
        let output = read_as(content_type, name, "markdown");
        let pieces = [
            "# Lakes & rivers\n\n",
            "2 entries",
            "## How deep is x < y?\n\n",
            "May 2024",
            "By Ana Lake · <https://example.com/deep>",
            "#### Baikal\n\nIt is **1642 m** deep, says [someone](https://example.com/who).",
            "```python\ndepth = 1642\nprint(depth)\n```",
            "| Lake | Depth |\n| --- | --- |\n| Baikal | 1642 |",
            "## Ünd warm?\n\n",
            "Tom & Jerry swim; 3",
        ];
        assert_in_order(&output.text.replace("2024-05-06T", "May 2024"), &pieces);
        assert_eq!(data(&output)["title"], "Lakes & rivers", "{name}");
    }
    let rss = read_as("text/xml", "feedgen.rss", "markdown").text;
    assert_in_order(&rss, &["Water \\<on land>, measured", "Attached: <https://example.com/warm.mp3>"]);
    let text = read_as("text/xml", "feedgen.rss", "text").text;
    assert!(text.contains("It is 1642 m deep, says someone.") && !text.contains("##"), "{text}");
    let html = read_as("text/xml", "feedgen.rss", "html").text;
    assert_in_order(
        &html,
        &["<h1>Lakes &amp; rivers</h1>", "<h2>", "<h4>Baikal</h4>", "<b>1642 m</b>", "<table>"],
    );
}

#[test]
fn feeds_are_read_by_their_names_whatever_the_prefixes() {
    let atom = "<?xml version='1.0'?><x:feed xmlns:x='http://www.w3.org/2005/Atom' xml:base='https://example.net/a/'>\
        <x:title type='html'>T &amp;lt;b&amp;gt;</x:title><x:author><x:name>Ana</x:name></x:author>\
        <x:link rel='self' href='self'/><x:link href='.'/>\
        <x:entry xml:base='b/'><x:title>One</x:title><x:link rel='edit' href='e'/><x:link rel='alternate' href='one'/>\
        <title xmlns='urn:other'>no</title><x:updated>2024-01-02</x:updated>\
        <x:content type='xhtml'><h:div xmlns:h='http://www.w3.org/1999/xhtml'><h:p>See <h:a href='c'>this</h:a> &lt;x&gt;</h:p></h:div></x:content>\
        </x:entry></x:feed>";
    let text = markdown("text/xml", atom);
    let pieces = [
        "# T \\<b>",
        "By Ana · <https://example.net/a/>",
        "## One",
        "2024-01-02 · <https://example.net/a/b/one>",
        "See [this](https://example.net/a/b/c) \\<x>",
    ];
    assert_in_order(&text, &pieces);
    assert!(!text.contains("\nno"), "{text}");

    let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' xmlns:d='http://purl.org/dc/elements/1.1/'>\
        <channel><title>Old</title><link>https://example.com/</link><description>D</description></channel>\
        <item><title>First</title><link>/first</link><d:date>2003-04-05</d:date><d:creator>Ben</d:creator><description>&lt;p&gt;Text&lt;/p&gt;</description></item></rdf:RDF>";
    let pieces =
        ["# Old", "1 entry", "## First", "2003-04-05 · By Ben · <https://example.org/first>", "Text"];
    assert_in_order(&markdown("application/rdf+xml", rdf), &pieces);

    let undeclared = "<rss><channel><title>R</title><item><title><![CDATA[Vec<T> & x]]></title><guid>https://example.com/g</guid>\
        <dc:creator>Cy</dc:creator><description>short</description><content:encoded><![CDATA[<p>a&nbsp;b<br>long</p>]]></content:encoded></item></channel></rss>";
    let pieces = ["## Vec\\<T> & x", "By Cy · <https://example.com/g>", "a\u{a0}b", "long"];
    assert_in_order(&markdown("text/xml", undeclared), &pieces);
    assert!(!markdown("text/xml", undeclared).contains("short"));

    let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"J","home_page_url":"https://example.com/",
        "items":[{"id":"1","url":"https://example.com/1","title":"One","content_html":"<p>a <a href='x'>b</a></p>","authors":[{"name":"Di"}]},{"id":"2","content_text":"plain"}]}"#;
    let pieces =
        ["# J", "2 entries", "## One", "By Di", "a [b](https://example.org/docs/x)", "## Entry 2", "plain"];
    assert_in_order(&markdown("application/feed+json", json), &pieces);
}

#[test]
fn what_is_readable_of_a_broken_feed_is_read() {
    let cut = "<rss><channel><title>R</title><item><title>One</title><description>text</description></item><item><title>Tw";
    let text = markdown("text/xml", cut);
    assert_in_order(
        &text,
        &["## One", "text", "Note: The feed could be read only up to its entry 2: it ends there."],
    );
    // Entities are never expanded.
    let bomb = "<!DOCTYPE rss [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
        <rss><channel><title>&b;&f; R</title><item><title>x</title></item></channel></rss>";
    let text = markdown("text/xml", bomb);
    assert!(text.contains("## x") && !text.contains("aaaa") && !text.contains("root:"), "{text}");
    // This document is not a feed.
    assert_eq!(markdown("text/xml", "<a/>"), "<a/>");
}

#[test]
fn notebooks_are_text_code_and_what_it_gave() {
    for (name, types) in [
        ("nbformat4.ipynb", ["application/x-ipynb+json", "text/plain"]),
        ("nbformat3.ipynb", ["application/json", ""]),
    ] {
        for content_type in types {
            let output = read_as(content_type, name, "markdown");
            let pieces = [
                "# Depths\n\nText with `code`, a [link](https://example.com) and $x_1$.",
                "```python\ndepth = {'Baikal': 1642}\nprint(depth)\n```\n\nOutput:\n\n```\n{'Baikal': 1642}\n```",
                "Output:\n\n```\n     lake  depth\n0  Baikal   1642\n1    Como    425\n```",
                "Output:\n\n| a |\n| --- |\n| 1 \\| 2 |",
                "```bash\n%%bash\necho from the shell\n```",
                "Error:\n\n```\n",
                "ZeroDivisionError: division by zero\n```",
            ];
            assert_in_order(&output.text, &pieces);
            assert!(!output.text.contains('\u{1b}') && !output.text.contains("iVBOR"), "{}", output.text);
        }
    }
    let output = read_as("text/plain", "nbformat4.ipynb", "markdown");
    assert!(output.text.contains("Output: a picture (image/png), not shown."));
    assert_eq!(data(&output)["title"], "Depths");
    let html = read_as("text/plain", "nbformat4.ipynb", "html").text;
    assert_in_order(
        &html,
        &["<h1>Depths</h1>", "<code>code</code>", "<pre class=\"language-python\">", "<table>"],
    );
}

#[test]
fn a_notebook_may_lack_what_it_should_have() {
    let odd = r#"{"nbformat":4,"metadata":null,"cells":[{"cell_type":"markdown","source":["```py\n","x"]},
        {"cell_type":"code","source":5,"outputs":[{"output_type":"display_data","data":null},{"output_type":"stream","text":{"a":1}}]},
        {"cell_type":"code","source":"y = 1","outputs":[{"output_type":"error","ename":"E","evalue":"v","traceback":null}]}]}"#;
    let text = markdown("application/json", odd);
    assert!(text.starts_with("```py\nx\n```\n\n```python\ny = 1\n```\n\nError:\n\n```\nE: v\n```"), "{text}");
    let wrong = markdown("application/json", r#"{"nbformat":4,"cells":7}"#);
    assert!(wrong.starts_with("```json\n"), "{wrong}");
}

#[test]
fn descriptions_of_interfaces_are_outlines() {
    let output = read_as("application/json", "fastapi.json", "markdown");
    let pieces = [
        "# Lakes\n\nOpenAPI 3.1.0 · version 1.2.3\n\nAll lakes\n\nReads and writes *lakes*.\n\n- one\n- two",
        "- `https://api.example.com/v1`: Production",
        "- `HTTPBearer` (http, bearer)",
        "### GET /lakes\n\nList lakes\n\nGives lakes, the *deepest* first.",
        "- `limit` (query, integer, default 10): How many",
        "- `kind` (query, array of string or null)",
        "- `200`: Successful Response\n  - `application/json`: array of Lake-Output",
        "### PUT /lakes/{lake_id}",
        "**deprecated**",
        "authentication: HTTPBearer",
        "- `lake_id` (path, string, required): Its `name`",
        "Body (required)\n\n- `application/json`: Lake-Input",
        "### Lake-Output\n\nA body of water.",
        "- `name` (string, required): As people call it",
        "- `depth` (number or null): In **metres**",
        "- `kind` (string, one of \"fresh\", \"salt\", default \"fresh\")",
        "- `outflow` (Lake-Output or null)",
        "Note: This is an outline",
    ];
    assert_in_order(&output.text, &pieces);
    assert_eq!(data(&output)["title"], "Lakes");
    for content_type in ["text/plain", "application/vnd.oai.openapi", "application/yaml"] {
        let pieces = [
            "# Rivers\n\nSwagger 2.0 · version 0.9\n\nRivers, as *Swagger* has them.",
            "- `https://api.example.com/v2`",
            "### GET /rivers\n\nList rivers",
            "- `page` (query, integer): From 1",
            "- `200`: Some\n  - array of River",
            "### POST /rivers",
            "Body (required): River",
            "- `length` (integer (int64))\n- `into` (River)",
        ];
        assert_in_order(&read_as(content_type, "apispec.yaml", "markdown").text, &pieces);
    }
}

#[test]
fn other_json_has_its_shape_before_it_where_it_is_long() {
    let rows: Vec<_> = (0..500).map(|n| json!({"id": n, "name": "x"})).collect();
    let long = json!({"rows": rows, "total": 500}).to_string();
    let text = markdown("application/json", long.clone());
    assert!(text.starts_with("Shape of the document:\n\n```\nobject\n  rows: array of 500: object\n    id: number\n    name: string\n  total: number\n```\n\n```json\n{\n"), "{text}");
    // A file that is JSON only by its extension stays unchanged.
    let plain = Fake::new("text/plain", long.clone()).at("https://example.com/a.json").read().text;
    assert!(plain.starts_with(r#"{"rows":[{"id":0,"#), "{plain}");
    let yaml = markdown("application/yaml", "a: 1\nopenapi_like: no\n");
    assert_eq!(yaml, "a: 1\nopenapi_like: no");
}

#[test]
fn values_between_delimiters_are_tables() {
    let wanted = "| name | note, long | depth |\n| --- | --- | --- |\n| Baikal | says \"deep\"<br>and cold | 1642 |\n| a\\|b |  |  |";
    assert_eq!(read_as("text/csv", "csv-module.csv", "markdown").text, wanted);
    assert_eq!(read_as("text/plain", "csv-module.csv", "markdown").text, wanted);
    let wanted = "|  | lake | depth | at |\n| --- | --- | --- | --- |\n| 0 | Baikal | 1642,5 | Россия |\n| 1 | Genfersee | 310,0 | Léman |";
    assert_eq!(read_as("", "pandas-semicolon.csv", "markdown").text, wanted);
    let html = read_as("text/csv", "csv-module.csv", "html").text;
    assert_in_order(&html, &["<table>", "<th>note, long</th>", "<td>a|b</td>", "</table>"]);
    assert_eq!(
        read_as("text/csv", "csv-module.csv", "text").text,
        "name | note, long | depth\nBaikal | says \"deep\" and cold | 1642\na|b |  |"
    );

    let cases = [
        ("sep=|\na|b\n1|2", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("1,2\n3,4,5\n6", "|  |  |  |\n| --- | --- | --- |\n| 1 | 2 |\n| 3 | 4 | 5 |\n| 6 |"),
        ("one\ntwo", "one\ntwo"),
        ("a,*b*\nc_d,<e>\n", "| a | \\*b\\* |\n| --- | --- |\n| c_d | \\<e> |"),
    ];
    for (given, wanted) in cases {
        assert_eq!(markdown("text/csv", given), wanted, "{given}");
    }
    assert_eq!(
        markdown("text/tab-separated-values", "a\tb,c\n1\t2"),
        "| a | b,c |\n| --- | --- |\n| 1 | 2 |"
    );
    let open = format!("a,b\n1,\"2\n{}", "3,4\n".repeat(3000));
    let text = markdown("text/csv", open);
    assert!(
        text.contains("| 1 | \"2 |\n| 3 | 4 |") && text.contains("Note: A quote is never closed"),
        "{text}"
    );
}

#[test]
fn each_page_of_a_long_table_has_its_head() {
    let long = (0..3000).fold("name,number\n".to_owned(), |text, n| text + &format!("row {n},{n}\n"));
    let url = "https://example.com/x.csv#page=2";
    let page = Fake::new("text/csv", long).call(&json!({"url": url})).expect("a page").text;
    assert!(page.starts_with("| name | number |\n| --- | --- |\n| row "), "{page}");
}

#[test]
fn documents_of_word_keep_their_structure() {
    for content_type in
        ["", "application/zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"]
    {
        let output = read_as(content_type, "pandoc.docx", "markdown");
        let pieces = [
            "# On lakes",
            "# Part one\n\nA paragraph with *italic*, **bold**, ~~gone~~, `code` and a [link](https://example.com/a?b=1&c=2). It has a note.[^1] H<sub>2</sub>O and x<sup>2</sup>.",
            "- one\n- two\n  1. first\n  2. second\n- three",
            "## Part two\n\n| Lake | Depth |\n| --- | --- |\n| Baikal | 1642 |\n| a \\| b |  |",
            "> Quoted text.",
            "```\ndef depth():\n    return 1642\n```",
            "[^1]: The note, with *style*.",
        ];
        assert_in_order(&output.text, &pieces);
        assert_eq!(data(&output)["title"], "On lakes");
        assert_eq!(data(&output)["byline"], "Ana Lake");
    }
    let text = read_as("", "python-docx.docx", "markdown").text;
    let pieces = [
        "# Rivers\n\n# First part\n\nPlain, **bold** and *italic*. added\n\n",
        "- bullet one\n- bullet two\n  - deeper\n\n1. number one\n2. number two\n\n",
        "| 00<br>01 |  | 02 |\n| --- | --- | --- |\n| 10 | 11 | 12<br>22 |\n| 20 | 21 |  |",
        "first line  \nsecond line with a tab",
    ];
    assert_in_order(&text, &pieces);
    assert!(!text.contains("removed"), "{text}");
    let html = read_as("", "pandoc.docx", "html").text;
    assert_in_order(
        &html,
        &[
            "<h1>On lakes</h1>",
            "<a href=\"https://example.com/a?b=1&amp;c=2\">link</a>",
            "<ol>",
            "<blockquote>",
        ],
    );
}

#[test]
fn encodings_that_hide_text_are_refused() {
    for (content_type, body) in [
        ("text/html; charset=iso-2022-kr", "<p>x"),
        ("text/html", "<meta charset=hz-gb-2312><p>x"),
        ("text/plain; charset=replacement", "x"),
    ] {
        let refused = Fake::new(content_type, body).refused(&json!({"url": "https://example.com/"}));
        assert!(refused.contains("an encoding that browsers no longer read"), "{refused}");
    }
    let zipped = Fake::new("text/html", b"\x1f\x8b\x08\0\0").refused(&json!({"url": "https://example.com/"}));
    assert!(zipped.contains("a binary file (application/gzip)"), "{zipped}");
}

/// In XML, `<script/>` is closed, and `<![CDATA[…]]>` is text.
#[test]
fn a_page_that_is_sent_as_xml_is_read_as_xml() {
    let page = |head: &str, body: &str| {
        format!(
            "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.1//EN' 'a.dtd'>\n\
             <html xmlns='http://www.w3.org/1999/xhtml'><head>{head}</head><body><h1>Pumps</h1>{body}\
             <p>The last words of the page stand here, after all the others of it.</p></body></html>"
        )
    };
    let cases = [
        ("<title/>", "<p>Before.</p>", "Before."),
        ("<title>T</title><style/><script src='a.js'/>", "<p>Before.</p>", "Before."),
        (
            "<title>T</title>",
            "<p>Before.</p><div hidden='hidden'/><iframe src='/ad'/><textarea rows='2'/>",
            "Before.",
        ),
        ("<title>T</title>", "<p><![CDATA[a < b && c]]></p>", "a < b && c"),
        ("<title>T</title>", "<p>a<br></br>b &amp; c&nbsp;&#100;</p>", "b & c\u{a0}d"),
        (
            "<title>T</title>",
            "<p title='\"'>Before <a href='/x?a=1&amp;b=2'>it</a>.</p>",
            "[it](https://example.org/x?a=1&b=2)",
        ),
        // An error in XML; HTML reads it.
        ("<title>T</title>", "<p>Before.<br></p>", "Before."),
    ];
    for content_type in ["application/xhtml+xml", "application/xml; charset=utf-8", ""] {
        for (head, body, expected) in cases {
            let read = markdown(content_type, page(head, body));
            assert!(
                read.contains(expected) && read.contains("The last words"),
                "{content_type} {body}: {read}"
            );
            assert!(!read.contains("CDATA") && !read.contains("]]>"), "{read}");
        }
    }
    let prefixed = "<x:html xmlns:x='http://www.w3.org/1999/xhtml'><x:body><x:p>The text of it.</x:p><x:script/><x:p>The end.</x:p></x:body></x:html>";
    let read = markdown("application/xhtml+xml", prefixed);
    assert!(read.contains("The text of it.\n\nThe end."), "{read}");
}
