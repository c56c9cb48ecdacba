//! Limits the growth of a drawing through its references: `use` copies elements, which may contain `use`
//! again; a marker is copied to each corner of a path; patterns, masks and filters are drawn for each
//! reference; entities stand for text that may contain entities; each selector of a style sheet is compared
//! with each element.

use std::collections::{HashMap, HashSet};

use resvg::usvg::roxmltree::{Document, Node, NodeId};

use super::{MAX_DEPTH, work};
use crate::problem::Problem;

/// Maximum number of XML nodes of the text.
pub(super) const MAX_XML_NODES: u32 = 250_000;
/// Maximum number of elements after `use` has copied them.
const MAX_ELEMENTS: u64 = 100_000;
/// Maximum number of letters of one text, because the time of its layout is quadratic. `MAX_LETTERS` limits
/// the letters of all texts.
const MAX_TEXT_LETTERS: u64 = 10_000;
const MAX_LETTERS: u64 = 100_000;
/// Maximum number of elements after all references are followed; many are gradients, which are cheap.
const MAX_FOLLOWED: u64 = 1_000_000;
/// Maximum number of comparisons between a selector and an element.
const MAX_MATCHES: u64 = 20_000_000;
/// Maximum size of expanded entities, in bytes.
const MAX_ENTITY_TEXT: usize = 4 * 1024 * 1024;
/// Maximum number of references in one entity that the parser follows (limit of `roxmltree`).
const NESTED_REFERENCES: usize = 256;

/// Refuses text whose entities could grow without limit.
pub(super) fn check_entities(text: &str) -> Result<(), Problem> {
    let values: Vec<&str> = text.split("<!ENTITY").skip(1).filter_map(quoted).collect();
    let longest = values.iter().map(|value| value.len()).max().unwrap_or(0);
    let nested = if values.iter().any(|value| value.contains('&')) { NESTED_REFERENCES } else { 1 };
    let uses = if longest > 0 { text.matches('&').count() } else { 0 };
    if longest.saturating_mul(nested).saturating_mul(uses) > MAX_ENTITY_TEXT {
        return Err(work(format!(
            "its entities could grow to more than {} MiB of text",
            MAX_ENTITY_TEXT >> 20
        )));
    }
    Ok(())
}

fn quoted(declaration: &str) -> Option<&str> {
    let start = declaration.find(['"', '\''])?;
    let quote = char::from(declaration.as_bytes()[start]);
    let value = &declaration[start + 1..];
    Some(&value[..value.find(quote).unwrap_or(value.len())])
}

/// Refuses a drawing whose references grow without limit.
pub(super) fn check(document: &Document<'_>) -> Result<(), Problem> {
    let mut ids = HashMap::new();
    for node in document.descendants() {
        if let Some(id) = node.attribute("id") {
            ids.entry(id).or_insert(node);
        }
    }
    let mut walk = Walk { ids, styled: Vec::new(), known: HashMap::new(), open: HashSet::new() };
    let sheets =
        document.descendants().filter(|node| node.has_tag_name("style") || node.tag_name().name() == "style");
    let texts: Vec<&str> = sheets.flat_map(|sheet| sheet.children()).filter_map(|text| text.text()).collect();
    let selectors = texts.iter().map(|text| text.matches(['{', ',']).count() as u64).sum::<u64>();
    walk.styled = texts.iter().flat_map(|text| walk.urls(text)).collect();
    let size = walk.size(document.root_element(), 0)?;
    if size.elements > MAX_ELEMENTS {
        return Err(work(format!(
            "it has {} elements after copying; at most {MAX_ELEMENTS} are drawn",
            size.elements
        )));
    }
    if selectors.saturating_mul(size.elements) > MAX_MATCHES {
        return Err(work(format!(
            "its style sheets have {selectors} selectors for {} elements",
            size.elements
        )));
    }
    if size.letters > MAX_LETTERS {
        return Err(work(format!(
            "it has {} letters of text; at most {MAX_LETTERS} are drawn",
            size.letters
        )));
    }
    if size.followed > MAX_FOLLOWED {
        return Err(work(format!("its references lead to {} elements", size.followed)));
    }
    Ok(())
}

/// Size of an element after references are followed.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Number of elements, including copies.
    elements: u64,
    /// Number of drawn elements, counted for each reference.
    followed: u64,
    /// Number of letters of text, counted each time they are drawn.
    letters: u64,
    /// Number of levels, including the element.
    height: u32,
}

