//! HTML: parses a page within limits, selects the content, and builds the tree for the writers.
//!
//! A single DOM passes through all steps: it is parsed within limits (`scorpiox_page`, [`flatten`]), reduced
//! to its content ([`choose`]), marked for the writers ([`mark`]), and copied to a smaller tree ([`tree`]).

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
mod shadow;
mod shell;
mod signature;
mod space;
mod tabs;
pub(crate) mod tree;
mod xhtml;

pub(crate) use links::Links;
use scorpiox_page::Limits;
use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::args::shown;
use url::Url;

use crate::ask::Part;
use crate::charset::{self, Markup};
use crate::document::Document;
use crate::{Format, write};

/// Maximum number of bytes of a page that are parsed.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// Some pages have thousands of unclosed tags. The longest documentation pages have about 100,000 elements.
const LIMITS: Limits = Limits { depth: 1000, elements: 120_000 };

/// Maximum delay, in seconds, after which a page sends browsers on. Longer ones end sessions.
const MAX_DELAY: f32 = 30.0;

/// A parsed page.
pub(crate) struct Page {
    parsed: scorpiox_page::Page,
    notes: Vec<String>,
}

impl Page {
    /// Decodes and parses a page. `header` is its `Content-Type` as it was sent, and `content_type` the detected one.
    pub(crate) fn decoded(body: &[u8], header: &str, content_type: &str, url: &Url) -> Result<Self, Failure> {
        let is_xml = content_type.ends_with("xml");
        let markup = if is_xml { Markup::Xml } else { Markup::Html };
        let source = charset::decode(body, header, markup, url)?;
        let rewritten = if is_xml { xhtml::as_html(&source) } else { None };
        Ok(Self::parse(rewritten.as_deref().unwrap_or(&source)))
    }

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
        if kept.contains("shadowrootmode") {
            shadow::compose(&parsed.document);
        }
        flatten::flatten(&parsed.document);
        Self { parsed, notes }
    }

    /// Returns `true` if the page shows little before its scripts run.
    pub(crate) fn needs_scripts(&self) -> bool {
        shell::is_shell(&self.parsed.document, self.parsed.is_for_no_scripts)
    }

    /// Returns `true` if the page contains readable text.
    pub(crate) fn has_text(&self) -> bool {
        shell::has_text(&self.parsed.document, self.parsed.is_for_no_scripts)
    }

    /// Returns the URL that the page sends browsers on to within seconds.
    pub(crate) fn refresh(&self, url: &Url) -> Option<Url> {
        let metas = self.parsed.document.select("meta[http-equiv]");
        let mut all = metas.nodes().iter();
        let meta = all.find(|meta| meta.attr_or("http-equiv", "").trim().eq_ignore_ascii_case("refresh"))?;
        let content = meta.attr("content")?;
        let (delay, rest) = content.split_once([';', ','])?;
        delay.trim().parse::<f32>().ok().filter(|seconds| *seconds <= MAX_DELAY)?;
        let rest = rest.trim();
        let named = rest.get(..3).filter(|name| name.eq_ignore_ascii_case("url")).and_then(|_| rest.get(3..));
        let target = named.and_then(|rest| rest.trim_start().strip_prefix('=')).unwrap_or(rest);
        let target = url.join(target.trim().trim_matches(['"', '\''])).ok()?;
        (matches!(target.scheme(), "http" | "https") && target != *url).then_some(target)
    }

    /// Converts the content to a format, with the requested part first.
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

/// Converts an HTML page from an absolute URL to a format.
pub fn convert(source: &str, url: &Url, format: Format) -> Document {
    Page::parse(source).read(url, &Part::default(), format)
}

/// Converts a complete HTML fragment, and leaves its links unchanged.
pub fn convert_fragment(source: &str, format: Format) -> String {
    let page = Page::parse(source);
    mark::all(&page.parsed.document);
    let mut root = tree::of(&page.parsed.document.root(), &Links::as_they_are());
    space::collapse(&mut root);
    write::write(&root, format)
}

/// Converts a complete HTML fragment to nodes with absolute links; without a base, links stay as they are.
pub(crate) fn nodes_of_fragment(source: &str, base: Option<&Url>) -> Vec<tree::Node> {
    let page = Page::parse(source);
    mark::all(&page.parsed.document);
    let own = page.parsed.document.base_uri().map(|base| base.to_string());
    let links = base.map_or_else(Links::as_they_are, |base| Links::of_page(base, own.as_deref()));
    let root = tree::of(&page.parsed.document.root(), &links);
    // The parser wraps every fragment in a page.
    without(without(root.children, "html"), "body")
}

/// Unwraps an element if it is the only node.
fn without(mut nodes: Vec<tree::Node>, name: &str) -> Vec<tree::Node> {
    match nodes.as_mut_slice() {
        [tree::Node::Element(only)] if &*only.name == name => std::mem::take(&mut only.children),
        _ => nodes,
    }
}

/// Writes nodes in a format.
pub(crate) fn write_nodes(nodes: Vec<tree::Node>, format: Format) -> String {
    let mut root = tree::Element { name: "div".into(), attributes: Vec::new(), children: nodes };
    space::collapse(&mut root);
    write::write(&root, format)
}
