//! Properties of a font that are relevant to the text.

use hayro_syntax::object::{Array, Dict, Name, Object};

/// `FixedPitch` and `ForceBold` of `Flags` (ISO 32000-1, 9.8.2).
const FIXED_PITCH: i32 = 1;
const FORCE_BOLD: i32 = 1 << 18;
/// Minimum `FontWeight` that counts as bold.
const BOLD_WEIGHT: i32 = 600;

/// Parts of font names, in lower case, because programs rarely set the flags.
const BOLD: [&str; 6] = ["bold", "black", "heavy", "demi", "cmbx", "sfbx"];
const MONO: [&str; 9] =
    ["mono", "courier", "consol", "menlo", "typewriter", "cmtt", "sftt", "fixed", "sourcecode"];

/// Style of a font's characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) is_bold: bool,
    /// `true` if all characters have the same width.
    pub(super) is_mono: bool,
    /// `true` if the font consists of bitmaps whose names are TeX codes (`a65`).
    pub(super) is_bitmap: bool,
}

/// Returns the text of a code in TeX's bitmap fonts, which have no other information about it.
pub(super) fn of_bitmap(code: u32) -> Option<&'static str> {
    const ASCII: &str =
        "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    match code {
        11 | 27 => Some("ff"),
        12 | 28 => Some("fi"),
        13 | 29 => Some("fl"),
        14 | 30 => Some("ffi"),
        15 | 31 => Some("ffl"),
        _ => {
            let at = usize::try_from(code).ok()?.checked_sub(33)?;
            ASCII.get(at..at + 1)
        }
    }
}

fn is_bitmap(font: &Dict<'_>) -> bool {
    let is_drawn = font.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_str() == "Type3");
    let names = || font.get::<Dict<'_>>("Encoding")?.get::<Array<'_>>("Differences");
    let is_code = |name: &Name<'_>| {
        name.as_str()
            .strip_prefix('a')
            .is_some_and(|code| !code.is_empty() && code.bytes().all(|c| c.is_ascii_digit()))
    };
    is_drawn
        && !font.contains_key("ToUnicode")
        && names().is_some_and(|names| {
            let mut names = names.iter::<Object<'_>>().filter_map(|part| match part {
                Object::Name(name) => Some(name),
                _ => None,
            });
            names.next().is_some_and(|name| is_code(&name))
        })
}

pub(super) fn style(font: &Dict<'_>) -> Style {
    let below = || font.get::<Array<'_>>("DescendantFonts")?.iter::<Dict<'_>>().next();
    let descriptor = font.get::<Dict<'_>>("FontDescriptor");
    let descriptor = descriptor.or_else(|| below()?.get::<Dict<'_>>("FontDescriptor"));
    let name = font.get::<Name<'_>>("BaseFont").map(|name| name.as_str().to_ascii_lowercase());
    let name = name.unwrap_or_default();
    let number = |key: &str| descriptor.as_ref().and_then(|all| all.get::<i32>(key)).unwrap_or_default();
    let is_named = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let flags = number("Flags");
    Style {
        is_bold: is_named(&BOLD) || flags & FORCE_BOLD != 0 || number("FontWeight") >= BOLD_WEIGHT,
        is_mono: is_named(&MONO) || flags & FIXED_PITCH != 0,
        is_bitmap: is_bitmap(font),
    }
}
