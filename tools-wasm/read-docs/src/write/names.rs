//! Kinds of elements, by name.

/// Returns `true` for block-level elements.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "audio"
            | "blockquote"
            | "body"
            | "canvas"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "iframe"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "noscript"
            | "ol"
            | "option"
            | "output"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
            | "video"
    )
}

/// Returns `true` for elements that have no content.
pub(crate) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Returns `true` for elements that are meaningful without text.
pub(crate) fn is_meaningful_when_blank(name: &str) -> bool {
    is_void(name)
        || matches!(
            name,
            "a" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "th" | "td" | "iframe" | "audio" | "video"
        )
}

/// Returns the level of a heading.
pub(crate) fn heading_level(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(usize::from(digit - b'0')),
        _ => None,
    }
}
