//! Formats a feed as a document: its title and description, then a section for each entry.

use url::Url;

use super::{Entry, Feed, Text};
use crate::Format;
use crate::document::Document;
use crate::html::tree::Node;
use crate::tree::{Blocks, element, link, lower_headings, simple, text};

/// Maximum total size of the entries' HTML, in bytes. Further entries are only listed.
const MAX_HTML: usize = 16 * 1024 * 1024;

pub(super) fn write(feed: Feed, url: &Url, format: Format) -> Document {
    let mut blocks = Blocks::new(format);
    let title = feed.title.as_ref().map(Text::line).filter(|title| !title.is_empty());
    blocks.push(about(&feed, title.as_deref(), url));
    let mut cost: usize = 0;
    let mut listed: usize = 0;
    for (number, entry) in feed.entries.iter().enumerate() {
        let body = entry.content.as_ref().or(entry.summary.as_ref());
        cost = cost.saturating_add(body.map_or(0, Text::cost));
        let is_read = cost <= MAX_HTML;
        listed += usize::from(!is_read);
        blocks.push(part(entry, number, body.filter(|_| is_read)));
    }
    let mut notes = Vec::new();
    if listed > 0 {
        notes.push(format!("The feed is long; the texts of its last {listed} entries were left out."));
    }
    let (body, cut) = blocks.finish();
    notes.extend(feed.cut.into_iter().chain(cut));
    Document { title, byline: feed.author, published: feed.updated, body, notes, ..Document::default() }
}

fn about(feed: &Feed, title: Option<&str>, url: &Url) -> Vec<Node> {
    let address = feed.link.as_ref().unwrap_or(url);
    let count = match feed.entries.len() {
        0 => "no entries".to_owned(),
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let facts = [
        Some(text("Feed")),
        feed.author.as_deref().map(|author| text(format!("By {author}"))),
        feed.updated.as_deref().map(text),
        Some(link(address.as_str(), vec![text(address.as_str())])),
        Some(text(count)),
    ];
    let mut nodes = vec![simple("h1", title.unwrap_or("Feed")), line(facts)];
    let mut description = feed.description.as_ref().map(Text::nodes).unwrap_or_default();
    lower_headings(&mut description, 2);
    nodes.extend(description);
    nodes
}

fn part(entry: &Entry, number: usize, body: Option<&Text>) -> Vec<Node> {
    let title = entry.title.as_ref().map(Text::line).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| format!("Entry {}", number.saturating_add(1)));
    let facts = [
        entry.date.as_deref().map(text),
        entry.author.as_deref().map(|author| text(format!("By {author}"))),
        entry.link.as_ref().map(|url| link(url.as_str(), vec![text(url.as_str())])),
    ];
    let mut nodes = vec![simple("h2", title), line(facts)];
    let mut content = body.map(Text::nodes).unwrap_or_default();
    lower_headings(&mut content, 2);
    nodes.push(element("div", content));
    for file in &entry.enclosures {
        nodes.push(element("p", vec![text("Attached: "), link(file.as_str(), vec![text(file.as_str())])]));
    }
    nodes
}

/// Joins facts with dots.
fn line<const N: usize>(facts: [Option<Node>; N]) -> Node {
    let mut nodes = Vec::new();
    for fact in facts.into_iter().flatten() {
        if !nodes.is_empty() {
            nodes.push(text(" · "));
        }
        nodes.push(fact);
    }
    element("p", nodes)
}
