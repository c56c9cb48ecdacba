//! Hostile pages: each call ends soon with a result or an error.

use std::time::Duration;

use crate::fake::Fake;
use scorpiox_processor_time::Stopwatch;
use serde_json::json;

const MIB: usize = 1024 * 1024;
/// Maximum processor time of a call with little optimization. Quadratic work takes minutes.
const LIMIT: Duration = Duration::from_secs(20);

fn repeated(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

/// Runs in a stack of a guest's size, so that excessive recursion is detected.
fn survives(name: &'static str, body: String) {
    let run = move || {
        for format in ["markdown", "text", "html"] {
            let stopwatch = Stopwatch::start();
            let mut web = Fake::html(&body);
            let result = web.call(&json!({"url": "https://example.org/x", "format": format}));
            if let Ok(output) = result {
                let page = output.text.chars().count();
                assert!(page <= 110_000, "{name}: a page of {page} characters");
            }
            let took = stopwatch.elapsed();
            assert!(took < LIMIT, "{name} as {format} took {took:?}");
        }
    };
    // Stack frames without optimization are several times as large as those of a guest, which has 512 KiB.
    let thread = std::thread::Builder::new().stack_size(3 * MIB).spawn(run).expect("a thread");
    assert!(thread.join().is_ok(), "{name} failed");
}

#[test]
fn shadow_roots() {
    let all = |piece: fn(u32) -> String| (0..30_000).map(piece).collect::<Vec<_>>().concat();
    let slots = all(|number| format!("<slot name=s{number}></slot>"));
    let nodes = all(|number| format!("<b slot=s{number}>x</b>"));
    survives("slots", format!("<x-a><template shadowrootmode=open>{slots}</template>{nodes}</x-a>"));
    survives("nested", "<x-a><template shadowrootmode=open><slot></slot>".repeat(5_000));
    survives("siblings", "<x-a><template shadowrootmode=open><slot></slot></template>x</x-a>".repeat(10_000));
}

#[test]
fn deep_nesting() {
    for tag in [
        "div",
        "b",
        "span",
        "blockquote",
        "ul><li",
        "table><tr><td",
        "dl><dd",
        "a href=x",
        "svg",
        "math",
        "details",
        "template",
    ] {
        survives("deep", repeated(&format!("<{tag}>x"), MIB));
    }
}

#[test]
fn nesting_within_the_limit_of_open_elements() {
    for tag in ["div", "blockquote", "ul><li", "em", "font color=1"] {
        let open = format!("<{tag}>x").repeat(450);
        survives("900 deep", format!("<p>{}</p>{open}end", "word ".repeat(500)));
    }
}

#[test]
fn floods_of_one_character() {
    for piece in ["<", "&", "`", "*", "[", "\\", "|", "<a ", "</p>", "&#x1F600;", "<!--", "\n\n", "<br>"] {
        survives("flood", repeated(piece, 2 * MIB));
    }
}

#[test]
fn ten_megabytes_of_tags_that_do_not_close() {
    survives("10 MB <", repeated("<", 10 * MIB));
}

#[test]
fn what_is_never_closed() {
    for piece in [
        "<p>text ",
        "<li>item",
        "<td>cell",
        "<option>x",
        "<h1>x",
        "<a href='",
        "<script>",
        "<textarea>",
        "<title>",
        "<pre>x\n",
    ] {
        survives("unclosed", repeated(piece, MIB));
    }
}

#[test]
fn huge_attributes_and_floods_of_them() {
    let long = "x".repeat(4 * MIB);
    survives(
        "attribute",
        format!("<p title='{long}'>text</p><a href='/{long}'>link</a><img src='{long}' alt='{long}'>"),
    );
    let many = (0..200_000).fold(String::from("<p"), |tag, n| tag + " a" + &n.to_string());
    survives("attributes", format!("{many}>text</p>"));
}

#[test]
fn formatting_that_is_closed_in_the_wrong_order() {
    survives("b/i", repeated("<b><i>x</b>y", MIB / 2));
    survives("a/p", repeated("<a href=x><p>x</a>y", MIB / 2));
    survives("foster", format!("<table>{}", repeated("<b>x<tr>", MIB / 2)));
    survives("b*p*", format!("{}{}", "<b>".repeat(900), "<p>x</b>".repeat(5000)));
}

#[test]
fn tables_that_span_more_than_there_is() {
    survives("colspan", format!("<table>{}</table>", "<tr><td colspan=1000 rowspan=1000>x".repeat(5000)));
    survives("wide", format!("<table><tr>{}</table>", "<td>x".repeat(60_000)));
    survives("ragged", format!("<table><tr>{}{}</table>", "<td>x".repeat(1000), "<tr><td>y".repeat(30_000)));
}

#[test]
fn indentation_of_many_lines_many_levels_deep() {
    let open = "<blockquote><ul><li>".repeat(25);
    survives("lines", format!("{open}{}", "a<br>".repeat(80_000)));
}

#[test]
fn links_relative_to_a_very_long_address() {
    let base = format!("https://example.org/{}/", "x".repeat(8000));
    survives("base", format!("<base href='{base}'>{}", "<a href=y>z</a> ".repeat(50_000)));
}

#[test]
fn footnotes_and_marks_that_a_page_forges() {
    let page = "<p>a<sup><a href='#fn1'>1</a></sup><li id=fn1>n</li><span data-x-tex='$$' data-x-task='x'>t</span><p data-x-note=']'>p</p>";
    survives("forged", page.repeat(5000));
}

#[test]
fn broken_pdf() {
    let files: [&[u8]; 5] = [
        b"%PDF-1.7",
        b"%PDF-1.7\nxref\n0 99999999\ntrailer<</Root 1 0 R/Prev 0>>\nstartxref\n9\n%%EOF",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>endobj trailer<</Root 1 0 R>>",
        b"%PDF-1.4\n1 0 obj[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>endobj",
    ];
    for file in files {
        let mut web = Fake::new("application/pdf", file);
        assert!(web.refused(&json!({"url": "https://example.org/x.pdf"})).contains("PDF"));
    }
    let mut nested = b"%PDF-1.4\n1 0 obj".to_vec();
    nested.extend(b"<</A[".repeat(100_000));
    assert!(Fake::new("application/pdf", nested).call(&json!({"url": "https://example.org/x.pdf"})).is_err());
}

#[test]
fn floods_of_what_highlighters_and_generators_write() {
    let lines = "<div class='line diff add'><span class=linenos>1</span> x</div>";
    survives("lines", format!("<pre>{}</pre>", repeated(lines, MIB / 2)));
    survives(
        "blocks",
        repeated("<pre><code class=language-c><span class=line>x</span></code></pre>", MIB / 2),
    );
    survives(
        "nested",
        format!("{}x", "<pre><div class=line><table class=highlighttable><tr><td class=code>".repeat(2000)),
    );
    survives("cells", format!("<table><tr><td>{}</table>", repeated("<pre>x</pre>", MIB / 2)));
    survives("fragments", format!("{}x", "<div class=fragment><div class=line>".repeat(3000)));
    survives(
        "tabs",
        repeated("<div role=tablist><b role=tab>a</b></div><div role=tabpanel>x</div>", MIB / 2),
    );
    survives("no panels", repeated("<div><ul role=tablist><li role=tab>a<li role=tab>b</ul></div>", MIB / 2));
    survives(
        "sets",
        format!("{}x", "<div class=tabbed-set><label>a</label><div class=tabbed-content>".repeat(3000)),
    );
    survives(
        "panes",
        repeated("<ul class=nav-tabs><li><a href='#p'>a</a></ul><div class=tab-pane id=p>x</div>", MIB / 2),
    );
    survives("anchors", repeated("<h2>x<a class=headerlink href='#x'>¶</a></h2>", MIB / 2));
    survives(
        "signatures",
        format!("<dl>{}", repeated("<dt class=sig>f<em>x</em><a class=src>source</a><dd>y", MIB / 2)),
    );
    survives("one signature", format!("<dt class=sig>{}", repeated("<em class=attr>x</em><wbr>", MIB)));
    survives(
        "grid",
        format!("<div class=summary-table>{}</div>", repeated("<div class='col-last'>x</div>", MIB / 2)),
    );
    survives(
        "declarations",
        format!(
            "<table class=memberdecls>{}",
            repeated("<tr><td class=memItemLeft>x<td class=mdescRight>y", MIB / 2)
        ),
    );
}
