//! Sentences about an audit, in rows that fit a terminal.

use std::fmt::Write as _;

use scorpiox_terminal::{columns, wrapped};

/// A number of things.
pub(super) fn count(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A sentence in rows that fit, which go on further in.
pub(super) fn push(text: &mut String, indent: &str, sentence: &str) {
    for (index, row) in wrapped(sentence, columns() - indent.len() - 2).into_iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{indent}{}{row}", if index == 0 { "" } else { "  " });
    }
}
