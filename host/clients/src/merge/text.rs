//! Places in a text, edits at them, and strings as TOML and YAML quote them.

use std::fmt::Write as _;
use std::ops::Range;

use super::super::entry::Value;

/// The line of a place, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The column of a place, from 1, in characters.
pub(super) fn column_at(text: &str, at: usize) -> usize {
    text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1
}

/// How the lines of a text end.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A text with something else in the place of a part of it.
pub(super) fn spliced(text: &str, part: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..part.start], &text[part.end..])
}

/// A text with lines put in at the start of a line, or at its end, where the last line
/// may lack its end.
pub(super) fn with_lines_at(text: &str, at: usize, lines: &[String]) -> String {
    let end = line_end(text);
    let before = if at > 0 && !text[..at].ends_with('\n') { end } else { "" };
    let new: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
    spliced(text, at..at, &format!("{before}{new}"))
}

/// A string between double quotes. JSON's escapes are also TOML's and YAML's; what those
/// two do not allow as it is, is escaped too.
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

/// A value on one line, as TOML and YAML both read it, but for what stands after a name: `between`.
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
