//! Finds the encoding that a document declares in its first bytes, according to the HTML Standard (13.2.3.2,
//! "prescan a byte stream to determine its encoding").

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

const HTTP_EQUIV: &[u8] = b"http-equiv";
const CONTENT: &[u8] = b"content";
/// Attributes of `<meta>` that affect the encoding.
const NAMES: [&[u8]; 3] = [HTTP_EQUIV, CONTENT, b"charset"];

/// Finds `<meta charset=x>` or `<meta http-equiv=content-type content="text/html; charset=x">`, outside of
/// comments and of other tags' attributes.
pub(super) fn in_html(bytes: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes, at: 0 };
    loop {
        scan.skip_until(|byte| byte == b'<')?;
        let rest = scan.rest();
        if rest.starts_with(b"<!--") {
            // The opening dashes may also be the closing ones: `<!-->`.
            scan.at += 2;
            scan.skip_past(b"-->")?;
        } else if is_meta(rest) {
            scan.at += b"<meta".len();
            if let Meta { encoding: Some(encoding) } = meta(&mut scan)? {
                return Some(encoding);
            }
        } else if is_tag(rest) {
            scan.skip_until(|byte| is_space(byte) || byte == b'>')?;
            while let Next::Attribute(..) = scan.attribute()? {}
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
            scan.skip_past(b">")?;
        } else {
            scan.at += 1;
        }
    }
}

/// Finds `<?xml … encoding="x"?>` at the very beginning.
pub(super) fn in_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let declaration = rest.split(|byte| *byte == b'>').next()?;
    let at = declaration.windows(b"encoding".len()).position(|part| part == b"encoding")?;
    let value = declaration.get(at + b"encoding".len()..)?.trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii_start();
    let (quote, value) = value.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    let label = value.split(|byte| byte == quote).next()?;
    Encoding::for_label(label).map(readable)
}

/// Replaces UTF-16 by UTF-8: a document whose declaration is readable as bytes is not UTF-16.
fn readable(named: &'static Encoding) -> &'static Encoding {
    match named {
        found if found == UTF_16LE || found == UTF_16BE => UTF_8,
        found if found == X_USER_DEFINED => WINDOWS_1252,
        found => found,
    }
}

/// Content of a `<meta>` element.
struct Meta {
    encoding: Option<&'static Encoding>,
}

/// Parses the attributes of a `<meta>` element. Returns `None` at the end of the bytes.
fn meta(scan: &mut Scan<'_>) -> Option<Meta> {
    let (mut is_pragma, mut by_charset, mut by_content) = (false, None, None);
    // Of several attributes with the same name, the first one counts.
    let mut seen = Vec::with_capacity(NAMES.len());
    while let Next::Attribute(name, value) = scan.attribute()? {
        let known = NAMES.iter().find(|known| name.eq_ignore_ascii_case(known));
        let Some(known) = known.filter(|known| !seen.contains(known)) else { continue };
        seen.push(known);
        match *known {
            HTTP_EQUIV => is_pragma = value.eq_ignore_ascii_case(b"content-type"),
            CONTENT => by_content = label_in_content(value),
            _ => by_charset = Some(value),
        }
    }
    let label = by_charset.or(by_content.filter(|_| is_pragma));
    Some(Meta { encoding: label.and_then(Encoding::for_label).map(readable) })
}

/// Returns the `x` of `text/html; charset=x`.
fn label_in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = rest.windows(b"charset".len()).position(|part| part.eq_ignore_ascii_case(b"charset"))?;
        rest = rest.get(at + b"charset".len()..)?;
        let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        return match value.split_first() {
            Some((quote @ (b'"' | b'\''), value)) => {
                let end = value.iter().position(|byte| byte == quote)?;
                value.get(..end)
            }
            _ => value.split(|byte| is_space(*byte) || *byte == b';').next(),
        };
    }
}

