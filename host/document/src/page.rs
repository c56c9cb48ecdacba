//! Writing a document whose lines say where they come from.

use std::fmt::Write as _;

use scorpiox_rules::Source;

/// Column where the sources begin, unless the line is longer.
const SOURCE_COLUMN: usize = 48;

/// A document that is written.
#[derive(Debug, Default)]
pub struct Page {
    /// What was written so far.
    pub text: String,
}

impl Page {
    /// The header of a table, after an empty line.
    pub fn header(&mut self, name: &str, source: Source) {
        self.text.push('\n');
        self.line(&format!("[{name}]"), source);
    }

    /// One line, with its source as a comment.
    pub fn line(&mut self, line: &str, source: Source) {
        let padding = SOURCE_COLUMN.saturating_sub(line.chars().count() + 1);
        // Writing to a string does not fail.
        _ = writeln!(self.text, "{line} {:padding$}# {source}", "");
    }

    /// A list on one line when all of it has one source, else a line for each entry.
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

/// Text as a TOML string on one line, without anything that a terminal would act on.
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
