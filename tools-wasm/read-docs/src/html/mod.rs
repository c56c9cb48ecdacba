//! HTML: a guarded parse, the choice of the content, and what the writers write from.
//!
//! One DOM goes the whole way: parsed under limits (`scorpiox_page`, [`flatten`]), reduced to its content ([`choose`]), marked
//! with what the writers need to know ([`mark`]), and copied to the smaller tree ([`tree`]) that they walk.

mod about;
mod choose;
mod clean;
mod code;
mod flatten;
mod footnotes;
mod grid;
mod head;
mod known;
mod links;
mod mark;
mod math;
mod permalink;
mod pictures;
mod present;
mod section;
mod shell;
mod signature;
mod space;
mod tabs;
pub(crate) mod tree;

pub(crate) use links::Links;
use scorpiox_page::Limits;
use scorpiox_tool_kit::args::shown;
use url::Url;

use crate::ask::Part;
use crate::document::Document;
use crate::{Format, write};

/// Most bytes of a page that are parsed.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// Pages with thousands of unclosed tags exist; the longest pages of documentation have about
/// 100,000 elements.
const LIMITS: Limits = Limits { depth: 1000, elements: 120_000 };

/// A parsed page.
pub(crate) struct Page {
    parsed: scorpiox_page::Page,
    notes: Vec<String>,
}

impl Page {
    pub(crate) fn parse(source: &str) -> Self {
        let kept = &source[..source.floor_char_boundary(MAX_BYTES)];
        let mut notes = Vec::new();
        if kept.len() < source.len() {
            notes.push(format!(
                "The page has {} bytes of HTML; only the first {MAX_BYTES} were read.",
                source.len()
            ));
        }
        let parsed = scorpiox_page::parse(kept, LIMITS);
        notes.extend(parsed.cut.as_ref().map(|cut| format!("What follows was left out: {cut}.")));
        flatten::flatten(&parsed.document);
        Self { parsed, notes }
    }

    /// Whether the page shows little until its scripts run.
    pub(crate) fn needs_scripts(&self) -> bool {
        shell::is_shell(&self.parsed.document, self.parsed.is_for_no_scripts)
    }

    /// Whether there is anything to read.
    pub(crate) fn has_text(&self) -> bool {
        shell::has_text(&self.parsed.document, self.parsed.is_for_no_scripts)
    }

    /// The content in a format, the part that is asked for first.
    pub(crate) fn read(mut self, url: &Url, part: &Part, format: Format) -> Document {
        self.parsed.drop_no_scripts();
        let mut content = choose::choose(self.parsed.document, url, part);
        if format == Format::Text {
            pictures::drop_alone(&mut content.root);
        }
        space::collapse(&mut content.root);
        let head = head::write(&content.about, content.left_out, url, format);
        if let (Some(false), Some(name)) = (content.has_part, &part.fragment) {
            self.notes.push(format!("The page has no part that is named {:?}.", shown(name)));
        }
        Document {
            head,
            body: write::write(&content.root, format),
            title: content.about.title,
            byline: content.about.byline,
            published: content.about.published,
            notes: self.notes,
        }
    }
}

/// A page of HTML that came from a URL, which must be absolute, in a format.
pub fn convert(source: &str, url: &Url, format: Format) -> Document {
    Page::parse(source).read(url, &Part::default(), format)
}

/// A piece of HTML, all of it, with its links as they are.
pub fn convert_fragment(source: &str, format: Format) -> String {
    let page = Page::parse(source);
    mark::all(&page.parsed.document);
    let mut root = tree::of(&page.parsed.document.root(), &Links::as_they_are());
    space::collapse(&mut root);
    write::write(&root, format)
}

/// The nodes of a piece of HTML, all of it, with its links made absolute.
pub(crate) fn nodes_of_fragment(source: &str, base: &Url) -> Vec<tree::Node> {
    let page = Page::parse(source);
    mark::all(&page.parsed.document);
    let own = page.parsed.document.base_uri().map(|base| base.to_string());
    let root = tree::of(&page.parsed.document.root(), &Links::of_page(base, own.as_deref()));
    // The parser puts a page around every piece.
    without(without(root.children, "html"), "body")
}

/// What is in an element, where that is all there is.
fn without(mut nodes: Vec<tree::Node>, name: &str) -> Vec<tree::Node> {
    match nodes.as_mut_slice() {
        [tree::Node::Element(only)] if &*only.name == name => std::mem::take(&mut only.children),
        _ => nodes,
    }
}

/// Nodes in a format.
pub(crate) fn write_nodes(nodes: Vec<tree::Node>, format: Format) -> String {
    let mut root = tree::Element { name: "div".into(), attributes: Vec::new(), children: nodes };
    space::collapse(&mut root);
    write::write(&root, format)
}
