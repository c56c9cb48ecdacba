//! Features of the complete page, which distinguish an article from a forum or a shop.

use std::collections::HashSet;

use dom_query::Document;
use url::Url;

use super::text::Said;
use super::{log, number, share, yes};
use crate::outline::Outline;
use crate::tags::Tag;
use crate::words::words;

/// Maximum size of the page's structured data that is searched, in bytes.
const MAX_DATA: usize = 512 * 1024;

/// Types in the page's structured data.
const KINDS: [&[&str]; 6] = [
    &["\"Product\""],
    &["Article\"", "BlogPosting\""],
    &["DiscussionForumPosting", "QAPage"],
    &["ItemList", "CollectionPage"],
    &["FAQPage"],
    &["Organization"],
];
/// Parts of URL paths.
const IN_PATH: [&[&str]; 4] = [
    &["/docs", "/doc/", "/reference", "/api", "/guide", "/manual"],
    &["/product", "/p/", "/dp/", "/item"],
    &["/collection", "/category", "/categories", "/tag", "/shop"],
    &["/blog", "/news", "/article", "/20"],
];
const IN_ADDRESS: [&str; 6] = ["forum", "community", "thread", "/t/", "topic", "discuss"];
const HOSTS_OF_DOCUMENTATION: [&str; 3] = ["docs", "developer", "api"];

/// Facts from the head of the page.
pub(crate) struct Facts {
    /// Words of the title, in lower case.
    pub(super) title: HashSet<String>,
    whole_title: String,
    kind: String,
    data: [bool; KINDS.len()],
    address: Url,
}

impl Facts {
    /// Collects the facts of a page that was loaded from `url`.
    pub(crate) fn of(dom: &Document, url: &Url) -> Self {
        let title = dom.select_single("title").text().to_lowercase();
        let kind = dom.select_single("meta[property='og:type']").attr_or("content", "").to_lowercase();
        let mut data = [false; KINDS.len()];
        let mut left = MAX_DATA;
        for script in dom.select("script[type='application/ld+json']").nodes() {
            let text = script.text();
            let Some(rest) = left.checked_sub(text.len()) else { break };
            left = rest;
            for (is, names) in data.iter_mut().zip(KINDS) {
                *is |= names.iter().any(|name| text.contains(name));
            }
        }
        let address = own_address(dom, url).unwrap_or_else(|| url.clone());
        Self { title: words(&title).map(str::to_owned).collect(), whole_title: title, kind, data, address }
    }

    /// Returns `true` if a text is the title, or its beginning before the site's name.
    pub(super) fn is_title(&self, text: &str) -> bool {
        const SHORTEST: usize = 8;
        text.len() >= SHORTEST && self.whole_title.trim_start().starts_with(&text.to_lowercase())
    }
}

/// Returns the canonical URL of the page, which copies of it share. Some sites declare their front page as
/// the canonical URL of all pages by mistake.
fn own_address(dom: &Document, url: &Url) -> Option<Url> {
    let link = dom.select_single("link[rel=canonical][href]").attr("href");
    let said = link.or_else(|| dom.select_single("meta[property='og:url'][content]").attr("content"))?;
    let address = url.join(&said).ok()?;
    (address.has_host() && address.path() != "/").then_some(address)
}

pub(super) fn describe(outline: &Outline, facts: &Facts, said: &[Said]) -> Vec<f32> {
    let all = outline.words();
    let blocks = outline.blocks.len();
    let has = |tag: Tag| outline.elements.iter().filter(move |e| e.tag == tag && e.sums.blocks > 0);
    let mains = has(Tag::MAIN).count();
    let headings = said.iter().filter(|said| said.tag == Tag::H1).count();
    let in_tag =
        |tag: Tag| said.iter().filter(|said| said.tag == tag).map(|said| u64::from(said.words)).sum::<u64>();
    let sentences = said.iter().map(|said| u64::from(said.sentences)).sum::<u64>();
    let largest = has(Tag::ARTICLE).map(|article| article.sums.words).max().unwrap_or(0);
    let links = said.iter().filter(|said| said.linked == said.words).count();
    let (host, path) = (facts.address.host_str().unwrap_or_default(), facts.address.path());
    let mut row = vec![
        log(blocks),
        log(all),
        share(outline.elements[0].sums.linked, all),
        number(has(Tag::ARTICLE).count().min(20)),
        number(mains.min(5)),
        number(headings.min(10)),
        number(has(Tag::PRE).count().min(30)),
        number(has(Tag::TABLE).count().min(20)),
        yes(facts.kind.contains("article")),
        yes(facts.kind.contains("product")),
    ];
    row.extend(facts.data.map(yes));
    row.push(number(path.matches('/').count()));
    row.push(number(path.len().min(300)));
    let in_path = IN_PATH.map(|parts| parts.iter().any(|part| path.contains(part)));
    let is_documentation = in_path[0] || HOSTS_OF_DOCUMENTATION.iter().any(|name| host.starts_with(name));
    row.push(yes(is_documentation));
    row.extend(in_path[1..].iter().copied().map(yes));
    row.push(yes(IN_ADDRESS.iter().any(|part| path.contains(part) || host.contains(part))));
    row.push(share(in_tag(Tag::P), all));
    row.push(share(in_tag(Tag::LI), all));
    row.push(share(sentences, all));
    row.push(share(largest, all));
    row.push(share(links, blocks));
    row
}
