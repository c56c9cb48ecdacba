//! Text in which an engine may have left tags and entities.

use crate::html;

/// Maximum size of a text, in bytes: far more than is displayed.
const MAX_BYTES: usize = 16 << 10;

/// Elements that count as markup. Anything else between `<` and `>` is text, because titles such as `Vec<T>`
/// are common.
const ELEMENTS: [&str; 38] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "body",
    "br",
    "center",
    "cite",
    "code",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "script",
    "small",
    "span",
    "strong",
    "style",
    "sub",
    "sup",
    "svg",
    "u",
    "ul",
];

/// Returns the text without tags and entities.
pub(crate) fn plain(raw: &str) -> String {
    let raw = &raw[..raw.floor_char_boundary(MAX_BYTES)];
    if !raw.contains(['<', '&']) {
        return raw.to_owned();
    }
    match html::parse(&escape_text(raw)) {
        Ok(document) => html::text(&document.root()).trim().to_owned(),
        Err(_) => raw.replace(['<', '>'], " "),
    }
}

/// Escapes each `<` that does not begin a tag.
fn escape_text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() + 16);
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        out.push_str(if is_tag(tag) { "<" } else { "&lt;" });
        rest = &tag[1..];
    }
    out.push_str(rest);
    out
}

/// Returns `true` if `text`, which begins with `<`, begins with a comment or with a known tag that is closed.
fn is_tag(text: &str) -> bool {
    if text.starts_with("<!--") {
        return true;
    }
    let name = text[1..].trim_start_matches('/');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let known = ELEMENTS.iter().any(|element| element.eq_ignore_ascii_case(&name[..end]));
    known && name[end..].starts_with(['>', '/', ' ', '\n', '\t']) && name[end..].contains('>')
}
