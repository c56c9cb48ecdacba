//! Detects the kind of a response from its `Content-Type`, or else from its first bytes.

mod sniff;

use crate::charset;

/// Media type of Word documents.
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// Kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Markdown,
    Json,
    Yaml,
    /// RSS or Atom.
    Feed,
    /// Values separated by commas, tabs or similar delimiters.
    Table,
    /// Word documents and related types.
    Docx,
    Xml,
    Text,
    Pdf,
    Image,
    Binary,
}

impl Kind {
    /// Returns `true` for text, in which bytes are characters.
    fn is_text(self) -> bool {
        !matches!(self, Self::Docx | Self::Pdf | Self::Image | Self::Binary)
    }
}

/// Returns the media type without parameters, in lower case: `text/html`. Some servers send the header twice, which is
/// the same as a list.
pub(crate) fn essence(content_type: &str) -> String {
    let of = |part: &str| part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut parts = content_type.split(',').map(of).filter(|part| part.contains('/') && part != "*/*");
    parts.next_back().unwrap_or_else(|| of(content_type))
}

/// Returns the kind of a response, and its media type for display.
pub(crate) fn of(content_type: &str, path: &str, body: &[u8]) -> (Kind, String) {
    const UNKNOWN: [&str; 6] = [
        "",
        "application/octet-stream",
        "application/unknown",
        "binary/octet-stream",
        "unknown/unknown",
        "*/*",
    ];
    let essence = essence(content_type);
    if UNKNOWN.contains(&essence.as_str()) || !essence.contains('/') {
        return by_content(path, body);
    }
    let kind = by_type(&essence);
    let is_text = kind.is_text() && !charset::is_utf16(content_type);
    // PDF is sent with various wrong types. Archives and images are sent with types of pages.
    let by_magic =
        || by_magic(body).filter(|(found, _)| is_text || kind == Kind::Binary && *found == Kind::Pdf);
    if let Some((kind, name)) = by_magic() {
        return (kind, name.to_owned());
    }
    let kind = match kind {
        // HTML is parsed whatever its bytes are, unless it is a feed.
        Kind::Html => sniff::root(body).filter(|kind| *kind == Kind::Feed).unwrap_or(Kind::Html),
        _ if is_text && sniff::is_binary(body) => Kind::Binary,
        // Raw files of repositories are sent as plain text.
        Kind::Text if essence == "text/plain" => by_path(path).unwrap_or(Kind::Text),
        Kind::Xml => sniff::root(body).unwrap_or(Kind::Xml),
        Kind::Binary if essence.ends_with("/zip") && sniff::is_docx(body) => Kind::Docx,
        kind => kind,
    };
    (kind, essence)
}

fn by_type(essence: &str) -> Kind {
    let (family, name) = essence.split_once('/').unwrap_or((essence, ""));
    match (family, name) {
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("text", "markdown" | "x-markdown" | "mdx") => Kind::Markdown,
        ("application" | "text", "json") => Kind::Json,
        ("application", "pdf" | "x-pdf") => Kind::Pdf,
        (_, "csv" | "tab-separated-values" | "x-csv" | "comma-separated-values") => Kind::Table,
        (_, "yaml" | "x-yaml") => Kind::Yaml,
        (_, "rss+xml" | "atom+xml" | "rdf+xml" | "xml") => Kind::Xml,
        ("image", _) => Kind::Image,
        (_, name) if name.ends_with("+json") => Kind::Json,
        (_, name) if name.ends_with("+yaml") || name == "vnd.oai.openapi" => Kind::Yaml,
        (_, name) if name.ends_with("+xml") => Kind::Xml,
        ("text", _) => Kind::Text,
        ("audio" | "video" | "font" | "model" | "multipart", _) => Kind::Binary,
        // `vnd.openxmlformats-officedocument.wordprocessingml.document`, `.template`,
        // `vnd.ms-word.document.macroenabled.12`
        (_, name) if name.contains("wordprocessingml") || name.contains("ms-word") => Kind::Docx,
        (_, name) if is_binary_name(name) => Kind::Binary,
        // Source code has many `application` types, so the bytes decide.
        _ => Kind::Text,
    }
}

/// Returns the kind by file extension, for the type `text/plain`.
fn by_path(path: &str) -> Option<Kind> {
    const KINDS: [(Kind, &[&str]); 4] = [
        (Kind::Markdown, &["md", "markdown", "mdx"]),
        (Kind::Json, &["json", "ipynb"]),
        (Kind::Yaml, &["yaml", "yml"]),
        (Kind::Table, &["csv", "tsv"]),
    ];
    // Indexes for models are Markdown according to their specification.
    if path.ends_with("/llms.txt") || path.ends_with("/llms-full.txt") {
        return Some(Kind::Markdown);
    }
    let (_, extension) = path.rsplit_once('.')?;
    let is_known = |known: &&str| extension.eq_ignore_ascii_case(known);
    KINDS.iter().find(|(_, extensions)| extensions.iter().any(is_known)).map(|(kind, _)| *kind)
}

