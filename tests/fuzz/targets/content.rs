//! Any page: what is kept of it stands in it, in its order, and the part that is asked for stays.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_content::{images, keep_content, section};
use scorpiox_page::{Document, Limits, parse};
use url::Url;

const LIMITS: Limits = Limits { depth: 200, elements: 5_000 };

fn letters(page: &Document) -> Vec<char> {
    let text = page.body().map(|body| body.text()).unwrap_or_default();
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

fuzz_target!(|input: (&str, &str)| {
    let (name, source) = input;
    let page = parse(source, LIMITS).document;
    let before = letters(&page);
    let url = Url::parse("https://example.com/docs/x").expect("a URL");
    let asked = section::find(&page, name);
    let wanted: usize = asked.iter().filter_map(|id| page.tree.get(id)).map(|node| node.text().len()).sum();
    keep_content(&page, &url, &asked);
    let kept = letters(&page);
    let mut rest = before.iter();
    assert!(kept.iter().all(|letter| rest.any(|other| other == letter)), "what is kept was not there");
    let left: usize = asked.iter().filter_map(|id| page.tree.get(id)).map(|node| node.text().len()).sum();
    assert!(left <= wanted);
    images::drop_repeated(&page);
    assert_eq!(letters(&page), kept);
});
