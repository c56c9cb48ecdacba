//! Files of the machine in the place of pages.

use scorpiox_tool_kit::FilesError;
use serde_json::json;

use crate::fake::{Fake, data};
use crate::files::{at, file};

const PAGE: &str = "<title>Lakes</title><h1>Lakes</h1><p>See <a href='deep/b.html#x'>the other page</a>, and \
    <a href='https://example.com/'>the site</a>. It has words enough to be read.</p><h2 id=part>Part</h2><p>Of it.</p>";

/// Reads a file by this address.
fn read(web: &mut Fake, address: &str) -> String {
    web.call(&json!({"url": address})).unwrap_or_else(|failure| panic!("{address}: {failure:?}")).text
}

fn empty() -> Fake {
    Fake::html("<p>a page of the web")
}

#[test]
fn a_file_is_read_by_each_kind_of_path() {
    let mut web = empty()
        .file("docs/a.html", PAGE)
        .file("/srv/a b.html", PAGE)
        .file("~/a.html", PAGE)
        .file("report.pdf", file(&[&at(50, 700, "F", 12, "Deep water")]))
        .file("notes.md", "# Notes\n\nText.")
        .file("./data.csv", "a,b\n1,2\n")
        .file("C:\\docs\\a.html", PAGE);
    for (address, expected) in [
        ("docs/a.html", "[the other page](docs/deep/b.html#x)"),
        ("/srv/a b.html", "[the other page](file:///srv/deep/b.html#x)"),
        ("file:///srv/a%20b.html", "[the other page](file:///srv/deep/b.html#x)"),
        ("File://localhost/srv/a%20b.html", "[the other page](file:///srv/deep/b.html#x)"),
        ("~/a.html", "[the other page](~/deep/b.html#x)"),
        ("report.pdf", "Deep water"),
        ("notes.md", "# Notes\n\nText."),
        ("./data.csv", "| 1 | 2 |"),
        ("C:\\docs\\a.html", "[the other page]("),
    ] {
        let text = read(&mut web, address);
        assert!(text.contains(expected), "{address}: {text}");
        assert!(!text.contains(".invalid"), "{address}: {text}");
    }
    assert!(read(&mut web, "docs/a.html").contains("[the site](https://example.com/)"));
    assert!(web.requests.is_empty() && web.renders.is_empty(), "{:?}", web.requests);
    let output = web.call(&json!({"url": "docs/a.html", "format": "text", "wait_ms": 5})).expect("a text");
    let data = data(&output);
    assert_eq!((&data["url"], &data["title"]), (&json!("docs/a.html"), &json!("Lakes")));
    assert!(output.text.contains("files are not opened in a browser"), "{}", output.text);
}

#[test]
fn a_text_is_as_in_the_file() {
    let notes = "---\ntitle: N\n---\n\n# Notes\n\n[a](x) and <b>b</b>\n";
    let code = "{\"a\": [1,2],\n \"b\":   null}\n";
    let book = r##"{"nbformat":4,"cells":[{"cell_type":"markdown","source":["# Book"],"metadata":{}}],"metadata":{}}"##;
    let mut web =
        empty().file("docs/m.md", notes).file("a.json", code).file("a.py", "x = 1\n").file("n.ipynb", book);
    for (path, text) in [("docs/m.md", notes), ("a.json", code), ("a.py", "x = 1\n"), ("n.ipynb", "# Book")] {
        assert_eq!(read(&mut web, path).trim_end(), text.trim_end(), "{path}");
    }
    let output = web.call(&json!({"url": "docs/m.md"})).expect("a text");
    assert_eq!(data(&output)["title"], "N");
}

#[test]
fn a_file_has_pages_and_parts_like_a_page() {
    let long = format!(
        "<title>T</title>{}",
        "<p>Some words of a long text, which has many of them.</p>".repeat(2000)
    );
    let mut web = empty().file("long.html", long).file("docs/a.html", PAGE);
    let text = read(&mut web, "long.html#page=2");
    assert!(text.contains("Go on with long.html#page=3"), "{text}");
    for address in ["docs/a.html#part", "file:///srv/a.html#part", "/srv/a.html#part"] {
        web = web.file("/srv/a.html", PAGE);
        let text = read(&mut web, address);
        let (part, rest) = (text.find("## Part"), text.find("See [the other page]"));
        assert!(part.is_some() && rest.is_none_or(|rest| part < Some(rest)), "{address}: {text}");
    }
    // The kind is that of the file, whatever follows its name.
    let text = read(&mut web.file("table.csv", "a,b\n1,2\n"), "table.csv#x");
    assert!(text.contains("| 1 | 2 |"), "{text}");
    // Links in a file are escaped, and lead to files.
    let mut web = empty()
        .file("docs/index.html", "<title>T</title><p>Some words, and <a href='größe und mehr.html#x'>the next page</a> of them.</p>")
        .file("docs/größe und mehr.html", PAGE);
    let text = read(&mut web, "docs/index.html");
    let link = text.split_once("](").and_then(|(_, rest)| rest.split_once(')')).expect("a link").0.to_owned();
    assert!(read(&mut web, &link).contains("# Lakes"), "{link}");
    let text = read(&mut web, "docs/größe und mehr.html#part");
    assert!(text.contains("(docs/deep/b.html#x)"), "{text}");
    let sharp = web.file("c#.html", PAGE).call(&json!({"url": "c#.html"}));
    assert!(sharp.is_ok(), "{sharp:?}");
    let mut web = empty().file("long.html", "<p>Short, but a text of some words.");
    let refused = web.refused(&json!({"url": "long.html#page=999"}));
    assert!(refused.contains("long.html has"), "{refused}");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let mut web = empty()
        .file("a.png", b"\x89PNG\r\n\x1a\n".to_vec())
        .file("a.zip", b"PK\x03\x04".to_vec())
        .file("empty.md", " \n")
        .file("app.html", "<div id=root></div><script src=x.js></script>")
        .file("big.txt", vec![b'a'; 17 << 20]);
    web.files.push(("/etc/shadow".to_owned(), Err(FilesError::Denied("The policy denies it.".to_owned()))));
    for (address, expected) in [
        ("a.png", "a.png is an image (image/png), which cannot be read as text. Open it with ReadImage."),
        ("a.zip", "a.zip is a binary file (application/zip)"),
        ("empty.md", "empty.md is empty."),
        ("app.html", "no text before its scripts run"),
        ("big.txt", "has 17825792 bytes; files of at most 16777216 bytes are read."),
        ("/etc/shadow", "The policy denies it."),
        ("/none", "/none does not exist."),
        (
            "none.pdf",
            "The workspace has no file none.pdf. url \"none.pdf\" has no scheme; write https://none.pdf (or http://none.pdf).",
        ),
        (
            "docs/none.md",
            "docs/none.md does not exist in the workspace. An address begins with https:// or http://.",
        ),
        ("example.com/none", "The workspace has no file example.com/none. url "),
        ("file://server/share/a.html", "names the host server; only files of this machine are read."),
        ("ftp://example.com/a", "only http and https can be read"),
        ("mailto:a@example.com", "only http and https can be read"),
    ] {
        let refused = web.refused(&json!({"url": address}));
        assert!(refused.contains(expected), "{address}: {refused}");
    }
    assert!(web.requests.is_empty());
}
