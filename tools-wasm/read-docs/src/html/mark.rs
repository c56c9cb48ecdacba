//! Marks on the DOM, in attributes of our own, for what extraction would lose: it removes
//! classes, styles, scripts and form fields.

use dom_query::{Document as Dom, NodeRef};

use super::{code, footnotes, math};

/// Longest data about an article that is read, in bytes.
const MAX_DATA_BYTES: usize = 256 * 1024;

pub(super) fn mark(dom: &Dom) {
    drop_forged(dom);
    drop_broken_data(dom);
    code::mark(dom);
    math::mark(dom);
    footnotes::mark(dom);
    tasks(dom);
    alignment(dom);
}

/// Marks that the page brings itself would be taken for ours.
fn drop_forged(dom: &Dom) {
    for node in dom.root().descendants_it().filter(NodeRef::is_element) {
        let forged = |name: &str| name.starts_with("data-x-");
        let names: Vec<String> = node
            .element_ref()
            .map(|element| {
                element.attrs.iter().map(|a| a.name.local.to_string()).filter(|n| forged(n)).collect()
            })
            .unwrap_or_default();
        for name in names {
            node.remove_attr(&name);
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
