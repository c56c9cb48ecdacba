//! Code blocks: the original code and its language.
//!
//! Highlighters split lines into elements, and add numbers, buttons and names. Each block becomes the text
//! that a user would copy. Prompts are part of it.

mod beside;
mod blocks;
mod label;
mod language;
mod lines;

use dom_query::Document as Dom;

use super::present::Present;

pub(super) fn mark(dom: &Dom, present: &Present<'_>) {
    blocks::make(dom, present);
    // Extraction turns line breaks into paragraphs, which would join lines of code.
    for line_break in dom.select("pre br").nodes() {
        line_break.rename("span");
        line_break.set_text("\n");
    }
    let numbered = beside::remove(dom, &Present::of(dom));
    for pre in dom.select("pre").nodes() {
        // A block inside a block is one of its lines, or all lines inside a table.
        if pre.ancestors_it(None).any(|around| around.has_name("pre")) {
            continue;
        }
        if let Some(language) = label::take(pre, language::of(pre)) {
            pre.set_attr("data-x-lang", &language);
        }
        lines::join(pre, numbered.contains(&pre.id));
    }
    beside::drop_tables(dom);
}
