//! Footnotes: finds the links that refer to notes, and the elements that are notes.

use std::collections::{HashMap, HashSet};

use dom_query::{Document as Dom, NodeRef};

/// Maximum length of a label, in characters. Notes with longer labels are numbered.
const MAX_LABEL: usize = 20;

pub(super) fn mark(dom: &Dom) {
    let references: Vec<_> =
        dom.select("a[href^='#']").nodes().iter().copied().filter(is_reference).collect();
    if references.is_empty() {
        return;
    }
    let targets = by_id(dom);
    let mut labels: HashMap<String, String> = HashMap::new();
    let mut used: HashSet<String> = HashSet::new();
    for reference in references {
        let href = reference.attr_or("href", "");
        let id = href.trim_start_matches('#').to_owned();
        let Some(note) = targets.get(&id) else { continue };
        let label = labels.entry(id).or_insert_with(|| {
            let label = label_of(&reference, &used);
            used.insert(label.clone());
            note.set_attr("data-x-note", &label);
            drop_backlinks(note);
            label
        });
        reference.set_attr("data-x-ref", label);
    }
}

/// Returns the elements that can be notes, by ID.
fn by_id(dom: &Dom) -> HashMap<String, NodeRef<'_>> {
    let notes = dom.select("li[id], p[id], div[id], aside[id], dd[id]");
    let mut all = HashMap::new();
    for note in notes.nodes() {
        let id = note.id_attr().map(|id| id.to_string()).unwrap_or_default();
        all.entry(id).or_insert(*note);
    }
    all
}

fn is_reference(link: &NodeRef<'_>) -> bool {
    let text = link.text();
    let text = text.trim();
    // A link back from a note to the text.
    if text.is_empty() || text.contains(['↩', '^', '↑']) || text.chars().count() > MAX_LABEL {
        return false;
    }
    let class = link.class().unwrap_or_default().to_ascii_lowercase();
    let says_so = class.contains("footnote-ref")
        || class.contains("footnote-reference")
        || class.contains("noteref")
        || link.attr_or("role", "").as_ref() == "doc-noteref"
        || link.has_attr("data-footnote-ref")
        || link.attr_or("epub:type", "").as_ref() == "noteref";
    let is_raised = link.parent().is_some_and(|parent| parent.has_name("sup"))
        || link.children_it(false).any(|child| child.has_name("sup"));
    let to_note = link.attr_or("href", "").to_ascii_lowercase();
    let named = ["fn", "note", "cite", "ftn"].iter().any(|part| to_note.contains(part));
    says_so || is_raised && named && !class.contains("backref")
}

fn label_of(link: &NodeRef<'_>, used: &HashSet<String>) -> String {
    let text = link.text();
    let own: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    if !own.is_empty() && !used.contains(&own) {
        return own;
    }
    // There are more candidates than used labels, so one is free.
    let names = (used.len()..=2 * used.len()).map(|n| format!("n{n}"));
    names.into_iter().find(|label| !used.contains(label)).unwrap_or_default()
}

fn drop_backlinks(note: &NodeRef<'_>) {
    let links: Vec<_> = note.descendants_it().filter(|node| node.has_name("a")).collect();
    for link in links {
        let class = link.class().unwrap_or_default().to_ascii_lowercase();
        let text = link.text();
        let is_back = class.contains("backref")
            || class.contains("back-link")
            || link.attr_or("role", "").as_ref() == "doc-backlink"
            || link.has_attr("data-footnote-backref")
            || link.attr_or("href", "").starts_with('#')
                && text.chars().all(|c| {
                    matches!(c, '↩' | '\u{fe0e}' | '^' | '↑' | '⏎' | '[' | ']') || c.is_whitespace()
                });
        if is_back {
            link.remove_from_parent();
        }
    }
}
