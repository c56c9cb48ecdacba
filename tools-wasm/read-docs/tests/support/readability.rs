//! Mozilla's test pages: compares the complete pipeline with the content that Readability finds.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use dom_query::{Document as Dom, NodeRef};
use read_docs::{Format, convert};
use url::Url;

use super::rendered::{Seen, seen};
use super::shingles::{f1, words};

/// Base URL of the pages' relative links.
const ADDRESS: &str = "http://fakehost/test/page.html";

/// Scores of a page.
#[derive(Debug)]
pub struct Measured {
    pub name: String,
    /// F1 score of the content.
    pub f1: f64,
    /// F1 score including the lines above the content, which the expected page does not have.
    pub f1_with_head: f64,
    pub tables: Kept,
    pub code_blocks: Kept,
    pub links: (usize, usize),
    pub images: (usize, usize),
    pub time: Duration,
}

/// Number of expected items, and of those that are present with their content.
#[derive(Debug, Default, Clone, Copy)]
pub struct Kept {
    pub kept: usize,
    pub wanted: usize,
}

/// Header of the table in which [`Measured`] is displayed.
pub const HEADS: &str =
    "| page | F1 | F1 with head | tables | code | links | images | ms |\n|---|---|---|---|---|---|---|---|";

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, f1, f1_with_head, tables, code_blocks, links, images, time } = self;
        let milliseconds = time.as_secs_f64() * 1000.0;
        write!(f, "| {name} | {f1:.4} | {f1_with_head:.4} | {}/{} ", tables.kept, tables.wanted)?;
        write!(f, "| {}/{} | {}/{} ", code_blocks.kept, code_blocks.wanted, links.0, links.1)?;
        write!(f, "| {}/{} | {milliseconds:.1} |", images.0, images.1)
    }
}

/// Measures all pages, sorted by name.
pub fn measure(folder: &Path) -> Vec<Measured> {
    let url = Url::parse(ADDRESS).expect("a URL");
    let mut pages: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder of pages")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("source.html").is_file())
        .collect();
    pages.sort();
    pages.iter().map(|page| measure_page(page, &url)).collect()
}

fn measure_page(page: &Path, url: &Url) -> Measured {
    let read = |name: &str| {
        let bytes = std::fs::read(page.join(name)).expect("a file of the page");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (source, wanted) = (read("source.html"), Dom::from(read("expected.html")));
    let start = Instant::now();
    let document = convert(&source, url, Format::Markdown);
    let time = start.elapsed();
    let has_formulas = wanted.select("math").exists();
    let got = seen(&document.body, has_formulas);
    let wanted_text = text(&wanted);
    Measured {
        name: page.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        f1: f1(&got.text, &wanted_text),
        f1_with_head: f1(&seen(&document.text(), has_formulas).text, &wanted_text),
        tables: tables(&wanted, &got),
        code_blocks: code_blocks(&wanted, &got),
        links: (got.links, wanted.select("a[href]").length()),
        images: (got.images, wanted.select("img[src]").length()),
        time,
    }
}

/// Counts data tables: more than one column, and no nested table.
fn tables(wanted: &Dom, got: &Seen) -> Kept {
    let mut kept = Kept::default();
    let all_cells: Vec<Vec<String>> = got.tables.iter().map(|cells| words(&cells.join(" "))).collect();
    for table in wanted.select("table").nodes() {
        let columns =
            table.descendants_it().filter(|n| n.has_name("tr")).map(|row| row.element_children().len()).max();
        let nests = table.descendants_it().any(|n| n.has_name("table"));
        let has_code = table.descendants_it().any(|n| n.has_name("pre"));
        let is_layout = table.attr_or("role", "").as_ref() == "presentation";
        if nests || has_code || is_layout || columns.unwrap_or_default() < 2 {
            continue;
        }
        kept.wanted += 1;
        let cells = words(&table_text(table));
        kept.kept += usize::from(all_cells.contains(&cells));
    }
    kept
}

fn table_text(table: &NodeRef<'_>) -> String {
    let cells = table.descendants_it().filter(|node| node.has_name("td") || node.has_name("th"));
    cells.map(|cell| text_of(&cell)).collect::<Vec<_>>().join(" ")
}

fn code_blocks(wanted: &Dom, got: &Seen) -> Kept {
    // The expected pages lost line breaks in code, so whitespace is ignored.
    let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let got: Vec<String> = got.code_blocks.iter().map(|code| dense(code)).collect();
    let mut kept = Kept::default();
    for code in wanted.select("pre").nodes() {
        kept.wanted += 1;
        kept.kept += usize::from(got.contains(&dense(&code.text())));
    }
    kept
}

fn text(page: &Dom) -> String {
    page.body().map(|body| text_of(&body)).unwrap_or_default()
}

/// Returns the text, with spaces between blocks.
pub fn text_of(node: &NodeRef<'_>) -> String {
    const INLINE: [&str; 30] = [
        "a", "abbr", "b", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
        "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
        "var", "wbr", "bdi",
    ];
    let mut out = String::new();
    push_text(node, &INLINE, &mut out);
    out
}

fn push_text(node: &NodeRef<'_>, inline: &[&str], out: &mut String) {
    if node.is_text() {
        out.push_str(&node.text());
        return;
    }
    let name = node.node_name().unwrap_or_default().to_string();
    if matches!(name.as_str(), "script" | "style" | "noscript" | "template" | "math") {
        return;
    }
    let parts = !inline.contains(&name.as_str());
    if parts {
        out.push(' ');
    }
    for child in node.children_it(false) {
        push_text(&child, inline, out);
    }
    if parts {
        out.push(' ');
    }
}
