//! Writes paragraphs, headings, quotations, code, and other blocks.

use super::{Place, Site, Writer, apart, code, names};
use crate::html::tree::Element;

impl Writer {
    pub(super) fn block(&self, site: Site<'_>, element: &Element) -> String {
        if let Some(label) = element.attribute("data-x-note") {
            return self.note(label, element);
        }
        if let Some(level) = names::heading_level(&element.name) {
            return self.heading(level, element);
        }
        match &*element.name {
            "hr" if self.is_plain => "\n\n".to_owned(),
            "hr" => apart("---"),
            "pre" => self.code_block(site, element),
            "blockquote" => self.quotation(element),
            "ul" | "ol" | "menu" | "dir" => self.list(site, element),
            "dl" => self.definitions(element),
            "table" => self.table(element),
            // A summary may contain headings, which are already bold.
            "summary" if element.any(&|e| names::is_block(&e.name)) => {
                apart(&self.children(element, site.place))
            }
            "summary" | "dt" => apart(&self.strong(&self.children(element, Place::Line))),
            "iframe" | "video" | "audio" => self.media(element),
            _ if site.place == Place::Block => apart(&self.children(element, site.place)),
            _ => format!("\n\n{}\n\n", self.children(element, site.place).trim()),
        }
    }

    fn heading(&self, level: usize, element: &Element) -> String {
        let text = self.children(element, Place::Line);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match (text.is_empty(), self.is_plain) {
            (true, _) => String::new(),
            (_, true) => apart(&text),
            // A final `#` would be parsed as the closing sequence of a heading.
            _ if text.ends_with('#') => {
                apart(&format!("{} {}\\#", "#".repeat(level), &text[..text.len() - 1]))
            }
            _ => apart(&format!("{} {text}", "#".repeat(level))),
        }
    }

    /// Returns a bold line.
    pub(super) fn strong(&self, text: &str) -> String {
        let text = text.trim();
        if self.is_plain || text.is_empty() || text.contains("**") {
            text.to_owned()
        } else {
            format!("**{text}**")
        }
    }

    fn code_block(&self, site: Site<'_>, element: &Element) -> String {
        let text = element.code();
        match site.place {
            Place::Block if self.is_plain => apart(&text),
            Place::Block => code::block(&text, element.attribute("data-x-lang").unwrap_or_default()),
            _ if self.is_plain => text,
            _ => text.lines().map(code::span).collect::<Vec<_>>().join("<br>"),
        }
    }

    fn quotation(&self, element: &Element) -> String {
        let text = self.children(element, Place::Block);
        let text = text.trim_matches('\n');
        apart(&if self.is_plain { text.to_owned() } else { self.indented(text, "> ", "> ") })
    }

    fn note(&self, label: &str, element: &Element) -> String {
        let text = self.children(element, Place::Block);
        apart(&self.indented(text.trim(), &format!("[^{label}]: "), "    "))
    }

    /// Writes videos and frames as links.
    fn media(&self, element: &Element) -> String {
        let source = element.attribute("src").or_else(|| element.elements().find_map(|e| e.attribute("src")));
        let name =
            element.attribute("title").filter(|title| !title.trim().is_empty()).unwrap_or(&element.name);
        match source.filter(|source| !source.is_empty()) {
            Some(_) if self.is_plain => String::new(),
            Some(source) => apart(&format!("[{}](<{source}>)", super::escape::text(name, false))),
            None => apart(&self.children(element, Place::Block)),
        }
    }
}
