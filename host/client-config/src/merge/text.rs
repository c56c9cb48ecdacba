//! Text positions, edits, and string quoting for TOML and YAML.

use std::fmt::Write as _;
use std::ops::Range;

use super::super::entry::Value;

/// Returns the line of a byte offset, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns the column of a byte offset in characters, from 1.
pub(super) fn column_at(text: &str, at: usize) -> usize {
    text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1
}

/// Returns the line ending of a text.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the text with a range replaced.
pub(super) fn spliced(text: &str, part: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..part.start], &text[part.end..])
}

/// Inserts lines at the start of a line, or at the end of the text. Adds a missing line ending before them.
pub(super) fn with_lines_at(text: &str, at: usize, lines: &[String]) -> String {
    let end = line_end(text);
    let before = if at > 0 && !text[..at].ends_with('\n') { end } else { "" };
    let new: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
    spliced(text, at..at, &format!("{before}{new}"))
}

/// Returns a double-quoted string. JSON escapes are also valid in TOML and YAML. Characters that either of
/// them forbids are escaped too.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{2028}' | '\u{2029}' | '\u{feff}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn list<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let texts: Vec<_> = texts.map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Formats a value on one line, valid in TOML and YAML. `between` separates a name from its value.
pub(super) fn written(value: &Value, between: &str) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Program(program, arguments) => list([program].into_iter().chain(arguments)),
        Value::Arguments(arguments) => list(arguments.iter()),
        Value::All => "[\"*\"]".to_owned(),
        Value::Flag(flag) => flag.to_string(),
        Value::Seconds(seconds) => seconds.to_string(),
        Value::Variable(name, value) => format!("{{{name}{between}{}}}", quoted(value)),
    }
}
