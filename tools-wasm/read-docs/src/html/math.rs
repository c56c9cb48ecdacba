//! Formulas as TeX: from the page's annotations and scripts, or else rendered on one line.

use dom_query::{Document as Dom, NodeRef};

/// Elements that renderers put around a formula.
const CONTAINERS: &str =
    ".katex, .katex-display, .mwe-math-element, mjx-container, .MathJax_Display, .MathJax, math";

pub(super) fn mark(dom: &Dom) {
    // MathJax 2 keeps the source next to the rendering.
    if dom.select("script[type^='math/tex']").exists() {
        dom.select(".MathJax, .MathJax_Display, .MathJax_Preview, .MathJax_SVG, .MathJax_CHTML").remove();
    }
    for script in dom.select("script[type^='math/tex']").nodes() {
        let tex = script.text();
        let is_display = script.attr_or("type", "").contains("display");
        replace(script, &tex, is_display);
    }
    for formula in dom.select("math").nodes() {
        let Some(tex) = tex_of(formula) else { continue };
        let is_display = formula.attr_or("display", "").as_ref() == "block"
            || formula.ancestors_it(Some(8)).any(|around| around.has_class("katex-display"));
        replace(&outermost(formula), &tex, is_display);
    }
}

/// Returns the outermost element that contains all renderings of a formula.
fn outermost<'a>(formula: &NodeRef<'a>) -> NodeRef<'a> {
    let is_container = |node: &NodeRef<'_>| node.is(CONTAINERS) && !node.is("math");
    formula.ancestors_it(Some(8)).filter(is_container).last().unwrap_or(*formula)
}

fn replace(node: &NodeRef<'_>, tex: &str, is_display: bool) {
    let tex = tex.trim().replace(['\n', '\r'], " ");
    node.rename("span");
    node.set_attr("data-x-tex", &tex);
    node.remove_attr("type");
    node.remove_attr("aria-hidden");
    node.set_text(tex);
    if is_display {
        node.set_attr("data-x-display", "1");
    }
}

fn tex_of(formula: &NodeRef<'_>) -> Option<String> {
    let is_tex =
        |node: &NodeRef<'_>| node.has_name("annotation") && node.attr_or("encoding", "").contains("tex");
    let annotation = formula.descendants_it().find(is_tex).map(|node| node.text().to_string());
    let given = annotation.or_else(|| formula.attr("alttext").map(|text| text.to_string()));
    let tex = given.unwrap_or_else(|| line(formula));
    (!tex.trim().is_empty()).then_some(tex)
}

/// Writes a formula without TeX source in TeX-like notation, as far as its elements allow.
fn line(node: &NodeRef<'_>) -> String {
    if node.is_text() {
        return node.text().trim().to_owned();
    }
    let name = node.node_name().unwrap_or_default();
    let parts: Vec<String> = match &*name {
        "annotation" | "annotation-xml" => return String::new(),
        _ => node.children_it(false).map(|child| line(&child)).filter(|part| !part.is_empty()).collect(),
    };
    match (&*name, parts.as_slice()) {
        ("mfrac", [above, below]) => format!("\\frac{{{above}}}{{{below}}}"),
        ("msqrt", parts) => format!("\\sqrt{{{}}}", parts.concat()),
        ("mroot", [of, root]) => format!("\\sqrt[{root}]{{{of}}}"),
        ("msup" | "mover", [base, above]) => format!("{base}^{}", braced(above)),
        ("msub" | "munder", [base, below]) => format!("{base}_{}", braced(below)),
        ("msubsup" | "munderover", [base, below, above]) => {
            format!("{base}_{}^{}", braced(below), braced(above))
        }
        ("mtr", parts) => parts.join(" & "),
        ("mtable", parts) => parts.join(" \\\\ "),
        ("mtext", parts) => format!("\\text{{{}}}", parts.concat()),
        ("mo", parts)
            if parts
                .concat()
                .chars()
                .all(|c| matches!(c, '=' | '+' | '<' | '>' | '±' | '≤' | '≥' | '∈' | '→')) =>
        {
            format!(" {} ", parts.concat())
        }
        (_, parts) => parts.concat(),
    }
}

fn braced(part: &str) -> String {
    if part.chars().nth(1).is_some() { format!("{{{part}}}") } else { part.to_owned() }
}
