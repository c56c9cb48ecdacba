//! Parses external HTML within limits.
//!
//! The parser itself has no limits: its time is quadratic in the nesting depth and in the attributes of a
//! tag. This crate removes excess attributes, and drops the rest of a page that is too deep or too large. The
//! caller limits the length of a page.
//!
//! [`line`] formats text of a page on one line, and [`visible`] extracts a node's text, both for pages and
//! for search results.

mod guard;
pub mod line;
mod scripts;
mod tame;
pub mod visible;

use std::fmt;

pub use dom_query::Document;

/// Limits for a page.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum nesting depth of elements. Browsers stop at 512.
    pub depth: u32,
    /// Maximum number of elements.
    pub elements: u32,
}

/// A parsed page, up to the limits.
pub struct Page {
    /// DOM of the page.
    pub document: Document,
    /// Number of elements.
    pub elements: u32,
    /// Limit that ended the page.
    pub cut: Option<Cut>,
    /// `true` if the page was parsed as by a browser without scripts: the content of `noscript` is part of
    /// the page.
    pub is_for_no_scripts: bool,
}

impl Page {
    /// Removes `noscript` elements if the page was parsed as by a browser with scripts, because they contain
    /// markup as text.
    pub fn drop_no_scripts(&self) {
        if !self.is_for_no_scripts {
            self.document.select("noscript").remove();
        }
    }
}

/// Limit that caused the rest of a page to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// [`Limits::depth`].
    Depth(u32),
    /// [`Limits::elements`].
    Elements(u32),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => write!(f, "the page nests more than {most} elements within each other"),
            Self::Elements(most) => write!(f, "the page has more than {most} elements"),
        }
    }
}

/// Parses a page as a browser with scripts. If the page has more text for browsers without scripts, as in
/// some forums, it is parsed as by those.
pub fn parse(source: &str, limits: Limits) -> Page {
    let source = tame::attributes(source);
    let page = guard::parse(&source, limits, true);
    if scripts::hide_text(&page.document) { guard::parse(&source, limits, false) } else { page }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 100, elements: 1000 };

    #[test]
    fn a_page_within_the_limits_is_whole() {
        let page = parse(&"<p>text</p>".repeat(900), LIMITS);
        assert_eq!(page.cut, None);
        assert_eq!(page.document.select("p").length(), 900);
    }

    #[test]
    fn what_is_too_deep_or_too_much_is_left_out() {
        let deep = parse(&"<div>".repeat(100_000), LIMITS);
        assert_eq!(deep.cut, Some(Cut::Depth(100)));
        let long = parse(&"<br>".repeat(1_000_000), LIMITS);
        assert_eq!(long.cut, Some(Cut::Elements(1000)));
        // The limits are checked only every `CHUNK` bytes.
        assert!(deep.elements < 2000 && long.elements < 3000, "{} {}", deep.elements, long.elements);
    }

    #[test]
    fn what_is_for_browsers_without_scripts_is_read_where_it_is_the_page() {
        let words = "words of a post ".repeat(20);
        let forum = parse(&format!("<div>Menu<noscript><div>{words}</div></noscript>"), LIMITS);
        assert_eq!(forum.document.select("noscript div").length(), 1);
        let tracked = parse(&format!("<noscript><iframe src=x /></noscript><p>{words}"), LIMITS);
        assert_eq!(tracked.document.select("p").text().trim(), words.trim());
        assert_eq!(tracked.document.select("iframe").length(), 0);
        let asked = parse("<p>Hi<noscript><b>Please switch on JavaScript</b></noscript>", LIMITS);
        assert_eq!(asked.document.select("b").length(), 0);
    }

    #[test]
    fn a_tag_of_a_million_attributes_is_parsed_at_once() {
        let attributes: String =
            (0..1_000_000).fold(String::new(), |all, number| all + &format!(" a{number}"));
        let page = parse(&format!("<p{attributes}>text</p>"), LIMITS);
        assert_eq!(page.document.select("p").text().as_ref(), "text");
    }
}
