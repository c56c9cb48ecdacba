//! Decodes bytes to text. The encoding comes from the byte order mark, the header, the document's own
//! declaration, or finally a guess, in this order (HTML Standard, 13.2.3.2; Encoding Standard).

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use scorpiox_tool_kit::Failure;
use url::Url;

/// Size of the beginning of a document in which it may declare its encoding, in bytes.
const DECLARED_WITHIN: usize = 1024;
/// Larger limit for a late declaration, which is used before guessing: browsers restart the parser there.
const DECLARED_LATE_WITHIN: usize = 64 * 1024;
/// Maximum number of bytes that the detector checks.
const GUESSED_BY: usize = 256 * 1024;
/// Minimum number of valid characters for each invalid one in text that counts as UTF-8.
const MIN_RIGHT_PER_WRONG: usize = 10;

/// Syntax in which a document can declare its own encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    Html,
    Xml,
    /// No declaration is possible.
    None,
}

/// Decodes a body. Invalid bytes become replacement characters. Encodings that browsers refuse are refused.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    content_type: &str,
    markup: Markup,
    url: &Url,
) -> Result<Cow<'a, str>, Failure> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        let text = body.get(mark..).unwrap_or_default();
        return Ok(encoding.decode_without_bom_handling(text).0);
    }
    let encoding = by_header(content_type)
        .or_else(|| declared(body, markup))
        .unwrap_or_else(|| guessed(body, markup, url));
    if encoding == REPLACEMENT {
        return Err(Failure::Failed(
            "The page is in an encoding that browsers no longer read (one of ISO-2022-KR, ISO-2022-CN, HZ): it can hide text from those who check it. It can be downloaded, for example with curl, and converted with iconv."
                .to_owned(),
        ));
    }
    Ok(encoding.decode_without_bom_handling(body).0)
}

/// Returns `true` if a header declares UTF-16, whose text contains NUL bytes.
pub(crate) fn is_utf16(content_type: &str) -> bool {
    by_header(content_type).is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE)
}

fn by_header(content_type: &str) -> Option<&'static Encoding> {
    let parameter = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    let label = content_type.split(';').skip(1).find_map(parameter)?;
    Encoding::for_label(label.as_bytes())
}

fn declared(body: &[u8], markup: Markup) -> Option<&'static Encoding> {
    // In XML without a byte order mark, the width of the first characters shows the encoding.
    let by_width = || match body {
        [b'<', 0, b'?', 0, b'x', 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => Some(UTF_16BE),
        _ => None,
    };
    let start = first(body, DECLARED_WITHIN);
    match markup {
        Markup::Html => by_width().or_else(|| prescan::in_html(start)).or_else(|| prescan::in_xml(start)),
        Markup::Xml => by_width().or_else(|| prescan::in_xml(start)),
        Markup::None => None,
    }
}

fn guessed(body: &[u8], markup: Markup, url: &Url) -> &'static Encoding {
    // ISO-2022-JP consists of ASCII bytes with escapes.
    let is_ascii_only = || !body.contains(&0x1b);
    if std::str::from_utf8(body).is_ok() && is_ascii_only() || is_mostly_utf8(body) {
        return UTF_8;
    }
    let late = || prescan::in_html(first(body, DECLARED_LATE_WITHIN));
    if let Some(encoding) = (markup == Markup::Html).then(late).flatten() {
        return encoding;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(first(body, GUESSED_BY), true);
    detector.guess(top_level_domain(url).map(str::as_bytes), Utf8Detection::Allow)
}

/// Detects UTF-8 with a few invalid characters, as in truncated or concatenated files. Otherwise it would be
/// decoded as windows-1252.
fn is_mostly_utf8(body: &[u8]) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in body.utf8_chunks() {
        right += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        wrong += usize::from(!chunk.invalid().is_empty());
    }
    wrong > 0 && right / wrong >= MIN_RIGHT_PER_WRONG
}

