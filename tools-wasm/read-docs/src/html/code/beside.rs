//! Removes content that generators put next to code: line numbers, copy buttons, language labels, and the
//! tables that place numbers next to code.

use std::collections::HashSet;

use dom_query::{Document as Dom, NodeId, NodeRef};

use crate::html::present::Present;

/// Elements that are never part of the code.
const CONTROLS: &str = "pre button, pre summary, pre .boring, pre .sr-only, pre .visually-hidden, pre .line-highlight, \
    pre .command-line-prompt, pre .buttons, pre clipboard-copy, .code-toolbar > .toolbar, .code-copy, .copy-button, \
    .copybtn, .copy-btn, .btn-copy, .btn-clipboard, .copy-code-button, .copy-to-clipboard-button, \
    .clipboard-button, .zeroclipboard-container, .copy-popup-wrapper, clipboard-copy, button.copy, button.snippet-copy, \
    div[class*='language-'] > span.lang, .expressive-code .sr-only, .line-numbers-wrapper, .example-wrap > .tooltip, .information > .tooltip, \
    .example-wrap > .test-arrow, pre .test-arrow, .src-line-numbers, .example-line-numbers, pre.rust [data-nosnippet]";
/// Elements for line numbers, if they contain only numbers.
const NUMBERS: &str = "pre .linenos, pre .lineno, pre .linenumber, pre .line-number, pre .line-numbers, \
    pre .line-numbers-rows, pre .react-syntax-highlighter-line-number, pre .ln, pre .lnt, pre .gutter, pre .gl, \
    pre .linenums-number, pre .hljs-ln-numbers, pre .CodeMirror-linenumber, pre .CodeMirror-gutter-wrapper, pre .blob-num, \
    pre .line-num, pre .code-line-number, pre [style*='user-select'], \
    td.linenos, td.gutter, td.rouge-gutter, td.blob-num, td.hljs-ln-numbers, td.lineno, td.lntd, pre.lineno, .linenodiv, \
    div.line-numbers, .gutter > pre";
/// Table elements.
const PARTS: [&str; 6] = ["tbody", "thead", "tr", "td", "th", "table"];
/// Maximum number of cells in a table that holds code: numbers, code, and a file name.
const MAX_CELLS: usize = 8;

/// Removes these elements. Returns the blocks whose lines contained numbers.
pub(super) fn remove(dom: &Dom, present: &Present<'_>) -> HashSet<NodeId> {
    present.remove(CONTROLS);
    let mut numbered = HashSet::new();
    for number in present.select(NUMBERS) {
        if number.has_name("code") || !is_numbers(&number) {
            continue;
        }
        let blocks = number.ancestors_it(None).filter(|around| around.has_name("pre"));
        numbered.extend(blocks.last().map(|block| block.id));
        number.remove_from_parent();
    }
    for pre in dom.select("pre").nodes() {
        let is_emptied = numbered.contains(&pre.id) && pre.text().trim().is_empty();
        if is_emptied && pre.ancestors_it(None).any(|around| around.has_name("td")) {
            pre.remove_from_parent();
        }
    }
    numbered
}

/// Returns `true` if the text consists of digits and separators.
fn is_numbers(node: &NodeRef<'_>) -> bool {
    let is_mark = |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '.' | ':' | '|');
    node.text().chars().all(is_mark)
}

/// Unwraps tables that only contain code after their numbers were removed.
pub(super) fn drop_tables(dom: &Dom) {
    let mut seen = HashSet::new();
    for pre in dom.select("td pre").nodes() {
        let Some(table) = pre.ancestors_it(None).find(|around| around.has_name("table")) else { continue };
        if !seen.insert(table.id) {
            continue;
        }
        let parts: Vec<_> = table.descendants_it().filter(is_part).take(3 * MAX_CELLS).collect();
        let is_cell = |part: &&NodeRef<'_>| part.has_name("td") || part.has_name("th");
        let full = |part: &&NodeRef<'_>| is_cell(part) && !part.text().trim().is_empty();
        let with_text: Vec<_> = parts.iter().filter(full).collect();
        let others =
            with_text.iter().filter(|cell| !pre.ancestors_it(None).any(|around| around.id == cell.id));
        if with_text.len() > MAX_CELLS || !others.clone().all(|cell| cell.has_class("filename")) {
            continue;
        }
        for part in parts.iter().chain([&table]) {
            part.rename("div");
        }
    }
}

fn is_part(node: &NodeRef<'_>) -> bool {
    PARTS.iter().any(|name| node.has_name(name))
}
