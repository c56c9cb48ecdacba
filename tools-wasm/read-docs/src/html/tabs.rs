//! Tabs: shows every panel below its name, and removes the list of names.
//!
//! A page shows one panel of a set and hides the others with an attribute, a style or a check box. A reader
//! of the text needs all panels and their names. [`show`] runs before the content is selected, and [`name`]
//! runs after it: the name of a panel stays if some of the panel's content stays.

use std::collections::{HashMap, HashSet};

use dom_query::{Document as Dom, NodeId, NodeRef};
use scorpiox_page::line;

use super::present::Present;

/// Maximum length of a tab's name, in characters.
const MAX_NAME: usize = 80;
/// Number of ancestors of a tab list in which its panels are searched.
const NEAR: usize = 3;

/// Maximum total number of elements that are searched for panels, which limits the time for a page with many
/// lists.
const MAX_LOOKED_AT: usize = 200_000;

/// Selectors of tab lists and panels by role.
const ROLES: (&str, &str) = ("[role=tablist]", "[role=tabpanel]");
/// Selectors for labels of hidden check boxes: the set, its labels, its panels.
const LABELLED: [(&str, &str, &str); 7] = [
    // Material for MkDocs, and its older versions without label lists.
    (".tabbed-set", ".tabbed-labels > label", ".tabbed-content > .tabbed-block"),
    (".tabbed-set", ":scope > label", ":scope > .tabbed-content"),
    // Sphinx: sphinx-design, sphinx-inline-tabs.
    (".sd-tab-set", ":scope > label", ":scope > .sd-tab-content"),
    (".tab-set", ":scope > label", ":scope > .tab-content"),
    // VitePress.
    (".vp-code-group", ".tabs > label", ".blocks > *"),
    // Hugo Book; ReadMe.
    (".book-tabs", ":scope > label", ":scope > .book-tabs-content"),
    (".CodeTabs", ".CodeTabs-toolbar > button", ".CodeTabs-inner > *"),
];
/// Bootstrap, and generators that use it.
const LINKED: &str = "ul.nav-tabs a[href^='#'], ul.nav-pills a[href^='#'], .tablist li[id]";
/// Attributes of hidden panels.
const HIDING: [&str; 5] = ["hidden", "aria-hidden", "style", "inert", "aria-labelledby"];

/// Attribute that marks a panel with its name.
const NAME: &str = "data-x-tab";

/// Shows all panels, marks them with their names, and removes the tab lists.
pub(super) fn show(dom: &Dom, present: &Present<'_>) {
    by_label(present);
    by_role(dom);
    by_link(present);
}

/// Inserts the name of each panel before its content.
pub(super) fn name(dom: &Dom) {
    for panel in dom.select("[data-x-tab]").nodes() {
        if !says(panel) {
            continue;
        }
        let line = dom.tree.new_element("p");
        let strong = dom.tree.new_element("strong");
        strong.set_text(panel.attr_or(NAME, ""));
        line.append_child(&strong);
        // If the panel itself is the code, the name precedes the panel.
        if panel.has_name("pre") || panel.class().is_some_and(|class| class.contains("language-")) {
            panel.insert_before(&line);
        } else {
            panel.prepend_child(&line);
        }
    }
}

fn says(panel: &NodeRef<'_>) -> bool {
    panel.descendants_it().any(|node| node.is_nonempty_text() || node.has_name("img"))
}

fn show_panel(panel: &NodeRef<'_>, name: &str) {
    for attribute in HIDING {
        panel.remove_attr(attribute);
    }
    panel.remove_attr("role");
    if !name.is_empty() && !panel.has_attr(NAME) && says(panel) {
        panel.set_attr(NAME, name);
    }
}

fn name_of(tab: &NodeRef<'_>) -> String {
    let text = tab.text();
    let text =
        if text.trim().is_empty() { tab.attr_or("data-title", tab.attr_or("aria-label", "")) } else { text };
    line::text(&text, MAX_NAME)
}

fn by_label(present: &Present<'_>) {
    let mut done = HashSet::new();
    for (set, label, panel) in LABELLED {
        for set in present.select(set) {
            let labels = below(&set, label);
            let panels = below(&set, panel);
            if labels.is_empty() || labels.len() != panels.len() || !done.insert(set.id) {
                continue;
            }
            for (label, panel) in labels.iter().zip(&panels) {
                show_panel(panel, &name_of(label));
                label.remove_from_parent();
            }
            for input in set.children_it(false).filter(|child| child.has_name("input")).collect::<Vec<_>>() {
                input.remove_from_parent();
            }
        }
    }
}