fn is_meta(bytes: &[u8]) -> bool {
    let name = bytes.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"<meta"));
    name && bytes.get(5).is_some_and(|byte| is_space(*byte) || *byte == b'/')
}

fn is_tag(bytes: &[u8]) -> bool {
    let name = bytes.get(1..).unwrap_or_default();
    name.strip_prefix(b"/").unwrap_or(name).first().is_some_and(u8::is_ascii_alphabetic)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// Next item in a tag.
enum Next<'a> {
    /// A name and a value.
    Attribute(&'a [u8], &'a [u8]),
    End,
}

/// A position in the bytes. Every method returns `None` at the end of the bytes, which ends the search.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_until(&mut self, is_end: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().position(|byte| is_end(*byte))?;
        self.at += length;
        rest.get(..length)
    }

    fn skip_past(&mut self, end: &[u8]) -> Option<()> {
        let at = self.rest().windows(end.len()).position(|part| part == end)?;
        self.at += at + end.len();
        Some(())
    }

    fn attribute(&mut self) -> Option<Next<'a>> {
        self.skip_until(|byte| !is_space(byte) && byte != b'/')?;
        if self.peek()? == b'>' {
            return Some(Next::End);
        }
        let start = self.at;
        // An equals sign may be the first byte of a name.
        self.at += 1;
        self.skip_until(|byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='))?;
        let name = self.bytes.get(start..self.at)?;
        self.skip_until(|byte| !is_space(byte))?;
        if self.peek()? != b'=' {
            return Some(Next::Attribute(name, b""));
        }
        self.at += 1;
        self.skip_until(|byte| !is_space(byte))?;
        let value = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                let value = self.skip_until(|byte| byte == quote)?;
                self.at += 1;
                value
            }
            _ => self.skip_until(|byte| is_space(byte) || byte == b'>')?,
        };
        Some(Next::Attribute(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_found_where_the_standard_looks_for_it() {
        let cases = [
            ("<meta charset=koi8-r>", Some("KOI8-R")),
            ("<!doctype html><html lang=ru><META CHARSET='koi8-r' />", Some("KOI8-R")),
            ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", Some("KOI8-R")),
            ("<meta content='text/html; charset = \"koi8-r\"' http-equiv=content-type>", Some("KOI8-R")),
            ("<meta name=x content='text/html; charset=koi8-r'>", None),
            ("<meta charset=nonsense><meta charset=koi8-r>", Some("KOI8-R")),
            ("<meta charset=koi8-r charset=big5>", Some("KOI8-R")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=iso-2022-kr>", Some("replacement")),
            ("<!-- <meta charset=big5> --><meta charset=koi8-r>", Some("KOI8-R")),
            ("<!--><meta charset=koi8-r>", Some("KOI8-R")),
            ("<p title='<meta charset=big5>'><meta charset=koi8-r>", Some("KOI8-R")),
            ("<metacharset=koi8-r>", None),
            ("<meta/charset=koi8-r>", Some("KOI8-R")),
            ("< <meta charset=koi8-r>", Some("KOI8-R")),
            ("<meta charset=koi8-r", None),
            ("<meta charset='koi8-r", None),
            ("<a =b=c", None),
            ("<", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(in_html(text.as_bytes()).map(Encoding::name), wanted, "{text}");
        }
        let xml = [
            ("<?xml version='1.0' encoding='koi8-r'?>", Some("KOI8-R")),
            ("<?xml encoding = \"koi8-r\" ?>", Some("KOI8-R")),
            ("<?xml encoding=\"utf-16\"?>", Some("UTF-8")),
            (" <?xml encoding='koi8-r'?>", None),
            ("<?xml version='1.0'?><a encoding='koi8-r'>", None),
            ("<?xml encoding=koi8-r?>", None),
        ];
        for (text, wanted) in xml {
            assert_eq!(in_xml(text.as_bytes()).map(Encoding::name), wanted, "{text}");
        }
    }
}
