//! PDF: the text of the pages in reading order, with headings, lists, tables and code.
//!
//! The `hayro` crates parse the syntax and the fonts. Each page passes through these steps, each in at most
//! the time of sorting its characters: the page's operators ([`content`]), fragments of characters
//! ([`fragment`]), columns ([`columns`]), lines ([`line`]), tables ([`table`]) and paragraphs ([`block`]).
//! Then the complete document shows which lines at page edges repeat ([`running`]) and which texts are
//! headings ([`heading`]). [`compose`] builds the tree for the same writers as web pages.

mod annotations;
mod bidi;
mod block;
mod code;
mod coding;
mod columns;
mod compose;
mod content;
mod dots;
mod font;
mod fragment;
mod gutter;
mod heading;
mod large;
mod layers;
mod line;
mod links;
mod matrix;
mod outline;
mod page;
mod rules;
mod running;
mod stream;
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use encoding_rs::{Encoding, WINDOWS_1252};
use hayro_font::{CMapResolverFn, FontCache, FontQuery, FontResolverFn};
use hayro_syntax::{LoadPdfError, Pdf};
use scorpiox_tool_kit::Failure;

use crate::Format;
use crate::document::Document;
use crate::html::tree::Node;
use crate::write;
use columns::Budget;
use content::{Found, Reader};
use heading::Headings;
use layers::Layers;
use page::{Draft, PageText};
use running::Running;

/// Maximum number of pages that are read.
const MAX_PAGES: usize = 3000;
/// Maximum size of the text, in bytes. The longest manuals have about 10 MB.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// Maximum number of operators of a document. Manuals have a few thousand per page.
const MAX_OPERATORS: usize = 30_000_000;

/// Number of fragments after which pages are laid out: it is sufficient to detect text that repeats at page
/// edges. It corresponds to about 600 pages and 40 MB.
const MAX_WAITING: usize = 300_000;

pub(crate) fn read(body: Vec<u8>, format: Format) -> Result<Document, Failure> {
    let pdf = Pdf::new(body).map_err(explain)?;
    let count = pdf.pages().len();
    let pages = Pages::read(&pdf);
    let text = text(&pages, &pdf, format, count > 1);
    if text.is_empty() && pages.cut > 0 {
        return Err(Failure::Failed(
            "The pages of the PDF are damaged or unpack to more than can be read.".to_owned(),
        ));
    }
    if text.is_empty() {
        return Err(Failure::Failed(format!(
            "The PDF has no text on its {count} {pages}{why}. Its pages can only be looked at as images.",
            pages = if count == 1 { "page" } else { "pages" },
            why = if pages.have_pictures { "; they are probably scanned" } else { "" },
        )));
    }
    let mut document = Document::of_body(text);
    if pages.read < count {
        document.notes.push(format!("Only {} of the PDF's {count} pages were read.", pages.read));
    }
    if pages.cut > 0 {
        let (count, pages) =
            if pages.cut == 1 { ("One".to_owned(), "page") } else { (pages.cut.to_string(), "pages") };
        document
            .notes
            .push(format!("{count} {pages} of the PDF could only be read in part: damaged, or too large."));
    }
    if pages.has_running {
        document.notes.push("Running headers, footers and page numbers are left out.".to_owned());
    }
    let metadata = pdf.metadata();
    document.title = metadata.title.as_deref().and_then(string);
    document.byline = metadata.author.as_deref().and_then(string);
    Ok(document)
}

/// Pages of a document.
#[derive(Debug, Default)]
struct Pages {
    /// Pages that wait for more information. `done` has the finished ones.
    waiting: Vec<Draft>,
    waiting_fragments: usize,
    done: Vec<PageText>,
    running: Running,
    /// `true` if repeating lines were left out.
    has_running: bool,
    /// `true` if a page has a picture.
    have_pictures: bool,
    /// Number of pages that are damaged or exceed the limits.
    cut: usize,
    budget: Budget,
    read: usize,
    bytes: usize,
}

