//! PDF: the text of its pages, in the order in which it is drawn.
//!
//! The syntax and the fonts are read by `hayro`'s crates; here is only what a text needs of the
//! drawing: where each character goes ([`content`]), and which make words and lines ([`lines`]).

mod content;
mod lines;
mod matrix;

use std::fmt::Write as _;
use std::sync::Arc;

use encoding_rs::{Encoding, WINDOWS_1252};
use hayro_font::{CMapResolverFn, FontCache, FontQuery, FontResolverFn};
use hayro_syntax::{LoadPdfError, Pdf};
use scorpiox_tool_kit::Failure;

use crate::document::Document;
use content::Reader;
use lines::Lines;

/// Most pages that are read.
const MAX_PAGES: usize = 3000;
/// Most bytes of text. The longest manuals have some 10 MB.
const MAX_TEXT: usize = 16 * 1024 * 1024;

pub(crate) fn read(body: Vec<u8>) -> Result<Document, Failure> {
    let pdf = Pdf::new(body).map_err(explain)?;
    let fonts = Fonts {
        cache: FontCache::new(),
        programs: Arc::new(|query| Some(program(query))),
        maps: Arc::new(|_| None),
    };
    let count = pdf.pages().len();
    let mut text = String::new();
    let mut read = 0;
    for page in pdf.pages().iter().take(MAX_PAGES) {
        let mut lines = Lines::default();
        Reader::new(&fonts, &mut lines).page(page);
        let page_text = lines.finish();
        read += 1;
        if !page_text.is_empty() {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            if count > 1 {
                let _ = write!(text, "[PDF page {read}]\n\n");
            }
            text.push_str(&page_text);
        }
        if text.len() > MAX_TEXT {
            break;
        }
    }
    if text.is_empty() {
        return Err(Failure::Failed(format!(
            "The PDF has no text on its {count} pages; they are probably scanned. Save it to a file and look at its pages as images."
        )));
    }
    let mut document = Document::of_body(text);
    if read < count {
        document.notes.push(format!("Only {read} of the PDF's {count} pages were read."));
    }
    let metadata = pdf.metadata();
    document.title = metadata.title.as_deref().and_then(string);
    document.byline = metadata.author.as_deref().and_then(string);
    Ok(document)
}

/// What is needed to load fonts.
struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    maps: CMapResolverFn,
}

/// Fonts that a file does not bring come with the crate.
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
        LoadPdfError::Invalid => {
            "The PDF is damaged and cannot be read. Download it to a file to see what it is.".to_owned()
        }
    })
}

/// A string of the metadata: UTF-16 or UTF-8 by its mark, else nearly Latin-1.
fn string(bytes: &[u8]) -> Option<String> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((WINDOWS_1252, 0));
    let text = encoding.decode_without_bom_handling(&bytes[mark..]).0;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    (!text.is_empty()).then_some(text)
}
