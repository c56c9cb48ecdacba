//! Filters selectors to those whose classes and elements occur in a page.
//!
//! Every generator has its own class names, and a page has those of one generator. Matching all selectors
//! against each element would take longer than all other steps.

use std::collections::HashSet;

use dom_query::{Document as Dom, NodeRef};

/// Maximum number of stored names; pages have a few hundred. Beyond the limit, every selector is tried.
const MAX_NAMES: usize = 20_000;

/// Classes and elements of a page.
pub(super) struct Present<'a> {
    dom: &'a Dom,
    /// Names; classes begin with a dot.
    names: HashSet<String>,
}

impl<'a> Present<'a> {
    pub(super) fn of(dom: &'a Dom) -> Self {
        let mut names = HashSet::new();
        let mut class = String::new();
        for node in dom.root().descendants_it() {
            let Some(element) = node.element_ref() else { continue };
            if names.len() > MAX_NAMES {
                break;
            }
            keep(&mut names, &element.name.local);
            for word in element.attrs.iter().filter(|attribute| &*attribute.name.local == "class") {
                for word in word.value.split_ascii_whitespace() {
                    class.clear();
                    class.push('.');
                    class.push_str(word);
                    keep(&mut names, &class);
                }
            }
        }
        Self { dom, names }
    }

    /// Returns the nodes that match a list of selectors.
    pub(super) fn select(&self, list: &str) -> Vec<NodeRef<'a>> {
        let can_match = |selector: &&str| names(selector).iter().all(|name| self.names.contains(name));
        let is_flood = self.names.len() > MAX_NAMES;
        let kept: Vec<&str> = list.split(", ").filter(|selector| is_flood || can_match(selector)).collect();
        if kept.is_empty() { Vec::new() } else { self.dom.select(&kept.join(", ")).nodes().to_vec() }
    }

    /// Removes the nodes that match a list of selectors.
    pub(super) fn remove(&self, list: &str) {
        for node in self.select(list) {
            node.remove_from_parent();
        }
    }
}

fn keep(names: &mut HashSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// Returns the classes and elements in a selector, without attributes.
fn names(selector: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = selector;
    while let Some(c) = rest.chars().next() {
        let is_class = c == '.';
        let from = if is_class { rest.get(1..).unwrap_or_default() } else { rest };
        let end =
            from.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        if name.is_empty() {
            rest = match c {
                '[' => rest.split_once(']').map_or("", |(_, after)| after),
                // Skips the name of a pseudo-class or an ID.
                ':' | '#' => rest
                    .get(1..)
                    .unwrap_or_default()
                    .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-'),
                _ => rest.get(c.len_utf8()..).unwrap_or_default(),
            };
            continue;
        }
        found.push(if is_class { format!(".{name}") } else { name.to_owned() });
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_names_its_classes_and_elements() {
        let cases: [(&str, &[&str]); 6] = [
            ("a.headerlink", &["a", ".headerlink"]),
            ("pre .line-numbers", &["pre", ".line-numbers"]),
            ("div[class*='language-'] > span.lang", &["div", "span", ".lang"]),
            ("[role=tablist]", &[]),
            ("pre [style*='user-select']", &["pre"]),
            ("dl:first-child > dt#x.sig", &["dl", "dt", ".sig"]),
        ];
        for (selector, wanted) in cases {
            assert_eq!(names(selector), wanted, "{selector}");
        }
    }

    #[test]
    fn what_is_selected_is_what_the_whole_list_selects() {
        let dom = Dom::from("<div class='a b'><p class=c>x</p><pre><b class=d>y</b></pre></div>");
        let list = "p.c, p.x, pre .d, .e pre, [class=c], div.a.b, div.a.x";
        let found = Present::of(&dom).select(list);
        assert_eq!(found.len(), dom.select(list).length());
        assert_eq!(found.len(), 3);
    }
}
