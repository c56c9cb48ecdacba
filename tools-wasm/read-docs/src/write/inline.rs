//! Writes inline elements: emphasis, links, images, code, formulas.

use super::{Place, Site, Writer, code, escape, names};
use crate::html::tree::{Element, Node};

impl Writer {
    pub(super) fn inline(&self, site: Site<'_>, element: &Element) -> String {
        if let Some(tex) = element.attribute("data-x-tex") {
            return formula(tex, element.attribute("data-x-display").is_some(), site.place);
        }
        match &*element.name {
            "br" => return self.line_break(site.place),
            "img" => return self.image(element),
            "wbr" => return String::new(),
            name if names::is_void(name) => return String::new(),
            _ => {}
        }
        let edges = Edges::of(site, element);
        let before = edges.leading.chars().next_back().or(site.before);
        let written = self.phrase(Site { before, ..site }, element, !edges.trailing.is_empty());
        format!("{}{written}{}", edges.leading, edges.trailing)
    }

    /// Writes an element without whitespace at its edges.
    fn phrase(&self, site: Site<'_>, element: &Element, ends_in_space: bool) -> String {
        let content = || self.children_after(element, site.place, site.before).trim().to_owned();
        let after = if ends_in_space { Some(' ') } else { site.after() };
        let around = (site.before, after);
        match &*element.name {
            "code" | "tt" | "samp" if self.is_plain => element.text().trim().to_owned(),
            "code" | "tt" | "samp" => code::span(&element.text()),
            "a" => self.link(site, element),
            "span" if element.attribute("data-x-task").is_some() => {
                format!("[{}]", element.attribute("data-x-task").unwrap_or(" "))
            }
            "q" => format!("“{}”", content()),
            _ if self.is_plain => content(),
            "em" | "i" | "dfn" | "var" if nests(element, &["em", "i", "dfn", "var"]) => {
                tagged(&content(), "em")
            }
            "em" | "i" | "dfn" | "var" => emphasis(&content(), "*", "em", around),
            "strong" | "b" if nests(element, &["strong", "b"]) => tagged(&content(), "strong"),
            "strong" | "b" => emphasis(&content(), "**", "strong", around),
            "del" | "s" | "strike" => emphasis(&content(), "~~", "del", around),
            name @ ("sup" | "sub" | "kbd") if !element.any(&|e| &*e.name == "a") => tagged(&content(), name),
            _ => content(),
        }
    }

    fn line_break(&self, place: Place) -> String {
        match place {
            Place::Line => " ".to_owned(),
            Place::Cell if self.is_plain => " ".to_owned(),
            Place::Cell => "<br>".to_owned(),
            Place::Block if self.is_plain => "\n".to_owned(),
            Place::Block => "  \n".to_owned(),
        }
    }

    fn image(&self, element: &Element) -> String {
        let alt = element.attribute("alt").unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.is_plain {
            return alt;
        }
        match element.attribute("src").filter(|src| !src.is_empty()) {
            Some(src) => format!("![{}]({}{})", escape::text(&alt, false), destination(src), title(element)),
            None => String::new(),
        }
    }

    fn link(&self, site: Site<'_>, element: &Element) -> String {
        if let Some(label) = element.attribute("data-x-ref") {
            return if self.notes.contains(label) { format!("[^{label}]") } else { format!("[{label}]") };
        }
        let content = self.children(element, site.place);
        let trimmed = content.trim();
        let Some(href) = element.attribute("href").filter(|_| !self.is_plain) else {
            return trimmed.to_owned();
        };
        if trimmed.is_empty() {
            return String::new();
        }
        if element.any(&|element| names::is_block(&element.name)) {
            return around_blocks(trimmed, href);
        }
        if is_address(href) && element.text().trim() == href {
            return format!("<{href}>");
        }
        format!("[{}]({}{})", balanced(trimmed), destination(href), title(element))
    }
}

/// Whitespace at an element's edges, which belongs outside its marks. A space next to an existing space is
/// dropped.
struct Edges {
    leading: String,
    trailing: String,
}

