//! API signatures: each becomes one line of code.
//!
//! Generators style each word of a signature and break it with style sheets. As text it would be full of
//! escapes, so it becomes `<code>`.

use dom_query::{Document as Dom, NodeRef};
use scorpiox_page::line;

use super::present::Present;

/// Maximum length of a signature's text, in bytes. Longer text is not a signature.
const MAX_BYTES: usize = 8 * 1024;

/// Selectors for elements whose complete text is a signature, and the placement of the code.
const WHOLE: [(&str, Frame); 12] = [
    // Sphinx; rustdoc.
    ("dt.sig", Frame::Own),
    ("h2.code-header, h3.code-header, h4.code-header, h5.code-header", Frame::Own),
    // javadoc; TypeDoc; pdoc; Dokka.
    (".member-signature, .type-signature, .package-signature, .module-signature", Frame::Paragraph),
    (".tsd-signature", Frame::Paragraph),
    (".attr.function, .attr.class, .attr.variable, .attr.method", Frame::Paragraph),
    (".symbol.monospace", Frame::Paragraph),
    // Doxygen; Haddock.
    (".memproto", Frame::Paragraph),
    ("p.src, td.src", Frame::Own),
    // YARD; ExDoc; phpDocumentor.
    ("h3.signature, p.signature", Frame::Own),
    (".detail-header > .signature", Frame::Own),
    (".phpdocumentor-signature", Frame::Own),
    // First line of signatures in rustdoc, for fields and variants.
    ("span.structfield > code, section.variant > h3.code-header", Frame::Own),
];

/// Placement of the code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// In the element itself: a heading, a term, a list item or a paragraph.
    Own,
    /// In a paragraph that replaces the element, or in the element if it is a list item.
    Paragraph,
}

pub(super) fn mark<'a>(dom: &'a Dom, present: &Present<'a>) {
    // Extraction treats comments as readers' comments below an article.
    for comment in present.select(".tsd-comment") {
        comment.remove_class("tsd-comment");
    }
    old_sphinx(dom, present);
    let versions = versions(present);
    for (selector, frame) in WHOLE {
        for node in present.select(selector) {
            put(dom, &node, frame);
        }
    }
    for (header, since) in versions {
        header.append_child(&dom.tree.new_text(format!(" (since {since})")));
    }
    declarations(dom, present);
}

/// Removes the version that rustdoc shows next to a signature, and returns it with the signature's header.
fn versions<'a>(present: &Present<'a>) -> Vec<(NodeRef<'a>, String)> {
    let mut versions = Vec::new();
    for side in present.select(".rightside") {
        let since = side.descendants_it().find(|node| node.has_class("since"));
        let header =
            side.parent().and_then(|item| item.children_it(false).find(|n| n.has_class("code-header")));
        if let (Some(since), Some(header)) = (&since, header) {
            versions.push((header, since.text().trim().to_owned()));
        }
        if since.is_some() || side.text().trim().is_empty() {
            side.remove_from_parent();
        }
    }
    versions
}

/// Adds the class that Sphinx before version 4 does not give to terms.
fn old_sphinx(dom: &Dom, present: &Present<'_>) {
    for name in present.select("dt > .descname, dt > .sig-name") {
        if let Some(term) = name.parent().filter(|term| !term.has_class("sig")) {
            put(dom, &term, Frame::Own);
        }
    }
}

fn put(dom: &Dom, node: &NodeRef<'_>, frame: Frame) {
    let is_code =
        node.has_name("code") || node.ancestors_it(None).any(|a| a.has_name("pre") || a.has_name("code"));
    let text = one_line(node);
    if is_code || text.is_empty() || text.len() > MAX_BYTES {
        return;
    }
    // Links may refer to an element inside.
    let inner = node.descendants_it().find_map(|below| below.id_attr());
    if let (false, Some(id)) = (node.has_attr("id"), inner) {
        node.set_attr("id", &id);
    }
    let code = dom.tree.new_element("code");
    code.set_text(text);
    node.remove_children();
    node.append_child(&code);
    if frame == Frame::Paragraph && !["li", "dt", "h3", "h4", "td"].iter().any(|name| node.has_name(name)) {
        node.rename("p");
    }
}

/// Elements that separate words, as do Doxygen's labels such as `inline`.
const PARTS: [&str; 4] = ["br", "td", "dd", "div"];

/// Returns the text on one line, without spaces inside brackets.
fn one_line(node: &NodeRef<'_>) -> String {
    let mut text = String::new();
    for below in node.descendants_it() {
        if PARTS.iter().any(|name| below.has_name(name)) || below.has_class("mlabel") {
            text.push(' ');
        } else if below.is_text() {
            text.push_str(&below.text());
            if text.len() > MAX_BYTES {
                break;
            }
        }
    }
    let words = line::whole(&text.replace('¶', ""));
    let close = words.replace("( ", "(").replace(", )", ")").replace(" )", ")");
    let of_table = node.has_class("memproto");
    let close = if of_table { close.replace(" (", "(").replace(" ,", ",") } else { close };
    close.trim().to_owned()
}

/// Converts Doxygen's tables of declarations to lists, with a link to each description.
fn declarations(dom: &Dom, present: &Present<'_>) {
    for table in present.select("table.memberdecls") {
        let list = dom.tree.new_element("ul");
        let rows: Vec<_> = table.descendants_it().filter(|node| node.has_name("tr")).collect();
        for row in rows {
            let heading = row.descendants_it().find(|node| node.has_name("h2") || node.has_name("h3"));
            if let Some(heading) = heading {
                table.insert_before(&heading);
            } else if cells(&row)
                .iter()
                .any(|cell| cell.has_class("memItemRight") || cell.has_class("memItemLeft"))
            {
                list.append_child(&declaration(dom, &row));
            } else if let Some(said) = cells(&row).iter().find(|cell| cell.has_class("mdescRight"))
                && let Some(item) = list.last_child()
            {
                item.append_child(&dom.tree.new_text(": "));
                item.append_children(&said.first_child().map_or(said.id, |first| first.id));
            }
        }
        table.replace_with(&list);
    }
}

fn declaration<'a>(dom: &'a Dom, row: &NodeRef<'_>) -> NodeRef<'a> {
    let item = dom.tree.new_element("li");
    let code = dom.tree.new_element("code");
    code.set_text(one_line(row));
    let target = row.descendants_it().find(|node| node.has_name("a") && node.has_class("el"));
    let target =
        target.or_else(|| row.descendants_it().find(|node| node.has_name("a") && node.has_attr("href")));
    match target.and_then(|link| link.attr("href")) {
        Some(href) => {
            let link = dom.tree.new_element("a");
            link.set_attr("href", &href);
            link.append_child(&code);
            item.append_child(&link);
        }
        None => item.append_child(&code),
    }
    item
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|cell| cell.has_name("td")).collect()
}
