//! Detects the type of a file by its content.

use crate::format::Format;
use crate::problem::Problem;
use crate::tga;

/// Number of bytes that are checked to distinguish text from binary data.
const LOOKED_AT: usize = 4096;

/// Returns the format of a file.
pub(crate) fn recognise(bytes: &[u8]) -> Result<Format, Problem> {
    let format = match bytes {
        [] => return Err(Problem::Empty),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Format::Png,
        [0xff, 0xd8, 0xff, ..] => Format::Jpeg,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Format::Gif,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Format::WebP,
        [b'B', b'M', _, _, _, _, _, _, _, _, _, _, _, _, 12..=124, 0, 0, 0, ..] => Format::Bmp,
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Format::Tiff,
        [0, 0, 1 | 2, 0, 1..=255, 0, ..] => Format::Ico, // 2 is a cursor
        [b'q', b'o', b'i', b'f', ..] => Format::Qoi,
        [b'P', b'1'..=b'7', ..] if is_pnm(bytes) => Format::Pnm,
        [0x1f, 0x8b, 8, ..] => Format::Svg, // compressed; other contents are detected after decompression
        _ if root_element(bytes).is_some_and(|name| name == "svg") => Format::Svg,
        // TGA has no signature at its beginning, so all other formats are checked first.
        _ if known(bytes).is_none() && tga::recognise(bytes) => Format::Tga,
        _ => return Err(Problem::Other(describe(bytes))),
    };
    Ok(format)
}

/// Returns `true` if the numbers of a header follow. `P5 is …` may be the beginning of any text.
fn is_pnm(bytes: &[u8]) -> bool {
    let wanted = match bytes[1] {
        b'7' => return bytes[2..].starts_with(b"\n") || bytes[2..].starts_with(b"\r\n"),
        b'1' | b'4' => 2,
        _ => 3,
    };
    let mut rest = &bytes[2..bytes.len().min(LOOKED_AT)];
    for _ in 0..wanted {
        if !rest.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'#') {
            return false;
        }
        rest = rest.trim_ascii_start();
        while rest.first() == Some(&b'#') {
            let end = rest.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(rest.len());
            rest = rest[end..].trim_ascii_start();
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return false;
        }
        rest = &rest[digits..];
    }
    true
}

/// Describes a file that has none of the formats.
pub(crate) fn describe(bytes: &[u8]) -> String {
    known(bytes).map_or_else(|| unknown(bytes), str::to_owned)
}

fn known(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    Some(match bytes {
        _ if starts(b"%PDF-") => "a PDF document, which ReadDocs reads",
        _ if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") => {
            "a ZIP archive (or an Office document, which is one; ReadDocs reads those of Word)"
        }
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4).unwrap_or_default() {
            b"heic" | b"heix" | b"hevc" | b"mif1" | b"msf1" | b"heim" | b"heis" => "a HEIC image",
            b"avif" | b"avis" => "an AVIF image",
            _ => "a video or another ISO media file",
        },
        _ if starts(&[0xff, 0x0a]) || starts(b"\0\0\0\x0cJXL ") => "a JPEG XL image",
        _ if starts(b"\0\0\0\x0cjP  ") || starts(&[0xff, 0x4f, 0xff, 0x51]) => "a JPEG 2000 image",
        _ if starts(b"8BPS") => "a Photoshop document",
        _ if starts(b"gimp xcf") => "a GIMP document",
        _ if starts(b"DDS ") => "a DDS texture",
        _ if starts(b"#?RADIANCE") => "a Radiance HDR image",
        _ if starts(&[0x76, 0x2f, 0x31, 0x01]) => "an OpenEXR image",
        [b'P', b'F' | b'f', b'\n' | b'\r', ..] => "a PFM image",
        _ if starts(b"\x1a\x45\xdf\xa3") => "a Matroska or WebM video",
        [b'R', b'I', b'F', b'F', ..] => "a RIFF file such as WAV or AVI",
        _ if starts(b"ID3") || starts(b"OggS") || starts(b"fLaC") => "an audio file",
        _ if starts(b"\x7fELF") || starts(b"MZ") => "a program",
        _ if starts(b"\0asm") => "a WebAssembly module",
        _ if starts(&[0xfe, 0xff]) || starts(&[0xff, 0xfe]) => "text in UTF-16",
        _ if starts(&[0x1f, 0x8b])
            || starts(b"BZh")
            || starts(b"\xfd7zXZ")
            || starts(b"\x28\xb5\x2f\xfd") =>
        {
            "a compressed file"
        }
        _ if looks_like_broken_png(bytes) => {
            "a PNG with a damaged signature, as a transfer in text mode leaves it"
        }
        _ => return None,
    })
}

