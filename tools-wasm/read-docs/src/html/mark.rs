//! Marks DOM elements with `data-x-` attributes for information that extraction would lose: it removes
//! classes, styles, scripts and form fields.

use dom_query::{Document as Dom, NodeRef};

use super::present::Present;
use super::{code, footnotes, grid, math, permalink, signature, tabs};

/// Maximum size of an article's structured data that is parsed, in bytes.
const MAX_DATA_BYTES: usize = 256 * 1024;

/// Prefix of these attributes.
const PREFIX: &str = "data-x-";

/// Marks a page or a fragment of a page completely.
pub(super) fn all(dom: &Dom) {
    prepare(dom);
    mark(dom);
}

/// Prepares a page before the content is selected: drops forged marks and expensive structured data, shows
/// the panels behind tabs, and makes each code listing one element.
pub(super) fn prepare(dom: &Dom) {
    drop_forged(dom);
    drop_broken_data(dom);
    let present = Present::of(dom);
    tabs::show(dom, &present);
    code::mark(dom, &present);
    math::mark(dom);
}

/// Marks a page after the content is selected.
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

/// Removes possible word breaks, and merges the text of split words.
fn whole_words(dom: &Dom) {
    dom.select("wbr").remove();
    dom.normalize();
}

/// Unwraps links from headings that link to themselves.
fn headings(dom: &Dom) {
    let links = "h1 a[href^='#'], h2 a[href^='#'], h3 a[href^='#'], h4 a[href^='#'], h5 a[href^='#'], h6 a[href^='#']";
    for link in dom.select(links).nodes() {
        if link.text().chars().any(char::is_alphanumeric) {
            link.remove_attr("href");
        }
    }
}

/// Removes attributes of the page that look like these marks.
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

/// Removes structured data that is invalid JSON or very long, because the parser is lenient.
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