/// Returns the elements at a path of children below a set. Sets inside its panels are not searched.
fn below<'a>(set: &NodeRef<'a>, path: &str) -> Vec<NodeRef<'a>> {
    let mut found = vec![*set];
    for step in path.split(" > ").filter(|step| *step != ":scope") {
        let is_step = |node: &NodeRef<'_>| match step.strip_prefix('.') {
            _ if step == "*" => node.is_element(),
            Some(class) => node.has_class(class),
            None => node.has_name(step),
        };
        found = found.iter().flat_map(|node| node.children_it(false)).filter(|node| is_step(node)).collect();
    }
    found
}

fn by_role(dom: &Dom) {
    let (lists, panels) = ROLES;
    let lists = dom.select(lists);
    if lists.is_empty() {
        return;
    }
    let panels = dom.select(panels);
    let ids: HashMap<String, NodeRef<'_>> =
        panels.nodes().iter().filter_map(|panel| Some((panel.id_attr()?.to_string(), *panel))).collect();
    let labels: HashMap<String, NodeRef<'_>> = panels
        .nodes()
        .iter()
        .filter_map(|panel| Some((panel.attr("aria-labelledby")?.to_string(), *panel)))
        .collect();
    let is_panel: HashSet<NodeId> = panels.nodes().iter().map(|panel| panel.id).collect();
    let mut left = MAX_LOOKED_AT;
    for list in lists.nodes() {
        let has_role = |node: &NodeRef<'_>| node.attr_or("role", "").as_ref() == "tab";
        let tabs: Vec<_> = list.descendants_it().filter(has_role).collect();
        let own = |tab: &NodeRef<'_>| {
            let controls = tab.attr("aria-controls").and_then(|id| ids.get(&*id));
            let linked = || tab.attr("href").and_then(|href| ids.get(href.strip_prefix('#')?));
            controls.or_else(linked).or_else(|| labels.get(&*tab.id_attr()?)).copied()
        };
        let mut found: Vec<_> = tabs.iter().filter_map(|tab| Some((*tab, own(tab)?))).collect();
        if found.len() < tabs.len() {
            let near = panels_near(list, &is_panel, &mut left);
            if near.len() == tabs.len() {
                found = tabs.iter().copied().zip(near).collect();
            }
        }
        for (tab, panel) in &found {
            show_panel(panel, &name_of(tab));
        }
        // Without panels, the tab list may be the only content.
        if !found.is_empty() {
            list.remove_from_parent();
        }
    }
}

/// Returns the panels near a tab list, except panels inside other panels.
fn panels_near<'a>(list: &NodeRef<'a>, is_panel: &HashSet<NodeId>, left: &mut usize) -> Vec<NodeRef<'a>> {
    let mut panels = Vec::new();
    for around in list.ancestors_it(Some(NEAR)) {
        let mut waiting: Vec<_> = around.children();
        waiting.reverse();
        while let Some(node) = waiting.pop() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return Vec::new();
            }
            if is_panel.contains(&node.id) {
                panels.push(node);
            } else {
                let mut children = node.children();
                children.reverse();
                waiting.extend(children);
            }
        }
        if !panels.is_empty() {
            break;
        }
    }
    panels
}

fn by_link(present: &Present<'_>) {
    let tabs = present.select(LINKED);
    if tabs.is_empty() {
        return;
    }
    let panes = present.select(".tab-pane[id], .tabpanel[id]");
    let ids: HashMap<String, NodeRef<'_>> =
        panes.iter().filter_map(|pane| Some((pane.id_attr()?.to_string(), *pane))).collect();
    for tab in &tabs {
        let linked = tab.attr("href").and_then(|href| ids.get(href.strip_prefix('#')?));
        let numbered = || ids.get(&format!("{}--panel", tab.id_attr()?));
        let Some(pane) = linked.or_else(numbered) else { continue };
        show_panel(pane, &name_of(tab));
        let entry =
            if tab.has_name("li") { Some(*tab) } else { tab.parent().filter(|parent| parent.has_name("li")) };
        entry.unwrap_or(*tab).remove_from_parent();
    }
}