fn is_binary_name(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "zip",
        "tar",
        "compressed",
        "msword",
        "officedocument",
        "ms-excel",
        "ms-powerpoint",
        "opendocument",
        "wasm",
        "java-archive",
        "executable",
        "epub",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// Detects files by their signature.
fn by_magic(body: &[u8]) -> Option<(Kind, &'static str)> {
    const MAGIC: [(&[u8], Kind, &str); 17] = [
        (b"%PDF-", Kind::Pdf, "application/pdf"),
        (b"%!PS-Adobe-", Kind::Binary, "application/postscript"),
        (b"\x89PNG\r\n", Kind::Image, "image/png"),
        (b"\xff\xd8\xff", Kind::Image, "image/jpeg"),
        (b"GIF87a", Kind::Image, "image/gif"),
        (b"GIF89a", Kind::Image, "image/gif"),
        (b"BM", Kind::Image, "image/bmp"),
        (b"II*\0", Kind::Image, "image/tiff"),
        (b"MM\0*", Kind::Image, "image/tiff"),
        (b"\0\0\x01\0", Kind::Image, "image/x-icon"),
        (b"PK\x03\x04", Kind::Binary, "application/zip"),
        (b"\x1f\x8b", Kind::Binary, "application/gzip"),
        (b"BZh", Kind::Binary, "application/x-bzip2"),
        (b"\xfd7zXZ\0", Kind::Binary, "application/x-xz"),
        (b"7z\xbc\xaf", Kind::Binary, "application/x-7z-compressed"),
        (b"\x7fELF", Kind::Binary, "application/x-executable"),
        (b"\0asm", Kind::Binary, "application/wasm"),
    ];
    let known = MAGIC.iter().find(|(magic, _, name)| {
        // Text can also begin with `BM` and `BZh`.
        let is_short = matches!(*name, "image/bmp" | "application/x-bzip2");
        body.starts_with(magic) && (!is_short || sniff::is_binary(body))
    });
    match known {
        Some((_, _, "application/zip")) if sniff::is_docx(body) => Some((Kind::Docx, DOCX)),
        Some((_, kind, name)) => Some((*kind, *name)),
        None if body.starts_with(b"RIFF") && body.get(8..12) == Some(b"WEBP") => {
            Some((Kind::Image, "image/webp"))
        }
        None => None,
    }
}

fn by_content(path: &str, body: &[u8]) -> (Kind, String) {
    let named = |kind: Kind| {
        let name = match kind {
            Kind::Html => "text/html",
            Kind::Markdown => "text/markdown",
            Kind::Json => "application/json",
            Kind::Yaml => "application/yaml",
            Kind::Feed | Kind::Xml => "text/xml",
            Kind::Table => "text/csv",
            Kind::Binary => "application/octet-stream",
            _ => "text/plain",
        };
        (kind, name)
    };
    let (kind, name) = by_magic(body).unwrap_or_else(|| {
        if sniff::is_xml(body) && sniff::root(body) == Some(Kind::Html) {
            return (Kind::Html, "application/xhtml+xml");
        }
        named(match () {
            () if sniff::is_binary(body) => Kind::Binary,
            () if sniff::is_html(body) => sniff::root(body).unwrap_or(Kind::Html),
            () if sniff::is_xml(body) => sniff::root(body).unwrap_or(Kind::Xml),
            () => by_path(path).unwrap_or_else(|| if sniff::is_json(body) { Kind::Json } else { Kind::Text }),
        })
    });
    (kind, name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_decides_and_the_bytes_where_it_says_nothing() {
        let cases: [(&str, &str, &[u8], Kind); 58] = [
            ("text/html; charset=utf-8, text/html", "/", b"x", Kind::Html),
            ("text/html, */*", "/", b"x", Kind::Html),
            ("text/html; charset=utf-8", "/", b"x", Kind::Html),
            ("application/xhtml+xml", "/", b"<html/>", Kind::Html),
            ("Text/Markdown", "/", b"# x", Kind::Markdown),
            ("text/plain", "/README.md", b"# x", Kind::Markdown),
            ("text/plain; charset=utf-8", "/docs/llms.txt", b"# x", Kind::Markdown),
            ("text/plain", "/x.rs", b"fn main() {}", Kind::Text),
            ("text/csv", "/", b"a,b", Kind::Table),
            ("text/plain", "/x.TSV", b"a\tb", Kind::Table),
            ("application/rss+xml", "/", b"<rss/>", Kind::Feed),
            ("application/yaml", "/", b"a: 1", Kind::Yaml),
            ("text/plain", "/x.ipynb", b"{}", Kind::Json),
            // Feeds and pages with media types of XML and HTML.
            (
                "text/xml",
                "/",
                b"\xef\xbb\xbf<?xml version='1.0'?><!-- <html> --><rss version='2.0'>",
                Kind::Feed,
            ),
            ("text/html", "/", b"<?xml version='1.0'?>\n<rss version='2.0'>", Kind::Feed),
            (
                "text/html",
                "/",
                b"<!DOCTYPE x [<!ENTITY a '>'>]><feed xmlns='http://www.w3.org/2005/Atom'>",
                Kind::Feed,
            ),
            ("text/xml", "/", b"<a:feed xmlns:a='http://www.w3.org/2005/Atom'>", Kind::Feed),
            ("text/xml", "/", b"<feed xmlns='urn:x'>", Kind::Xml),
            ("text/xml", "/", b"<rdf:RDF xmlns='http://purl.org/rss/1.0/'>", Kind::Feed),
            ("application/rdf+xml", "/", b"<rdf:RDF xmlns:owl='urn:x'>", Kind::Xml),
            ("text/xml", "/", b"\xff\xfe<\0r\0s\0s\0>\0", Kind::Feed),
            ("application/xml", "/", b"<html xmlns='http://www.w3.org/1999/xhtml'>", Kind::Html),
            ("application/xml", "/", b"<html xmlns='urn:x'>", Kind::Xml),
            ("application/xml", "/", b"<project/>", Kind::Xml),
            ("text/xml", "/", b"", Kind::Xml),
            // Other `text/plain` content stays plain text.
            ("text/plain", "/", b"<!doctype html><p>x", Kind::Text),
            ("text/plain", "/", b"<rss version='2.0'>", Kind::Text),
            ("text/plain", "/", b"{}", Kind::Text),
            ("text/plain; charset=utf-16le", "/", b"a\0b\0", Kind::Text),
            ("text/plain", "/", b"a\x0bb", Kind::Binary),
            ("text/plain", "/", b"\xef\xbb\xbfa\0b", Kind::Text),
            ("text/plain", "/", b"BMW and BZhang", Kind::Text),
            ("text/html", "/", b"\x1f\x8b\x08\0", Kind::Binary),
            ("text/html", "/", b"\x89PNG\r\n\x1a\n", Kind::Image),
            ("text/html", "/", b"<p>a\0b", Kind::Html),
            ("nonsense", "/", b"<p>x", Kind::Html),
            (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "/",
                b"PK\x03\x04",
                Kind::Docx,
            ),
            ("application/zip", "/", b"PK\x03\x04 word/document.xml", Kind::Docx),
            ("", "/", b"PK\x03\x04 word/document.xml", Kind::Docx),
            ("", "/", b"<p>x", Kind::Html),
            ("", "/", b"<pre>x", Kind::Text),
            ("application/vnd.api+json", "/", b"{}", Kind::Json),
            ("application/json", "/", b"{}", Kind::Json),
            ("application/pdf", "/", b"%PDF-1.7", Kind::Pdf),
            ("text/plain", "/", b"%PDF-1.7", Kind::Pdf),
            ("image/svg+xml", "/", b"<svg/>", Kind::Image),
            ("video/mp4", "/", b"....", Kind::Binary),
            ("application/zip", "/", b"PK\x03\x04", Kind::Binary),
            ("text/plain", "/", b"a\0b", Kind::Binary),
            ("", "/", b"\n<!DOCTYPE html><p>x", Kind::Html),
            ("", "/", b"\x89PNG\r\n\x1a\n", Kind::Image),
            ("", "/", b"<?xml version='1.0'?><rss/>", Kind::Feed),
            ("", "/", b" {\"a\": [1]}", Kind::Json),
            ("", "/", b"{not json}", Kind::Text),
            ("application/octet-stream", "/a.md", b"# x", Kind::Markdown),
            ("application/octet-stream", "/a", b"just text", Kind::Text),
            ("application/octet-stream", "/a", b"\x7fELF\x02", Kind::Binary),
            ("application/octet-stream", "/a", b"\xff\xfea\0b\0", Kind::Text),
        ];
        for (content_type, path, body, kind) in cases {
            assert_eq!(of(content_type, path, body).0, kind, "{content_type} {path} {body:?}");
        }
    }
}
