//! Characters of Chinese, Japanese and Korean fonts that only their encoding tells (ISO 32000-1, 9.7.5.2).

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, SHIFT_JIS};
use hayro_syntax::object::{Dict, Name};

/// Encodings by parts of their names, which end with the direction of the text (`GBK-EUC-H`). Others have codes that no
/// known encoding has, such as those of CNS 11643.
const LEGACY: [(&str, &Encoding); 8] = [
    ("GBK", GBK),
    ("GB-EUC-", GBK),
    ("GBpc-EUC-", GBK),
    ("B5", BIG5),
    ("RKSJ", SHIFT_JIS),
    ("KSCms", EUC_KR),
    ("KSC-EUC-", EUC_KR),
    ("KSCpc-EUC-", EUC_KR),
];

/// Encoding of the codes of a font without a map to Unicode.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coding {
    /// The codes are UTF-16, UTF-32 or UCS-2.
    Unicode,
    Legacy(&'static Encoding),
}

impl Coding {
    /// Returns the encoding of a font, if its name tells it and nothing else does.
    pub(super) fn of(font: &Dict<'_>) -> Option<Self> {
        let is_composite = font.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_str() == "Type0");
        if !is_composite || font.contains_key("ToUnicode") {
            return None;
        }
        let name = font.get::<Name<'_>>("Encoding")?;
        let name = name.as_str();
        if name.starts_with("Uni") {
            return (!name.contains("UTF8")).then_some(Self::Unicode);
        }
        if name.starts_with("EUC-") {
            return Some(Self::Legacy(EUC_JP));
        }
        LEGACY.iter().find(|(part, _)| name.contains(part)).map(|(_, encoding)| Self::Legacy(encoding))
    }

    /// Returns the text of a code of this many bytes.
    pub(super) fn text(self, code: u32, length: usize) -> Option<String> {
        let bytes = code.to_be_bytes();
        let bytes = bytes.get(bytes.len().checked_sub(length)?..)?;
        match self {
            // A pair of surrogates, or a character of UTF-32.
            Self::Unicode if length == 4 => {
                let units = [bytes.first_chunk::<2>()?, bytes.last_chunk::<2>()?]
                    .map(|unit| u16::from_be_bytes(*unit));
                char::from_u32(code).map(String::from).or_else(|| String::from_utf16(&units).ok())
            }
            Self::Unicode => char::from_u32(code).map(String::from),
            Self::Legacy(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .map(std::borrow::Cow::into_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_characters_of_their_encoding() {
        for (coding, code, length, text) in [
            (Coding::Unicode, 0x4e2d, 2, Some("中")),
            (Coding::Unicode, 0xd840_dc0b, 4, Some("𠀋")),
            (Coding::Unicode, 0x0002_000b, 4, Some("𠀋")),
            (Coding::Unicode, 0xd840, 2, None),
            (Coding::Legacy(GBK), 0xd6d0, 2, Some("中")),
            (Coding::Legacy(GBK), 0x41, 1, Some("A")),
            (Coding::Legacy(SHIFT_JIS), 0x93fa, 2, Some("日")),
            (Coding::Legacy(BIG5), 0xa4a4, 2, Some("中")),
            (Coding::Legacy(EUC_KR), 0xb0a1, 2, Some("가")),
            (Coding::Legacy(GBK), 0xff, 1, None),
        ] {
            assert_eq!(coding.text(code, length).as_deref(), text, "{coding:?} {code:x}");
        }
    }
}