/// Returns the top-level domain as a hint to the language. The detector accepts only lower-case ASCII.
fn top_level_domain(url: &Url) -> Option<&str> {
    let label = url.domain()?.rsplit('.').next()?;
    let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!label.is_empty() && label.bytes().all(is_label)).then_some(label)
}

fn first(body: &[u8], most: usize) -> &[u8] {
    body.get(..most).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &[u8], header: &str, markup: Markup, url: &str) -> String {
        let url = Url::parse(url).expect("a URL");
        decode(body, header, markup, &url).expect("text").into_owned()
    }

    #[test]
    fn the_mark_goes_before_the_header_and_that_before_the_document() {
        use Markup::{Html, None, Xml};
        let late = format!("<!--{}--><meta charset=koi8-r>", "x".repeat(2000));
        let late = [late.as_bytes(), b"\xcd\xc9\xd2"].concat();
        let russian = encoding_rs::WINDOWS_1251.encode("<meta charset=utf-8> Простой текст без разметки").0;
        let cases: [(&[u8], &str, Markup, &str); 18] = [
            (b"caf\xe9", "text/html; charset=iso-8859-1", Html, "café"),
            (b"caf\xc3\xa9", "text/html", Html, "café"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1", Html, "café"),
            (b"\xff\xfec\0a\0", "text/plain", None, "ca"),
            (b"c\0a\0", "text/plain; charset=utf-16", None, "ca"),
            (b"\0c\0a", "text/plain; charset=\"UTF-16BE\"", None, "ca"),
            (b"<meta charset=koi8-r>\xcd\xc9\xd2", "text/html", Html, "мир"),
            (b"<meta charset=koi8-r>\xcd\xc9\xd2", "text/html; charset=nonsense", Html, "мир"),
            (b"<meta charset=koi8-r>\xcd\xc9\xd2", "text/html; charset=windows-1251", Html, "НЙТ"),
            (&late, "text/html", Html, "мир"),
            // Plain text has no elements.
            (&russian, "text/plain", None, "Простой текст без разметки"),
            (b"<?xml version='1.0' encoding='iso-8859-1'?>\xe9", "text/xml", Xml, "é"),
            (b"<\0?\0x\0m\0l\0?\0>\0\xe9\0", "text/xml", Xml, "é"),
            (b"<meta charset=utf-16>\xc3\xa9", "", Html, "é"),
            (
                b"na\xefve caf\xe9s and d\xe9j\xe0 vu, \x93quoted\x94",
                "text/plain",
                None,
                "naïve cafés and déjà vu, “quoted”",
            ),
            (b"\x1b$B$3$s$K$A$O\x1b(B", "text/plain", None, "こんにちは"),
            (b"\x1b[31mred\x1b[0m \xc3\xa9", "text/plain", None, "\x1b[31mred\x1b[0m é"),
            // A truncated character.
            (
                "ёжик в тумане\u{20ac}".as_bytes().split_last().expect("bytes").1,
                "",
                None,
                "ёжик в тумане\u{fffd}",
            ),
        ];
        for (body, header, markup, wanted) in cases {
            let got = text(body, header, markup, "https://example.org/");
            assert!(got.ends_with(wanted), "{body:?} {header}: {got}");
        }
    }

    #[test]
    fn encodings_that_browsers_refuse_are_refused() {
        let url = Url::parse("https://example.org/").expect("a URL");
        for label in ["iso-2022-kr", "hz-gb-2312", "iso-2022-cn", "replacement"] {
            let header = format!("text/plain; charset={label}");
            assert!(decode(b"x", &header, Markup::None, &url).is_err(), "{label}");
        }
        assert!(decode(b"<meta charset=iso-2022-kr>x", "text/html", Markup::Html, &url).is_err());
    }

    #[test]
    fn the_address_is_a_hint_to_the_language() {
        let thai = b"\xca\xc7\xd1\xca\xb4\xd5";
        assert_eq!(text(thai, "", Markup::None, "https://example.co.th/"), "สวัสดี");
        for url in ["http://[::1]/", "http://10.0.0.1/", "http://localhost/", "https://example.org./"] {
            let _ = text(thai, "", Markup::None, url);
        }
    }
}
