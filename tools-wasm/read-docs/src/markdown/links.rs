//! Makes the URLs in a Markdown file absolute in place.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use url::Url;

use crate::html::Links;

/// Maximum size of a file whose URLs are resolved, in bytes: the parser builds a tree of the complete file.
const MAX_BYTES: usize = 1024 * 1024;

/// Makes URLs absolute. References to parts of the same file (`#name`) stay.
pub(super) fn absolute(text: String, base: &Url) -> String {
    if text.len() > MAX_BYTES || !text.contains("](") && !text.contains("]:") {
        return text;
    }
    let links = Links::of_page(base, None);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in places(&text) {
        // An image in a link ends before the link's URL begins.
        let Some(address) = text.get(place.clone()).filter(|_| place.start >= done) else { continue };
        let is_relative = !address.starts_with('#') && Url::parse(address).is_err();
        if let Some(absolute) = links.resolve(address).filter(|_| is_relative) {
            out.push_str(&text[done..place.start]);
            out.push_str(&absolute);
            done = place.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// Returns the ranges of URLs in order.
fn places(text: &str) -> Vec<Range<usize>> {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES);
    let defined = parser.reference_definitions().iter();
    let mut places: Vec<_> = defined
        .filter_map(|(_, definition)| find(text, definition.span.clone(), "]:", &definition.dest))
        .collect();
    // Open links and images, and the end of the known part of their text: a match inside the text is not the
    // URL.
    let mut open = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        let end = match event {
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                open.push((link_type, dest_url, range.start));
                continue;
            }
            Event::Start(_) => continue,
            _ => range.end,
        };
        if let Event::End(TagEnd::Link | TagEnd::Image) = event
            && let Some((LinkType::Inline, address, text_end)) = open.pop()
        {
            places.extend(find(text, text_end..end, "](", &address));
        }
        if let Some((_, _, text_end)) = open.last_mut() {
            *text_end = end;
        }
    }
    places.sort_by_key(|place| place.start);
    places
}

/// Returns the range of a URL after a mark, if it is written without escapes.
fn find(text: &str, within: Range<usize>, mark: &str, address: &str) -> Option<Range<usize>> {
    let behind = text.get(within.clone())?;
    let at = behind.find(mark)? + mark.len();
    let rest = behind.get(at..)?;
    let start = rest.len() - rest.trim_start_matches([' ', '\n', '\t', '<']).len();
    let is_there = !address.is_empty() && rest[start..].starts_with(address);
    let start = within.start + at + start;
    is_there.then(|| start..start + address.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_addresses_are_made_absolute() {
        let base = Url::parse("https://example.org/docs/a/page.md").expect("a URL");
        for (text, wanted) in [
            ("[a](b.md)", "[a](https://example.org/docs/a/b.md)"),
            ("[a]( ../b.md#c \"d\" ) x", "[a]( https://example.org/docs/b.md#c \"d\" ) x"),
            ("[a](</b c>)", "[a](<https://example.org/b%20c>)"),
            ("![p](/p.png)", "![p](https://example.org/p.png)"),
            (
                "[![p](p.png) `](x)` t](/t)",
                "[![p](https://example.org/docs/a/p.png) `](x)` t](https://example.org/t)",
            ),
            ("[a][b]\n\n[b]: ../c 'd'\n", "[a][b]\n\n[b]: https://example.org/docs/c 'd'\n"),
            ("| a |\n|---|\n| [é](ü) |", "| a |\n|---|\n| [é](https://example.org/docs/a/%C3%BC) |"),
        ] {
            assert_eq!(absolute(text.to_owned(), &base), wanted);
        }
        for stays in [
            "[a](#part) [b](https://example.com/x) [c](mailto:x@example.com) [d](javascript:x) [e]()",
            "`[a](b)` \\[a](b)\n\n```\n[a](b)\n```\n",
            "[a](b\\_c)",
            "a ](b) [c]: d",
        ] {
            assert_eq!(absolute(stays.to_owned(), &base), stays);
        }
    }
}
