//! Lines of code, where each line may be an element.
//!
//! Some highlighters write the line breaks between their elements, some inside them, and some rely on a style
//! sheet. This module gives each line exactly one line break.

use std::collections::HashSet;

use dom_query::{NodeData, NodeId, NodeRef};

/// Classes of elements that are lines.
const LINES: [&str; 13] = [
    "line",
    "token-line",
    "ec-line",
    "code-line",
    "code__line",
    "source-line",
    "highlight-line",
    "react-code-line",
    "view-line",
    "cm-line",
    "ace_line",
    "CodeMirror-line",
    "hljs-ln-line",
];
/// Elements that begin and end on their own lines. Cells are excluded because the cells of a row form one
/// line.
const BLOCKS: [&str; 7] = ["div", "li", "p", "tr", "pre", "section", "figure"];
/// Classes of added lines in a diff. `REMOVED` has the classes of removed lines.
const ADDED: [&str; 5] = ["add", "ins", "added", "inserted", "addition"];
const REMOVED: [&str; 5] = ["remove", "del", "removed", "deleted", "deletion"];

/// Joins the block into a single text, if its lines are elements or need correction.
pub(super) fn join(pre: &NodeRef<'_>, is_numbered: bool) {
    let lines = lines_of(pre);
    if lines.is_empty() && !is_numbered {
        return;
    }
    let mut code = Code { lines, text: String::new(), is_made: false, marks: Vec::new() };
    code.read(pre);
    let is_diff = !code.marks.is_empty() && pre.attr_or("data-x-lang", "").as_ref() != "diff";
    let text = if is_diff { code.with_marks() } else { code.text };
    if is_diff {
        pre.set_attr("data-x-lang", "diff");
    }
    pre.set_text(if is_numbered { without_gap(&text) } else { text });
}

/// Finds the line elements: elements of one kind that contain no other such element.
fn lines_of(pre: &NodeRef<'_>) -> HashSet<NodeId> {
    let mut lines = HashSet::new();
    let mut holders: HashSet<NodeId> = HashSet::new();
    for node in pre.descendants_it() {
        if !can_be_line(&node) {
            continue;
        }
        lines.insert(node.id);
        for around in node.ancestors_it(None) {
            if around.id == pre.id || !holders.insert(around.id) {
                break;
            }
        }
    }
    lines.retain(|line| !holders.contains(line));
    lines
}

fn can_be_line(node: &NodeRef<'_>) -> bool {
    if !node.is_element() {
        return false;
    }
    if BLOCKS.iter().any(|name| node.has_name(name)) {
        return true;
    }
    let is_sibling = |other: Option<NodeRef<'_>>| other.is_some_and(|other| other.has_name("code"));
    if node.has_name("code") {
        let is_direct = node.parent().is_some_and(|parent| parent.has_name("pre"));
        return is_direct
            && (is_sibling(node.next_element_sibling()) || is_sibling(node.prev_element_sibling()));
    }
    let is_named = LINES.iter().any(|class| node.has_class(class)) || node.has_attr("data-line");
    is_named && stands_alone(node)
}

/// Returns `true` if no other text is on the element's line.
fn stands_alone(node: &NodeRef<'_>) -> bool {
    let text = |other: Option<NodeRef<'_>>| other.filter(NodeRef::is_text).map(|other| other.text());
    let ends = |text: &str| {
        text.trim_matches([' ', '\t']).is_empty() || text.trim_end_matches([' ', '\t']).ends_with('\n')
    };
    let starts = |text: &str| text.trim_matches([' ', '\t']).is_empty() || text.starts_with(['\n', '\r']);
    text(node.prev_sibling()).is_none_or(|text| ends(&text))
        && text(node.next_sibling()).is_none_or(|text| starts(&text))
}

/// A block that is being read.
struct Code {
    lines: HashSet<NodeId>,
    text: String,
    /// `true` if the final line break was inserted here. A line break that follows is the same one.
    is_made: bool,
    /// Start positions of added and removed lines.
    marks: Vec<(usize, char)>,
}

impl Code {
    /// Reads the children. The recursion is shallow because deeper levels are already flattened to text.
    fn read(&mut self, node: &NodeRef<'_>) {
        for child in node.children_it(false) {
            if child.is_text() {
                child.query(|inner| {
                    if let NodeData::Text { contents } = &inner.data {
                        self.push(contents);
                    }
                });
            } else if self.lines.contains(&child.id) {
                self.line(&child);
            } else {
                self.read(&child);
            }
        }
    }

    fn push(&mut self, text: &str) {
        let rest = if self.is_made { text.strip_prefix('\n').unwrap_or(text) } else { text };
        if !text.is_empty() {
            self.is_made = false;
        }
        self.text.push_str(rest);
    }

    fn line(&mut self, line: &NodeRef<'_>) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let begin = self.text.len();
        self.is_made = false;
        if let Some(mark) = mark_of(line) {
            self.marks.push((begin, mark));
        }
        self.read(line);
        // Doxygen puts a space on empty lines.
        if matches!(self.text.get(begin..), Some(" " | "\u{a0}")) {
            self.text.truncate(begin);
        }
        let is_blank = self.text.len() == begin;
        if !self.text.ends_with('\n') || is_blank {
            if is_blank && !is_blank_line(line) {
                return;
            }
            self.text.push('\n');
            self.is_made = true;
        }
    }

    /// Formats a diff: a mark before each line.
    fn with_marks(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 16);
        let mut marks = self.marks.iter().peekable();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let mut mark = ' ';
            while let Some((_, own)) = marks.next_if(|(begin, _)| *begin <= at) {
                mark = *own;
            }
            if !line.starts_with(mark) || mark == ' ' {
                out.push(mark);
            }
            out.push_str(line);
            at += line.len();
        }
        out
    }
}

fn mark_of(line: &NodeRef<'_>) -> Option<char> {
    let has = |classes: &[&str], node: &NodeRef<'_>| classes.iter().any(|class| node.has_class(class));
    let around = line.parent().filter(|parent| LINES.iter().any(|class| parent.has_class(class)));
    [Some(*line), around]
        .into_iter()
        .flatten()
        .find_map(|node| if has(&ADDED, &node) { Some('+') } else { has(&REMOVED, &node).then_some('-') })
}

/// Returns `true` for an element without text among elements of the same kind: it is an empty line.
fn is_blank_line(line: &NodeRef<'_>) -> bool {
    let name = line.node_name();
    let is_alike = |other: Option<NodeRef<'_>>| other.is_some_and(|other| other.node_name() == name);
    LINES.iter().any(|class| line.has_class(class))
        || line.has_attr("data-line")
        || is_alike(line.next_element_sibling())
        || is_alike(line.prev_element_sibling())
}

/// Removes the no-break space that Doxygen puts between numbers and code.
fn without_gap(text: &str) -> String {
    const GAP: char = '\u{a0}';
    let mut lines = text.lines().filter(|line| !line.is_empty());
    if !lines.all(|line| line.starts_with(GAP)) {
        return text.to_owned();
    }
    text.split_inclusive('\n').map(|line| line.strip_prefix(GAP).unwrap_or(line)).collect()
}
