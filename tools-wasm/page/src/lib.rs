//! HTML that comes from outside, parsed within limits.
//!
//! The parser itself has none: its time grows with the square of the depth, and with the square of
//! a tag's attributes. Here tags lose what is too much, and where a page is too deep or too large
//! the rest of it is left out. Its length is the caller's to bound.
//!
//! What is read of a page goes into one line by [`line`], and a node's text is that of [`visible`]: in pages
//! and in results of searches alike.

mod guard;
pub mod line;
mod scripts;
mod tame;
pub mod visible;

use std::fmt;

pub use dom_query::Document;

/// What is read of a page.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Elements within each other. Browsers stop at 512.
    pub depth: u32,
    /// Elements in all.
    pub elements: u32,
}

/// A page, as far as the limits allow.
pub struct Page {
    /// Its tree.
    pub document: Document,
    /// Elements in it.
    pub elements: u32,
    /// Which limit ended it.
    pub cut: Option<Cut>,
    /// Whether it was parsed as for browsers that run no scripts: what is in `noscript` is the page.
    pub is_for_no_scripts: bool,
}

impl Page {
    /// Removes what only browsers without scripts show, where the page was parsed as for others: it is markup as text.
    pub fn drop_no_scripts(&self) {
        if !self.is_for_no_scripts {
            self.document.select("noscript").remove();
        }
    }
}

/// Why the rest of a page was left out: the limit.
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

/// Parses a page as a browser does that runs scripts. A page that has more text for browsers without them than for
/// others, as some forums do, is parsed as for those.
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
        // Looked at from time to time only.
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
