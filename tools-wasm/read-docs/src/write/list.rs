//! Writes lists: bullets, numbers, tasks, terms with definitions.

use super::{Place, Site, Writer, apart, join};
use crate::html::tree::{Element, Node};

/// Text of an item, and its separation from its neighbors.
struct Item {
    text: String,
    is_loose: bool,
    /// `true` for a footnote, which has its own mark.
    is_note: bool,
    /// Number that the item sets itself.
    number: Option<i64>,
}

/// Returns an attribute that is a number.
fn number_of(element: &Element, name: &str) -> Option<i64> {
    element.attribute(name)?.trim().parse().ok()
}

impl Writer {
    pub(super) fn list(&self, site: Site<'_>, element: &Element) -> String {
        if site.place != Place::Block {
            return self.list_on_a_line(element, site.place);
        }
        let items = self.items(element);
        let is_numbered = &*element.name == "ol";
        let follows_list = follows_list(site, &element.name);
        let is_reversed = element.attribute("reversed").is_some();
        // A list that counts down ends with 1.
        let first = if is_reversed { i64::try_from(items.len()).unwrap_or(i64::MAX) } else { 1 };
        let mut number = number_of(element, "start").unwrap_or(first);
        let mut out = String::new();
        for item in items {
            if item.is_note {
                join(&mut out, &item.text);
                continue;
            }
            // The number of an empty item is information, but a bullet is not.
            if !is_numbered && item.text.trim().is_empty() {
                continue;
            }
            number = item.number.unwrap_or(number);
            // A different mark prevents two consecutive lists from merging.
            let mark = match (is_numbered, follows_list) {
                (true, false) => format!("{number}. "),
                (true, true) => format!("{number}) "),
                (false, false) => "- ".to_owned(),
                (false, true) => "* ".to_owned(),
            };
            number = number.saturating_add(if is_reversed { -1 } else { 1 });
            let indentation = " ".repeat(mark.len());
            let text = self.indented(item.text.trim_end(), &mark, &indentation);
            join(&mut out, &format!("{text}{}", if item.is_loose { "\n\n" } else { "\n" }));
        }
        let out = out.trim_end();
        if &*site.parent.name == "li" { format!("\n{out}\n") } else { apart(out) }
    }

    /// Returns the items. Text and lists directly in a list belong to the previous item.
    fn items(&self, list: &Element) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for (index, node) in list.children.iter().enumerate() {
            let (text, is_item) = match node {
                Node::Text(text) if text.trim().is_empty() => continue,
                Node::Text(text) => (super::escape::text(text.trim(), true), false),
                Node::Element(element) if &*element.name == "li" => {
                    let is_note = element.attribute("data-x-note").is_some();
                    let site = Site { parent: list, index, place: Place::Block, before: None };
                    let text = if is_note {
                        self.block(site, element)
                    } else {
                        self.children(element, Place::Block).trim_start_matches('\n').trim_end().to_owned()
                    };
                    let is_loose = element.elements().any(|e| &*e.name == "p");
                    items.push(Item { text, is_loose, is_note, number: number_of(element, "value") });
                    continue;
                }
                Node::Element(element) => {
                    let site = Site { parent: list, index, place: Place::Block, before: None };
                    (self.element(site, element).trim_matches('\n').to_owned(), false)
                }
            };
            match items.last_mut() {
                Some(item) if !is_item => join(&mut item.text, &format!("\n{text}\n")),
                _ => items.push(Item { text, is_loose: false, is_note: false, number: None }),
            }
        }
        items
    }

    fn list_on_a_line(&self, element: &Element, place: Place) -> String {
        let items = element.elements().map(|item| self.children(item, place));
        let items: Vec<String> =
            items.map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
        let mark = if self.is_plain { "" } else { "• " };
        format!("\n\n{}\n\n", items.iter().map(|item| format!("{mark}{item}")).collect::<Vec<_>>().join("\n"))
    }

    /// Writes terms as bold items, followed by their definitions.
    pub(super) fn definitions(&self, element: &Element) -> String {
        let mut out = String::new();
        let mut groups = Vec::new();
        flatten_groups(element, &mut groups);
        let mut term = String::new();
        for part in groups {
            if &*part.name == "dt" {
                if !term.is_empty() {
                    join(&mut out, &format!("\n- {term}\n"));
                }
                let name = self.children(part, Place::Line);
                // A colon always separates the term and its definition.
                term = self.strong(name.trim_end().trim_end_matches(':'));
                continue;
            }
            let text = self.children(part, Place::Block);
            let text = text.trim_matches('\n').trim_end();
            let is_line = !text.contains('\n') && !text.starts_with("```");
            let item = match (term.is_empty(), text.is_empty()) {
                (_, true) => term.clone(),
                (true, false) => text.to_owned(),
                (false, false) if is_line => format!("{term}: {text}"),
                (false, false) => format!("{term}\n\n{text}"),
            };
            term.clear();
            if !item.is_empty() {
                join(&mut out, &format!("\n{}\n", self.indented(&item, "- ", "  ")));
            }
        }
        if !term.is_empty() {
            join(&mut out, &format!("\n- {term}\n"));
        }
        apart(&out)
    }
}

/// Collects terms and definitions, including those in `<div>` groups.
fn flatten_groups<'a>(element: &'a Element, parts: &mut Vec<&'a Element>) {
    for part in element.elements() {
        let is_group =
            matches!(&*part.name, "div" | "span") && part.any(&|e| matches!(&*e.name, "dt" | "dd"));
        if is_group { flatten_groups(part, parts) } else { parts.push(part) }
    }
}

/// Returns `true` if a list of the same kind directly precedes.
fn follows_list(site: Site<'_>, name: &str) -> bool {
    const NEAR: usize = 1000;
    let before = site.parent.children[..site.index].iter().rev().take(NEAR);
    let mut lists = before.take_while(|node| match node {
        Node::Text(text) => text.trim().is_empty(),
        Node::Element(element) => &*element.name == name,
    });
    let count = lists.by_ref().filter(|node| matches!(node, Node::Element(_))).count();
    // The marks alternate.
    count % 2 == 1
}