impl Size {
    fn times(self, times: u64) -> Self {
        Self {
            elements: self.elements.saturating_mul(times),
            followed: self.followed.saturating_mul(times),
            letters: self.letters.saturating_mul(times),
            height: self.height,
        }
    }

    fn add(&mut self, other: Self, copied: bool) {
        if copied {
            self.elements = self.elements.saturating_add(other.elements);
        }
        self.followed = self.followed.saturating_add(other.followed);
        self.letters = self.letters.saturating_add(other.letters);
        self.height = self.height.max(other.height.saturating_add(1));
    }
}

struct Walk<'d, 'i> {
    ids: HashMap<&'d str, Node<'d, 'i>>,
    /// Targets of references in style sheets. Each of them may apply to any element, because selectors are
    /// not matched.
    styled: Vec<Node<'d, 'i>>,
    known: HashMap<NodeId, Size>,
    open: HashSet<NodeId>,
}

impl<'d, 'i> Walk<'d, 'i> {
    fn size(&mut self, node: Node<'d, 'i>, depth: u32) -> Result<Size, Problem> {
        if let Some(size) = self.known.get(&node.id()) {
            let size = *size;
            return if depth + size.height > MAX_DEPTH { Err(deep()) } else { Ok(size) };
        }
        if depth >= MAX_DEPTH {
            return Err(deep());
        }
        if !self.open.insert(node.id()) {
            return Err(work("its elements refer to each other in a circle".to_owned()));
        }
        let mut size = Size { elements: 1, followed: 1, letters: letters(node), height: 1 };
        for child in node.children().filter(Node::is_element) {
            size.add(self.size(child, depth + 1)?, true);
        }
        if node.tag_name().name() == "text" && size.letters > MAX_TEXT_LETTERS {
            let letters = size.letters;
            return Err(work(format!(
                "a text has {letters} letters; at most {MAX_TEXT_LETTERS} are drawn as one"
            )));
        }
        let copies = node.tag_name().name() == "use";
        for (target, times) in self.targets(node) {
            size.add(self.size(target, depth + 1)?.times(times), copies || is_marker(target));
        }
        for target in self.styled.clone() {
            // A cycle may be caused by this assumption and not by the style sheet.
            if !self.open.contains(&target.id()) {
                let times = if is_marker(target) { corners(node) } else { 1 };
                size.add(self.size(target, depth + 1)?.times(times), is_marker(target));
            }
        }
        self.open.remove(&node.id());
        self.known.insert(node.id(), size);
        Ok(size)
    }

    /// Returns the elements that an element's attributes refer to, and how often each is drawn.
    fn targets(&self, node: Node<'d, 'i>) -> Vec<(Node<'d, 'i>, u64)> {
        let mut targets = Vec::new();
        for attribute in node.attributes() {
            // The target of a link is not drawn.
            if attribute.name() == "href" && node.tag_name().name() != "a" {
                let id = attribute.value().trim().strip_prefix('#');
                targets.extend(id.and_then(|id| self.ids.get(id)).map(|target| (*target, 1)));
            }
            let once = matches!(attribute.name(), "marker-start" | "marker-end");
            for target in self.urls(attribute.value()) {
                targets.push((target, if is_marker(target) && !once { corners(node) } else { 1 }));
            }
        }
        targets
    }

    /// Returns the elements that `url(#id)` in a text refers to.
    fn urls(&self, text: &str) -> Vec<Node<'d, 'i>> {
        let ids = text.split("url(").skip(1).filter_map(|rest| {
            let id = rest.split(')').next()?.trim().trim_matches(['"', '\'']);
            id.trim().strip_prefix('#')
        });
        ids.filter_map(|id| self.ids.get(id).copied()).collect()
    }
}

fn is_marker(node: Node<'_, '_>) -> bool {
    node.tag_name().name() == "marker"
}

/// Returns the maximum number of corners of a path, each of which gets a marker. A corner takes at least two
/// characters.
fn corners(node: Node<'_, '_>) -> u64 {
    let path = node.attribute("d").or_else(|| node.attribute("points")).unwrap_or_default();
    path.len() as u64 / 2 + 1
}

/// Counts letters in the direct text of an element.
fn letters(node: Node<'_, '_>) -> u64 {
    if matches!(node.tag_name().name(), "style" | "script" | "metadata" | "title" | "desc") {
        return 0;
    }
    let texts = node.children().filter(Node::is_text).filter_map(|text| text.text());
    texts.map(|text| text.split_whitespace().map(|word| word.chars().count() as u64 + 1).sum::<u64>()).sum()
}

fn deep() -> Problem {
    work(format!("its elements nest deeper than {MAX_DEPTH} levels, references included"))
}
