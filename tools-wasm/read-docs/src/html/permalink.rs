//! Removes links that are not content: permalinks next to headings and names, links to source code, edit
//! links, and links that skip the navigation.

use dom_query::{Document as Dom, NodeRef};
use scorpiox_page::line;

use super::present::Present;

/// Selectors for generators' links.
const NAMED: &str = "a.headerlink, a.header-anchor, a.hash-link, a.doc-anchor, a.anchorjs-link, a.heading-link, \
    a.anchor-link, a.heading-anchor, a.sl-anchor-link, a.tsd-anchor-icon, a.selflink, span.permalink, .anchor-wrapper > .anchor-icon, \
    a.permalink, a.anchor, a.srclink, a.src, .viewcode-link, .view-source-button, a.theme-edit-this-page, .edit-link > a, \
    a.edit-this-page, a.edit-page-link, .edit-this-page, .source_link, .showSource, .view-source, a.source-link, \
    a[aria-label='Permalink'], a[aria-label='Direct link to heading'], .mw-editsection, a.link, .detail-link";
/// Texts of permalinks without a known class.
const SIGNS: [&str; 9] = ["", "#", "¶", "§", "🔗", "◆", "◆\u{a0}", "\u{200b}", "\u{fe0e}"];
/// Texts of links to a page's source.
const EDITS: [&str; 10] = [
    "edit this page",
    "edit this page on github",
    "edit this page on gitlab",
    "edit page",
    "edit on github",
    "edit on gitlab",
    "suggest edits",
    "suggest an edit",
    "improve this page",
    "view page source",
];

pub(super) fn drop(dom: &Dom, present: &Present<'_>) {
    for node in present.select(NAMED) {
        if is_only_a_sign(&node) {
            drop_with_frame(&node);
        }
    }
    for link in dom.select("a[href]").nodes() {
        let own = link.attr_or("href", "");
        let is_permanent =
            || own.starts_with('#') && is_sign(&link.text()) && !holds_picture(link) && beside_name(link);
        let skips = || own.starts_with('#') && said(link).starts_with("skip to ");
        let edits = || is_place_of_source(&own) && EDITS.contains(&said(link).as_str());
        if is_permanent() || skips() || edits() {
            drop_with_frame(link);
        }
    }
}

/// Returns `true` if the link shows only a sign. A link with one of these classes may also wrap the heading
/// itself.
fn is_only_a_sign(node: &NodeRef<'_>) -> bool {
    const SAYS: [&str; 9] =
        ["[src]", "[source]", "src", "source", "view source", "edit", "[edit]", "link", "permalink"];
    if node.has_class("mw-editsection") {
        return true;
    }
    let said = said(node);
    let is_sign = !said.chars().any(char::is_alphanumeric) && !holds_picture(node);
    is_sign
        || SAYS.contains(&said.as_str())
        || EDITS.contains(&said.as_str())
        || ["permalink", "section titled", "direct link", "link to this", "anchor link", "copy link"]
            .iter()
            .any(|start| said.starts_with(start))
}

/// Returns `true` if the link is in a heading, a term, or an element that begins with a name.
fn beside_name(link: &NodeRef<'_>) -> bool {
    let Some(parent) = link.parent() else { return false };
    let is_name = |node: &NodeRef<'_>| {
        ["h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"].iter().any(|name| node.has_name(name))
    };
    is_name(&parent)
        || parent.parent().is_some_and(|around| is_name(&around))
        || link.text().trim().chars().any(|c| matches!(c, '¶' | '§' | '🔗'))
}

/// Returns `true` for a known sign, or for characters of an icon font.
fn is_sign(text: &str) -> bool {
    let text = text.trim();
    SIGNS.contains(&text) || text.chars().all(|c| matches!(c, '\u{e000}'..='\u{f8ff}'))
}

fn holds_picture(node: &NodeRef<'_>) -> bool {
    node.descendants_it().any(|below| below.has_name("img"))
}

/// Returns `true` for URLs at which repository hosts show and edit files.
fn is_place_of_source(href: &str) -> bool {
    ["/edit/", "/blob/", "/_edit/", "/-/edit", "/src/", "/tree/", "_sources/", "/raw/"]
        .iter()
        .any(|part| href.contains(part))
}

/// Returns the text in lower case on one line.
fn said(node: &NodeRef<'_>) -> String {
    const LONGEST: usize = 80;
    line::text(&node.text(), LONGEST).to_lowercase()
}

/// Removes the node, together with a parent link or bracket that would become empty.
fn drop_with_frame(node: &NodeRef<'_>) {
    let frame = node.parent().filter(|parent| {
        let is_frame = parent.has_name("a") || parent.has_name("span") && parent.has_class("viewcode-link");
        is_frame && parent.children_it(false).all(|child| child.id == node.id || is_white(&child))
    });
    frame.unwrap_or(*node).remove_from_parent();
}

fn is_white(node: &NodeRef<'_>) -> bool {
    node.is_text() && node.text().trim().is_empty()
}
