//! Fuzzes content extraction: the kept text is a subsequence of the page, and the requested section is
//! retained.

#![no_main]

use dom_query::NodeRef;
use libfuzzer_sys::fuzz_target;
use scorpiox_content::{images, keep_content, section};
use scorpiox_page::{Document, Limits, parse};
use url::Url;

const LIMITS: Limits = Limits { depth: 200, elements: 5_000 };

fn letters(page: &Document) -> Vec<char> {
    let text = page.body().map(|body| body.text()).unwrap_or_default();
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// `true` if an element contains text that extraction reads.
fn is_read(node: &NodeRef<'_>) -> bool {
    let text = node
        .descendants_it()
        .find(|below| below.is_text() && below.text().chars().any(char::is_alphanumeric));
    let read =
        ["div", "p", "section", "main", "article", "h1", "h2", "h3", "span", "b", "ul", "li", "body", "html"];
    let is_plain = |around: &NodeRef<'_>| read.iter().any(|name| around.has_name(name));
    text.is_some_and(|text| {
        text.ancestors_it(None).filter(NodeRef::is_element).all(|around| is_plain(&around))
    })
}

fuzz_target!(|input: (&str, &str)| {
    let (name, source) = input;
    let page = parse(source, LIMITS).document;
    let before = letters(&page);
    let url = Url::parse("https://example.com/docs/x").expect("a URL");
    let asked = section::find(&page, name);
    let was_read = asked.iter().filter_map(|id| page.tree.get(id)).any(|node| is_read(&node));
    keep_content(&page, &url, &asked);
    let kept = letters(&page);
    let mut rest = before.iter();
    assert!(kept.iter().all(|letter| rest.any(|other| other == letter)), "what is kept was not there");
    let is_left = asked.iter().filter_map(|id| page.tree.get(id)).any(|node| is_read(&node));
    assert!(is_left || !was_read, "the part that was asked for is gone");
    images::drop_repeated(&page);
    assert_eq!(letters(&page), kept);
});
