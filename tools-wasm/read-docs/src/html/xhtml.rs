//! XHTML that was sent as XML: `<script/>` is closed there, and `<![CDATA[…]]>` is text.

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::write::escape;
use crate::write::names::is_void;

/// Rewrites a page in the syntax of HTML. Returns `None` if it has an error in XML, except for an early end; a browser
/// would show an error, but the HTML parser reads most of such pages.
pub(crate) fn as_html(source: &str) -> Option<String> {
    let mut reader = Reader::from_str(source);
    reader.config_mut().expand_empty_elements = true;
    let mut html = String::with_capacity(source.len());
    // XML has no quirks mode.
    html.push_str("<!DOCTYPE html>");
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => open(&mut html, &start)?,
            Event::End(end) => {
                let name = end.local_name();
                let name = name.into_inner();
                if !is_void(name) {
                    html.extend(["</", name, ">"]);
                }
            }
            Event::Text(text) => html.push_str(&text),
            Event::CData(text) => html.push_str(&escape::html(&text)),
            // Both syntaxes have the same references.
            Event::GeneralRef(reference) => html.extend(["&", &reference, ";"]),
            Event::Eof => return Some(html),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::DocType(_) | Event::PI(_) => {}
        }
    }
}

/// Writes a start tag. A prefix is left out: the parser knows the elements of vector graphics and formulas by their names.
fn open(html: &mut String, start: &BytesStart<'_>) -> Option<()> {
    html.push('<');
    html.push_str(start.local_name().into_inner());
    // The check for duplicates takes quadratic time.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.ok()?;
        // The value is still escaped, and has at most one kind of quotation mark.
        let quote = if attribute.value.contains('"') { "'" } else { "\"" };
        html.extend([" ", attribute.key.into_inner(), "=", quote, &attribute.value, quote]);
    }
    html.push('>');
    Some(())
}
