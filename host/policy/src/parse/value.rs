//! Numbers, sizes and names of variables.

use std::ops::RangeInclusive;

use scorpiox_rules::{Invalid, shorten};

use super::document::Entry;
use crate::problem::Problem;

const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];

/// A number in a range, of the type that has room for the range.
pub(super) fn number<T>(entry: &Entry<'_>, range: &RangeInclusive<T>) -> Result<T, Problem>
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

/// A size in bytes: a plain number, or text such as "512MiB".
pub(super) fn size(entry: &Entry<'_>, least: u64) -> Result<u64, Problem> {
    let fix = format!("write a size of at least {}, such as \"4GiB\"", show_size(least));
    let (size, shown) = match (entry.whole(), entry.as_text()) {
        (Some(number), _) => (u64::try_from(number).ok(), number.to_string()),
        (None, Some(text)) => (parse_size(text), format!("\"{}\"", shorten(text))),
        (None, None) => return Err(entry.wrong_type(&fix)),
    };
    match size {
        // TOML has no larger integers, so a plain number could not say it either.
        Some(size) if size >= least && i64::try_from(size).is_ok() => Ok(size),
        Some(_) => Err(entry.problem(format!("{} is {shown}", entry.label()), fix)),
        None => {
            let fix = format!("{fix}: a whole number and B, KiB, MiB or GiB");
            Err(entry.problem(format!("{} is {shown}, which is not a size", entry.label()), fix))
        }
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The size as it would be written in the file, in the largest unit without a rest.
pub(crate) fn show_size(bytes: u64) -> String {
    let largest = UNITS[..3].iter().rev().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    let (unit, factor) = largest.copied().unwrap_or(("B", 1));
    format!("{}{unit}", bytes / factor)
}

/// Why a variable cannot be passed or set: with it, whoever chooses the value chooses
/// what runs, in every program and before any rule of the program itself.
fn forbidden(name: &str) -> Option<&'static str> {
    const LOADER: &str = "the dynamic loader or the C library loads code by it";
    const BASH: &str = "bash runs code by it";
    const READING: &str = "bash reads commands otherwise by it";
    match name {
        "GCONV_PATH" | "LOCPATH" | "NLSPATH" | "GLIBC_TUNABLES" | "GETCONF_DIR" => Some(LOADER),
        "BASH_ENV" | "ENV" | "PROMPT_COMMAND" | "PS4" => Some(BASH),
        "SHELLOPTS" | "BASHOPTS" | "IFS" => Some(READING),
        _ if name.starts_with("LD_") || name.starts_with("DYLD_") => Some(LOADER),
        _ if name.starts_with("BASH_FUNC_") => Some(BASH),
        _ => None,
    }
}

/// Checks the name of an environment variable.
pub(super) fn variable(name: &str) -> Result<(), Invalid> {
    let shown = shorten(name);
    if let Some(why) = forbidden(name) {
        let what = format!("variable \"{shown}\" cannot be passed or set: {why}");
        return Err(Invalid::new(what, "remove it"));
    }
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(());
    }
    let fix = "write letters, digits and _, with no digit first";
    Err(Invalid::new(format!("\"{shown}\" is not the name of a variable"), fix))
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
