//! Rendering of documents with a source on each line.

use std::fmt::Write as _;

use crate::rule::Source;

/// Column of the sources, unless the line is longer.
const SOURCE_COLUMN: usize = 48;

/// A document that is being rendered.
#[derive(Debug, Default)]
pub struct Page {
    /// Text so far.
    pub text: String,
}

impl Page {
    /// Appends the header of a table after an empty line.
    pub fn header(&mut self, name: &str, source: Source) {
        self.text.push('\n');
        self.line(&format!("[{name}]"), source);
    }

    /// Appends a line with its source as a comment.
    pub fn line(&mut self, line: &str, source: Source) {
        let padding = SOURCE_COLUMN.saturating_sub(line.chars().count() + 1);
        // Writing to a `String` cannot fail.
        _ = writeln!(self.text, "{line} {:padding$}# {source}", "");
    }

    /// Appends a list: on one line if all entries share a source, otherwise with one line per entry.
    pub fn list(&mut self, key: &str, entries: &[(String, Source)], origin: Source) {
        let one_source = entries.iter().all(|(_, source)| *source == origin);
        let width: usize = entries.iter().map(|(entry, _)| entry.len() + 4).sum();
        let quoted = entries.iter().map(|(entry, _)| quote(entry));
        if one_source && width <= 80 {
            self.line(&format!("{key} = [{}]", quoted.collect::<Vec<_>>().join(", ")), origin);
            return;
        }
        self.line(&format!("{key} = ["), origin);
        for (entry, (_, source)) in quoted.zip(entries) {
            self.line(&format!("    {entry},"), *source);
        }
        self.text.push_str("]\n");
    }
}

/// Formats text as a TOML string on one line, with control characters escaped for the terminal.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.extend(format!("\\u{:04X}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
