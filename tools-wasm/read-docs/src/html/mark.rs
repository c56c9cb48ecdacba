//! Marks on the DOM, in attributes of our own, for what extraction would lose: it removes
//! classes, styles, scripts and form fields.

use dom_query::{Document as Dom, NodeRef};

use super::present::Present;
use super::{code, footnotes, grid, math, permalink, signature, tabs};

/// Longest data about an article that is read, in bytes.
const MAX_DATA_BYTES: usize = 256 * 1024;

/// How our attributes begin.
const PREFIX: &str = "data-x-";

/// Marks a page or a piece of one, all of it.
pub(super) fn all(dom: &Dom) {
    prepare(dom);
    mark(dom);
}

/// What comes before the content is chosen: drops marks that a page brings itself, and data that a lenient parser would
/// take long for, shows what is behind tabs, and makes one element of each listing of code.
pub(super) fn prepare(dom: &Dom) {
    drop_forged(dom);
    drop_broken_data(dom);
    let present = Present::of(dom);
    tabs::show(dom, &present);
    code::mark(dom, &present);
    math::mark(dom);
}

/// What comes after it.
pub(super) fn mark(dom: &Dom) {
    let present = Present::of(dom);
    tabs::name(dom);
    permalink::drop(dom, &present);
    signature::mark(dom, &present);
    grid::mark(dom, &present);
    footnotes::mark(dom);
    tasks(dom);
    alignment(dom);
    headings(dom);
    whole_words(dom);
}

/// Where a word may break is nothing that a reader sees; the parts of a word are one text.
fn whole_words(dom: &Dom) {
    dom.select("wbr").remove();
    dom.normalize();
}

/// A heading that links to itself is a heading.
fn headings(dom: &Dom) {
    let links = "h1 a[href^='#'], h2 a[href^='#'], h3 a[href^='#'], h4 a[href^='#'], h5 a[href^='#'], h6 a[href^='#']";
    for link in dom.select(links).nodes() {
        if link.text().chars().any(char::is_alphanumeric) {
            link.remove_attr("href");
        }
    }
}

/// Marks that the page brings itself would be taken for ours.
fn drop_forged(dom: &Dom) {
    let has_forged = |node: &NodeRef<'_>| {
        let element = node.element_ref();
        element.is_some_and(|element| element.attrs.iter().any(|a| a.name.local.starts_with(PREFIX)))
    };
    let root = dom.root();
    let forged: Vec<_> = root.descendants_it().filter(has_forged).collect();
    for node in forged {
        for attribute in node.attrs() {
            if attribute.name.local.starts_with(PREFIX) {
                node.remove_attr(&attribute.name.local);
            }
        }
    }
}

/// Data about the article that is no JSON, or very long, is kept from a lenient parser.
fn drop_broken_data(dom: &Dom) {
    for script in dom.select("script[type='application/ld+json']").nodes() {
        let text = script.text();
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text.trim()).is_ok();
        if text.len() > MAX_DATA_BYTES || !is_json {
            script.remove_from_parent();
        }
    }
}

fn tasks(dom: &Dom) {
    for input in dom.select("li input[type=checkbox]").nodes() {
        let mark = if input.has_attr("checked") { "x" } else { " " };
        input.rename("span");
        input.set_attr("data-x-task", mark);
        input.set_text(format!("[{mark}]"));
    }
}

fn alignment(dom: &Dom) {
    let cells = "th[align], td[align], th[style*=text-align], td[style*=text-align]";
    for cell in dom.select(cells).nodes() {
        let style = cell.attr_or("style", "").to_ascii_lowercase().replace(' ', "");
        let styled = style.split("text-align:").nth(1).unwrap_or_default().to_owned();
        let attribute = cell.attr_or("align", "").to_ascii_lowercase();
        let side = ["right", "center", "left"]
            .into_iter()
            .find(|side| styled.starts_with(side) || styled.is_empty() && attribute == *side);
        if let Some(side) = side {
            cell.set_attr("data-x-align", side);
        }
    }
}