fn looks_like_broken_png(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(20)];
    let has = |wanted: &[u8]| head.windows(wanted.len()).any(|window| window == wanted);
    has(b"IHDR") || has(b"\x89PNG")
}

fn unknown(bytes: &[u8]) -> String {
    let mut head = &bytes[..bytes.len().min(LOOKED_AT)];
    if let Err(error) = std::str::from_utf8(head) {
        // A character that is cut at the end of the sample is not an error.
        if error.error_len().is_none() {
            head = &head[..error.valid_up_to()];
        }
    }
    let text = std::str::from_utf8(head).ok().filter(|text| !text.is_empty());
    let binary = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{1b}';
    match (text, root_element(bytes)) {
        (Some(_), Some(name)) if name.eq_ignore_ascii_case("html") => "an HTML page".to_owned(),
        (Some(_), Some(name)) => format!("XML or HTML text whose first element is <{name}>"),
        (Some(text), None) if !text.contains(binary) => "text".to_owned(),
        _ => {
            let first: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("data of an unknown kind (it begins with {})", first.join(" "))
        }
    }
}

/// Returns the local name of an XML text's root element.
fn root_element(bytes: &[u8]) -> Option<&str> {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    loop {
        rest = if rest.starts_with(b"<?") {
            after(rest, b"?>")?
        } else if rest.starts_with(b"<!--") {
            after(rest, b"-->")?
        } else if rest.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype")) {
            let end = rest.iter().position(|&byte| byte == b'>' || byte == b'[')?;
            if rest[end] == b'[' { after(after(&rest[end..], b"]")?, b">")? } else { &rest[end + 1..] }
        } else {
            break;
        }
        .trim_ascii_start();
    }
    let name = rest.strip_prefix(b"<")?;
    let end = name.iter().position(|byte| b" \t\r\n/>".contains(byte))?;
    let name = std::str::from_utf8(&name[..end.min(60)]).ok()?;
    let local = name.rsplit(':').next()?;
    (!local.is_empty() && local.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))).then_some(local)
}

fn after<'a>(bytes: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(end.len()).position(|window| window == end)?;
    Some(&bytes[at + end.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_recognised_behind_declarations() {
        for text in [
            "<svg/>",
            "\u{feff}<?xml version='1.0'?>\n<!-- a > b --><svg xmlns='x'>",
            "<!DOCTYPE svg [ <!ENTITY a 'b>c'> ]><svg:svg >",
            "<!doctype svg>\n<svg\n>",
        ] {
            assert_eq!(recognise(text.as_bytes()), Ok(Format::Svg), "{text}");
        }
    }

    #[test]
    fn other_files_are_named() {
        for (bytes, what) in [
            (&b"%PDF-1.7"[..], "a PDF document, which ReadDocs reads"),
            (b"\0\0\0\x18ftypheic", "a HEIC image"),
            (b"\0\0\0\x18ftypavif", "an AVIF image"),
            (b"PK\x03\x04abc", "a ZIP archive"),
            (b"hello there", "text"),
            (b"BM is a town", "text"),
            (b"<!DOCTYPE html><html>", "an HTML page"),
            (b"<rss >", "first element is <rss>"),
            (b"\x01\x02\x03", "begins with 01 02 03"),
            (b"\x89PNG\n\x1a\n\0\0\0\x0dIHDR", "a PNG with a damaged signature"),
        ] {
            let text = recognise(bytes).expect_err("refused").to_string();
            assert!(text.contains(what) && text.contains("Supported are PNG"), "{text}");
        }
        assert_eq!(recognise(b""), Err(Problem::Empty));
    }
}
