//! Bytes to text: the byte order mark, the header, what the document says of itself, and a
//! guess at last, in this order.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Where a document may name its encoding, in bytes from its beginning (HTML Standard, 13.2.3.2).
const DECLARED_WITHIN: usize = 1024;
/// Bytes that a guess looks at.
const GUESSED_BY: usize = 256 * 1024;

/// The text of a body. Broken bytes become replacement characters.
pub(crate) fn decode<'a>(body: &'a [u8], content_type: &str) -> Cow<'a, str> {
    let (encoding, mark) = match Encoding::for_bom(body) {
        Some((encoding, mark)) => (encoding, mark),
        None => (by_header(content_type).or_else(|| declared(body)).unwrap_or_else(|| guessed(body)), 0),
    };
    encoding.decode_without_bom_handling(&body[mark..]).0
}

fn by_header(content_type: &str) -> Option<&'static Encoding> {
    let parameter = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    let label = content_type.split(';').skip(1).find_map(parameter)?;
    Encoding::for_label(label.as_bytes())
}

/// `<meta charset=x>`, `<meta … content="text/html; charset=x">` or `<?xml … encoding="x"?>`.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let start = body[..body.len().min(DECLARED_WITHIN)].to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start);
    let in_xml = start.trim_start().strip_prefix("<?xml").and_then(|rest| {
        let (declaration, _) = rest.split_once("?>")?;
        label_after(declaration, "encoding")
    });
    let in_meta = || {
        start
            .split("<meta")
            .skip(1)
            .find_map(|tag| label_after(tag.split('>').next().unwrap_or_default(), "charset"))
    };
    let encoding = Encoding::for_label(in_xml.or_else(in_meta)?.as_bytes())?;
    // Text that could be searched for the declaration is not UTF-16.
    Some(match encoding {
        found if found == UTF_16LE || found == UTF_16BE => UTF_8,
        found if found == X_USER_DEFINED => WINDOWS_1252,
        found => found,
    })
}

fn label_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = text.split_once(name)?;
    let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| matches!(c, '"' | '\'' | ';' | '/' | '>') || c.is_whitespace());
    Some(&value[..end.unwrap_or(value.len())])
}

fn guessed(body: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&body[..body.len().min(GUESSED_BY)], true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_goes_before_the_header_and_that_before_the_document() {
        let cases: [(&[u8], &str, &str); 9] = [
            (b"caf\xe9", "text/html; charset=iso-8859-1", "café"),
            (b"caf\xc3\xa9", "text/html", "café"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1", "café"),
            (b"\xff\xfec\0a\0", "text/plain", "ca"),
            (b"<meta charset=koi8-r>\xcd\xc9\xd2", "text/html", "<meta charset=koi8-r>мир"),
            (
                b"<META http-equiv=x content='text/html; charset=windows-1251'>\xec\xe8\xf0",
                "text/html",
                "<META http-equiv=x content='text/html; charset=windows-1251'>мир",
            ),
            (
                b"<?xml version='1.0' encoding='iso-8859-1'?>\xe9",
                "text/xml",
                "<?xml version='1.0' encoding='iso-8859-1'?>é",
            ),
            (b"<meta charset=utf-16>\xc3\xa9", "", "<meta charset=utf-16>é"),
            (
                b"na\xefve caf\xe9s and d\xe9j\xe0 vu, \x93quoted\x94",
                "text/plain",
                "naïve cafés and déjà vu, “quoted”",
            ),
        ];
        for (body, header, text) in cases {
            assert_eq!(decode(body, header), text, "{body:?} {header}");
        }
    }
}