impl Edges {
    fn of(site: Site<'_>, element: &Element) -> Self {
        if &*element.name == "code" {
            return Self { leading: String::new(), trailing: String::new() };
        }
        let text = element.text();
        let leading = &text[..text.len() - text.trim_start().len()];
        if leading.len() == text.len() && element.children.iter().all(Node::is_white) {
            return Self { leading: leading.to_owned(), trailing: String::new() };
        }
        let trailing = &text[text.trim_end().len()..];
        let ends_in_space = |node: &Node| !is_block(node) && node.last_char() == Some(' ');
        let starts_in_space = |node: &Node| !is_block(node) && node.first_char() == Some(' ');
        let leading = if site.previous().is_some_and(ends_in_space) {
            leading.trim_start_matches(is_ascii_space)
        } else {
            leading
        };
        let trailing = if site.next().is_some_and(starts_in_space) {
            trailing.trim_end_matches(is_ascii_space)
        } else {
            trailing
        };
        let no_breaks = |edge: &str| edge.replace('\n', "");
        Self { leading: no_breaks(leading), trailing: no_breaks(trailing) }
    }
}

fn is_ascii_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_block(node: &Node) -> bool {
    matches!(node, Node::Element(element) if names::is_block(&element.name))
}

/// Adds marks around a text, or tags if the neighboring characters would prevent the marks from being parsed
/// (`CommonMark` 6.2).
fn emphasis(content: &str, mark: &str, tag: &str, (before, after): (Option<char>, Option<char>)) -> String {
    let (Some(first), Some(last)) = (content.chars().next(), content.chars().next_back()) else {
        return String::new();
    };
    // Marks cannot span blocks.
    if content.contains("\n\n") {
        return content.to_owned();
    }
    let is_mark = |c: char| mark.starts_with(c);
    let is_word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && !is_punctuation(c));
    let is_kept_from =
        |at: char, beside: Option<char>| beside.is_some_and(is_mark) || is_punctuation(at) && is_word(beside);
    if is_kept_from(first, before) || is_kept_from(last, after) {
        tagged(content, tag)
    } else {
        format!("{mark}{content}{mark}")
    }
}

/// Returns `true` if an element contains others of its kind, whose marks would end its own.
fn nests(element: &Element, names: &[&str]) -> bool {
    element.any(&|below| names.contains(&&*below.name))
}

fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace()
}

fn tagged(content: &str, tag: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<{tag}>{content}</{tag}>") }
}

fn formula(tex: &str, is_display: bool, place: Place) -> String {
    match (is_display, place) {
        (true, Place::Block) => format!("\n\n$$\n{tex}\n$$\n\n"),
        (true, _) => format!("$${tex}$$"),
        (false, _) => format!("${tex}$"),
    }
}

/// Returns `true` for a URL that Markdown allows between angle brackets.
fn is_address(href: &str) -> bool {
    let is_web = href.starts_with("http://") || href.starts_with("https://");
    is_web && !href.contains([' ', '<', '>', '\n'])
}

fn destination(address: &str) -> String {
    let address = address.trim();
    if address.contains([' ', '\n', '\t', '<', '>']) {
        return format!("<{}>", address.replace(['<', '>', '\n'], ""));
    }
    let address = address.replace('\\', "%5C");
    // Balanced parentheses are allowed in a URL.
    if has_pairs(&address, '(', ')') { address } else { address.replace('(', "\\(").replace(')', "\\)") }
}

/// Returns the title, unless it equals the text.
fn title(element: &Element) -> String {
    let title = element.attribute("title").unwrap_or_default();
    let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() || words.eq_ignore_ascii_case(element.text().trim()) {
        String::new()
    } else {
        format!(" \"{}\"", words.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Escapes brackets in a link's text unless they are balanced.
fn balanced(text: &str) -> String {
    if has_pairs(text, '[', ']') { text.to_owned() } else { text.replace('[', "\\[").replace(']', "\\]") }
}

/// Returns `true` if opening and closing characters are balanced, ignoring escaped ones.
fn has_pairs(text: &str, opening: char, closing: char) -> bool {
    let mut open = 0_usize;
    let mut is_escaped = false;
    for c in text.chars() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == opening {
            open += 1;
        } else if c == closing {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return false,
            }
        }
    }
    open == 0
}

/// Writes a link around blocks: each paragraph and heading in it becomes a link.
fn around_blocks(text: &str, href: &str) -> String {
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    let linked = blocks.map(|block| {
        let rest = block.trim_start_matches('#');
        let is_plain = !block.starts_with(['-', '>', '|', '`']) && !block.contains("](");
        match &block[..block.len() - rest.len()] {
            _ if !is_plain => block.to_owned(),
            "" => format!("[{}]({})", balanced(block), destination(href)),
            marks => format!("{marks} [{}]({})", balanced(rest.trim()), destination(href)),
        }
    });
    super::apart(&linked.collect::<Vec<_>>().join("\n\n"))
}
