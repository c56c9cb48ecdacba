//! What an answer is: by its `Content-Type`, and by its first bytes where that says nothing.

/// What can be read, and what cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Markdown,
    Json,
    Text,
    Pdf,
    Image,
    Binary,
}

/// The type without parameters, in lower case: `text/html`.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The kind of an answer, and its type as it is told to people.
pub(crate) fn of(content_type: &str, path: &str, body: &[u8]) -> (Kind, String) {
    let essence = essence(content_type);
    if matches!(essence.as_str(), "" | "application/octet-stream" | "binary/octet-stream" | "*/*") {
        return by_content(path, body);
    }
    let kind = match by_type(&essence) {
        // Raw files of repositories come as plain text, and PDF with wrong types.
        Kind::Text if is_markdown_path(path) && essence == "text/plain" => Kind::Markdown,
        Kind::Text | Kind::Html | Kind::Binary if body.starts_with(b"%PDF-") => Kind::Pdf,
        Kind::Text if looks_binary(body) => Kind::Binary,
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
        (_, name) if name.ends_with("+json") => Kind::Json,
        ("image", _) => Kind::Image,
        ("text", _) => Kind::Text,
        ("audio" | "video" | "font" | "model" | "multipart", _) => Kind::Binary,
        (_, name) if is_binary_name(name) => Kind::Binary,
        // Source code, YAML, XML and feeds have application types of their own; bytes decide.
        _ => Kind::Text,
    }
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

fn by_content(path: &str, body: &[u8]) -> (Kind, String) {
    const MAGIC: [(&[u8], Kind, &str); 15] = [
        (b"%PDF-", Kind::Pdf, "application/pdf"),
        (b"\x89PNG\r\n", Kind::Image, "image/png"),
        (b"\xff\xd8\xff", Kind::Image, "image/jpeg"),
        (b"GIF8", Kind::Image, "image/gif"),
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
    let known = MAGIC.iter().find(|(magic, kind, name)| {
        // `BM` alone is also how a text can begin.
        body.starts_with(magic) && (*name != "image/bmp" || looks_binary(body)) && *kind != Kind::Text
    });
    let (kind, name) = match known {
        Some((_, kind, name)) => (*kind, *name),
        None if body.starts_with(b"RIFF") && body.get(8..12) == Some(b"WEBP") => (Kind::Image, "image/webp"),
        None if looks_binary(body) => (Kind::Binary, "application/octet-stream"),
        None if looks_like_html(body) => (Kind::Html, "text/html"),
        None if is_markdown_path(path) => (Kind::Markdown, "text/markdown"),
        None if has_extension(path, &["json"]) => (Kind::Json, "application/json"),
        None => (Kind::Text, "text/plain"),
    };
    (kind, name.to_owned())
}

fn looks_like_html(body: &[u8]) -> bool {
    const STARTS: [&str; 9] =
        ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<!--", "<meta", "<div"];
    let start =
        String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start_matches('\u{feff}').to_lowercase();
    STARTS.iter().any(|tag| start.trim_start().starts_with(tag))
}

/// Bytes that no text has near its beginning. UTF-16 has NUL bytes but says so by its mark.
fn looks_binary(body: &[u8]) -> bool {
    let start = &body[..body.len().min(1024)];
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    !is_utf16 && start.iter().any(|byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// Whether bytes that are said to be text are none.
pub(crate) fn is_binary(body: &[u8]) -> bool {
    looks_binary(body)
}

fn is_markdown_path(path: &str) -> bool {
    // Indexes for models are Markdown by their own specification.
    let is_index = path.ends_with("/llms.txt") || path.ends_with("/llms-full.txt");
    is_index || has_extension(path, &["md", "markdown", "mdx"])
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let Some((_, extension)) = path.rsplit_once('.') else { return false };
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_decides_and_the_bytes_where_it_says_nothing() {
        let cases: [(&str, &str, &[u8], Kind); 23] = [
            ("text/html; charset=utf-8", "/", b"x", Kind::Html),
            ("application/xhtml+xml", "/", b"<html/>", Kind::Html),
            ("Text/Markdown", "/", b"# x", Kind::Markdown),
            ("text/plain", "/README.md", b"# x", Kind::Markdown),
            ("text/plain; charset=utf-8", "/docs/llms.txt", b"# x", Kind::Markdown),
            ("text/plain", "/x.rs", b"fn main() {}", Kind::Text),
            ("text/csv", "/", b"a,b", Kind::Text),
            ("application/rss+xml", "/", b"<rss/>", Kind::Text),
            ("application/yaml", "/", b"a: 1", Kind::Text),
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
