//! Parsers for numbers, sizes and lists.

use std::ops::RangeInclusive;

use crate::rule::{Invalid, shorten};

use crate::document::problem::Problem;
use crate::document::section::Entry;

const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];

/// Parses a number in a range.
pub fn number<T>(entry: &Entry<'_>, range: &RangeInclusive<T>) -> Result<T, Problem>
where
    T: TryFrom<i64> + PartialOrd + std::fmt::Display,
{
    let fix = format!("write a number from {} to {}", range.start(), range.end());
    let Some(number) = entry.whole() else {
        return Err(entry.wrong_type(&fix));
    };
    let fitting = T::try_from(number).ok().filter(|number| range.contains(number));
    fitting.ok_or_else(|| entry.problem(format!("{} is {number}", entry.label()), fix))
}

/// Parses a size in bytes: a plain number, or a string such as "512MiB".
pub fn size(entry: &Entry<'_>, least: u64) -> Result<u64, Problem> {
    let fix = format!("write a size of at least {}, such as \"4GiB\"", show_size(least));
    let (size, shown) = match (entry.whole(), entry.as_text()) {
        (Some(number), _) => (u64::try_from(number).ok(), number.to_string()),
        (None, Some(text)) => (parse_size(text), format!("\"{}\"", shorten(text))),
        (None, None) => return Err(entry.wrong_type(&fix)),
    };
    match size {
        // TOML integers are signed 64-bit numbers and cannot express a larger size.
        Some(size) if size >= least && i64::try_from(size).is_ok() => Ok(size),
        Some(_) => Err(entry.problem(format!("{} is {shown}", entry.label()), fix)),
        None => {
            let fix = format!("{fix}: a whole number and B, KiB, MiB or GiB");
            Err(entry.problem(format!("{} is {shown}, which is not a size", entry.label()), fix))
        }
    }
}

/// Parses a list, each entry with `parse`; `fix` describes the correct syntax.
pub fn list<T>(
    entry: &Entry<'_>,
    fix: &str,
    parse: impl Fn(&Entry<'_>, &str) -> Result<T, Invalid>,
) -> Result<Vec<T>, Problem> {
    let read = |item: Entry<'_>| parse(&item, item.text(fix)?).map_err(|invalid| item.invalid(&invalid));
    entry.list(fix)?.into_iter().map(read).collect()
}

fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats a size as written in the file, in the largest unit that divides it.
pub fn show_size(bytes: u64) -> String {
    let largest = UNITS[..3].iter().rev().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    let (unit, factor) = largest.copied().unwrap_or(("B", 1));
    format!("{}{unit}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_with_a_binary_unit() {
        for (text, size) in [("0", 0), ("12", 12), ("12B", 12), ("3KiB", 3 << 10), ("4GiB", 4 << 30)] {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        for text in [
            "",
            "GiB",
            "1.5GiB",
            "4GB",
            "4 GiB",
            "-1B",
            "+1B",
            "4gib",
            "99999999999999999999",
            "17179869184GiB",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_without_a_rest() {
        for size in [0, 1, 1023, 1 << 10, 1536 << 20, 4 << 30, (4 << 30) + 1] {
            assert_eq!(parse_size(&show_size(size)), Some(size));
        }
        assert_eq!((show_size(1536 << 20).as_str(), show_size(1 << 30).as_str()), ("1536MiB", "1GiB"));
    }
}
