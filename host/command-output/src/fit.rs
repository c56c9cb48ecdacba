//! Shortens a text to a maximum length.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::human::grouped;
use crate::human_bytes;
use crate::spill::{Spill, SpillPlace};

/// Characters reserved for the notes about the omitted part and the location of the complete text.
const NOTE_CHARS: usize = 400;

/// Returns the length of a text in UTF-16 units, as clients count it. It is never less than the number of
/// characters.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Returns a text of at most `most` characters.
///
/// A longer text is reduced to its first third and last two thirds, with a line in between that states the
/// omitted amount. The complete text is then stored at `place`, and the last line names the file.
pub fn fit(text: Cow<'_, str>, most: usize, place: impl FnOnce() -> SpillPlace) -> Cow<'_, str> {
    // A character never has more UTF-16 units than UTF-8 bytes.
    if text.len() <= most || length(&text) <= most {
        return text;
    }
    let kept = most.saturating_sub(NOTE_CHARS);
    let head = beginning(&text, kept / 3);
    let tail = end(&text[head.len()..], kept - kept / 3);
    let left_out = text[head.len()..text.len() - tail.len()].chars().count();
    let mut fitted = format!("{head}\n\n[… {} characters left out …]\n\n{tail}", grouped(left_out as u64));
    match kept_whole(&text, &place()) {
        Some(Ok((path, bytes))) => {
            let _ = write!(fitted, "\n\n[the whole result ({}) is in {path}]", human_bytes(bytes));
        }
        Some(Err(why)) => {
            let _ = write!(fitted, "\n\n[the whole result could not be kept: {why}]");
        }
        None => {}
    }
    Cow::Owned(fitted)
}

/// Returns the longest prefix of at most `most` characters.
pub fn beginning(text: &str, most: usize) -> &str {
    let mut length = 0;
    let end = text.char_indices().find(|(_, c)| {
        length += c.len_utf16();
        length > most
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn end(text: &str, most: usize) -> &str {
    let mut length = 0;
    let fits = text.char_indices().rev().take_while(|(_, c)| {
        length += c.len_utf16();
        length <= most
    });
    fits.last().map_or("", |(at, _)| &text[at..])
}

/// Stores the complete text. Returns the path and size, or the reason for a failure.
fn kept_whole(text: &str, place: &SpillPlace) -> Option<Result<(String, u64), String>> {
    let mut spill = match Spill::create(place)? {
        Ok(spill) => spill,
        Err(why) => return Some(Err(why)),
    };
    spill.write(text.as_bytes());
    Some(match spill.finish() {
        (Some(full), None) => Ok((full.path.display().to_string(), full.bytes)),
        (_, why) => Err(why.unwrap_or_else(|| "nothing was written".to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitted(text: &str, most: usize) -> Cow<'_, str> {
        fit(Cow::Borrowed(text), most, SpillPlace::none)
    }

    #[test]
    fn what_fits_is_borrowed() {
        let text = "é".repeat(1000);
        assert!(matches!(fitted(&text, 1000), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn a_long_text_keeps_both_ends_and_says_how_much_is_gone_and_where_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("BEGIN{}END", "x".repeat(30_000));
        let fitted = fit(Cow::Borrowed(&text), 2000, || SpillPlace::new(folder.path(), "1"));
        assert!(length(&fitted) <= 2000, "{}", length(&fitted));
        assert!(fitted.starts_with("BEGINx"), "{fitted}");
        let left_out = 30_008 - (2000 - NOTE_CHARS);
        let (between, path) = (grouped(left_out as u64), folder.path().join("output-1.txt"));
        assert!(fitted.contains(&format!("\n\n[… {between} characters left out …]\n\n")), "{fitted}");
        assert!(
            fitted.ends_with(&format!("xEND\n\n[the whole result (30,008 bytes) is in {}]", path.display())),
            "{fitted}"
        );
        assert_eq!(std::fs::read_to_string(path).expect("a file"), text);
    }

    proptest! {
        #[test]
        fn whatever_comes_fits(text in "[a-z😀é中\n]{0,3000}", most in NOTE_CHARS..2000) {
            prop_assert!(length(&fitted(&text, most)) <= most);
        }
    }
}
