//! Content sniffing (MIME Sniffing Standard, 5 to 8).

use std::borrow::Cow;

use encoding_rs::Encoding;
use serde::de::IgnoredAny;

use super::Kind;

/// Number of bytes that the standard checks.
const HEADER_BYTES: usize = 1445;
/// Maximum length of comments and declarations before the root element, in bytes.
const PROLOG_BYTES: usize = 16 * 1024;

/// Returns `true` if bytes near the beginning cannot occur in text. A byte order mark indicates text.
pub(super) fn is_binary(body: &[u8]) -> bool {
    let is_marked = Encoding::for_bom(body).is_some();
    !is_marked
        && first(body, HEADER_BYTES)
            .iter()
            .any(|byte| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// Returns `true` if the body begins like HTML according to the standard, or with one of a few other tags.
pub(super) fn is_html(body: &[u8]) -> bool {
    const TAGS: [&str; 18] = [
        "!doctype html",
        "html",
        "head",
        "script",
        "iframe",
        "h1",
        "div",
        "font",
        "table",
        "a",
        "style",
        "title",
        "b",
        "body",
        "br",
        "p",
        "meta",
        "main",
    ];
    let start = start_of(body);
    let Some(tag) = start.trim_start().strip_prefix('<') else { return false };
    let begins = |name: &&str| {
        let part = tag.get(..name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name));
        part && tag.get(name.len()..).is_some_and(|rest| rest.starts_with([' ', '>', '\n', '\t', '\r', '/']))
    };
    tag.starts_with("!--") || TAGS.iter().any(begins)
}

/// Returns `true` if the body begins with an XML declaration.
pub(super) fn is_xml(body: &[u8]) -> bool {
    start_of(body).trim_start().starts_with("<?xml")
}

/// Returns `true` for a JSON object or array.
pub(super) fn is_json(body: &[u8]) -> bool {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[')) && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Returns `true` if an archive contains the main part of a Word document. File names in archives are not
/// compressed.
pub(super) fn is_docx(body: &[u8]) -> bool {
    const PART: &[u8] = b"word/document.xml";
    memchr::memmem::find(body, PART).is_some()
}

/// Returns the kind by the root element: a feed or a page, or `None` for others.
pub(super) fn root(body: &[u8]) -> Option<Kind> {
    const FEEDS: [&str; 3] =
        ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#", "http://purl.org/atom/app"];
    const OF_RDF: [&str; 3] =
        ["http://purl.org/rss/1.0", "http://my.netscape.com/rdf/", "http://channel.netscape.com/rdf/"];
    let start = start_of(body);
    let tag = after_prolog(&start)?.strip_prefix('<')?;
    let end = tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
    let (name, rest) = tag.split_at_checked(end)?;
    let name = name.rsplit(':').next().unwrap_or_default();
    let within = rest.split('>').next().unwrap_or_default();
    let has = |names: &[&str]| names.iter().any(|name| within.contains(name));
    match name {
        "rss" => Some(Kind::Feed),
        "feed" if has(&FEEDS) => Some(Kind::Feed),
        "RDF" if has(&OF_RDF) => Some(Kind::Feed),
        "html" if has(&["http://www.w3.org/1999/xhtml"]) => Some(Kind::Html),
        _ => None,
    }
}

/// Returns the text from the root element on.
fn after_prolog(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.split_once("-->")?.1
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            instruction.split_once("?>")?.1
        } else if let Some(declaration) = rest.strip_prefix("<!") {
            // A document type may contain declarations in brackets.
            let end = declaration.find(['[', '>'])?;
            let (_, after) = declaration.split_at_checked(end)?;
            match after.strip_prefix('[') {
                Some(subset) => subset.split_once("]>").or_else(|| subset.split_once("] >"))?.1,
                None => after.strip_prefix('>')?,
            }
        } else {
            return Some(rest);
        };
        rest = after.trim_start();
    }
}

/// Returns the first characters without a byte order mark.
fn start_of(body: &[u8]) -> Cow<'_, str> {
    let start = first(body, PROLOG_BYTES);
    match Encoding::for_bom(start) {
        Some((encoding, mark)) => {
            encoding.decode_without_bom_handling(start.get(mark..).unwrap_or_default()).0
        }
        None => String::from_utf8_lossy(start),
    }
}

fn first(body: &[u8], most: usize) -> &[u8] {
    body.get(..most).unwrap_or(body)
}
