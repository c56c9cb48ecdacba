//! Blocks of code: the code as it was written, and its language.
//!
//! A highlighter cuts lines into elements, and puts numbers, buttons and names beside them. Here
//! each block becomes the text that a person would copy. Prompts are part of it.

mod beside;
mod blocks;
mod label;
mod language;
mod lines;

use dom_query::Document as Dom;

use super::present::Present;

pub(super) fn mark(dom: &Dom, present: &Present<'_>) {
    blocks::make(dom, present);
    // Extraction makes paragraphs of line breaks, and so lines of code would run together.
    for line_break in dom.select("pre br").nodes() {
        line_break.rename("span");
        line_break.set_text("\n");
    }
    let numbered = beside::remove(dom, &Present::of(dom));
    for pre in dom.select("pre").nodes() {
        // A block in a block is one of its lines, or all of them in a table.
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