impl Pages {
    fn read(pdf: &Pdf) -> Self {
        let fonts = Fonts {
            cache: FontCache::new(),
            programs: Arc::new(|query| Some(program(query))),
            maps: Arc::new(hayro_cmap::load_embedded),
        };
        let mut pages = Self::default();
        let mut operators = 0_usize;
        let is_outdated = annotations::are_outdated(pdf);
        let layers = Layers::of(pdf);
        for page in pdf.pages().iter().take(MAX_PAGES) {
            let mut found = Found { links: links::Links::of(page), ..Found::default() };
            let used = Reader::new(&fonts, &layers, &mut found).page(page, is_outdated);
            operators = operators.saturating_add(used);
            pages.have_pictures |= found.has_picture;
            pages.read += 1;
            pages.add(Draft::of(pages.read, found));
            if pages.bytes > MAX_TEXT || operators > MAX_OPERATORS {
                break;
            }
        }
        pages.lay_out();
        pages
    }

    fn add(&mut self, draft: Draft) {
        self.running.learn(&draft);
        self.cut += usize::from(draft.is_cut);
        self.waiting_fragments += draft.fragments().count();
        self.waiting.push(draft);
        // After the first layout, pages are laid out immediately.
        if self.waiting_fragments > MAX_WAITING {
            self.lay_out();
        }
    }

    fn lay_out(&mut self) {
        let size = self.running.size();
        for draft in self.waiting.drain(..) {
            let number = draft.number;
            let running = &self.running;
            self.has_running |= draft.edges.iter().any(|edge| running.is_running(edge, number, size));
            let page = draft.lay_out(&mut self.budget, |edge| running.is_running(edge, number, size));
            self.bytes = self.bytes.saturating_add(page.bytes());
            self.done.push(page);
        }
    }
}

fn text(pages: &Pages, pdf: &Pdf, format: Format, has_marks: bool) -> String {
    let headings = Headings::of(&pages.done, pages.running.size(), outline::titles(pdf));
    let words = compose::Words::of(&pages.done);
    let mut text = String::new();
    for page in pages.done.iter().filter(|page| !page.body.is_empty() || !page.notes.is_empty()) {
        let mut tree = compose::page(page, &headings, &words);
        if has_marks {
            let mark = Node::Text(format!("[PDF page {}]", page.number));
            tree.children.insert(0, Node::Element(compose::element("p", vec![mark])));
        }
        for note in &page.notes {
            let note = vec![Node::Text(format!("[note on the page: {note}]"))];
            tree.children.push(Node::Element(compose::element("p", note)));
        }
        let written = write::write(&tree, format);
        if !text.is_empty() && !written.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&written);
    }
    text
}

/// Resources for loading fonts.
struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    maps: CMapResolverFn,
}

/// Returns a font of the crate for fonts that are not embedded in the file.
fn program(query: &FontQuery) -> (hayro_font::FontData, u32) {
    let font = match query {
        FontQuery::Standard(font) => *font,
        FontQuery::Fallback(query) => query.pick_standard_font(),
    };
    font.get_font_data()
}

fn explain(error: LoadPdfError) -> Failure {
    Failure::Failed(match error {
        LoadPdfError::Decryption(_) => {
            "The PDF is encrypted and needs a password, so it cannot be read.".to_owned()
        }
        LoadPdfError::Invalid => "The PDF is damaged and cannot be read.".to_owned(),
    })
}

/// Decodes a string to one line.
fn string(bytes: &[u8]) -> Option<String> {
    let text = lines_of(bytes).join(" ");
    (!text.is_empty()).then_some(text)
}

/// Decodes a string: UTF-16 or UTF-8 with a byte order mark, else approximately Latin-1.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((WINDOWS_1252, 0));
    encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0
}

/// Decodes the lines of a string, without those that are empty.
fn lines_of(bytes: &[u8]) -> Vec<String> {
    let text = decoded(bytes);
    let lines = text.split(['\n', '\r']).map(|line| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().filter(|c| !c.is_control()).collect::<String>()
    });
    lines.filter(|line| !line.is_empty()).collect()
}
