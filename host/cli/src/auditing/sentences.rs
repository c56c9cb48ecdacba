//! Formats sentences about an audit in rows that fit the terminal.

use std::fmt::Write as _;

use scorpiox_audit::Waiting;
use scorpiox_terminal::{columns, wrapped};

/// Formats a number with its noun.
pub(super) fn count(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Appends a sentence, wrapped to indented rows.
pub(super) fn push(text: &mut String, indent: &str, sentence: &str) {
    for (index, row) in wrapped(sentence, columns() - indent.len() - 2).into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{}{row}", if index == 0 { "" } else { "  " });
    }
}

/// Returns a sentence about skipped lines, or `None` if there are none.
pub(super) fn left_out(count: u64, is_of_files: bool) -> Option<String> {
    match (count, is_of_files) {
        (0, _) => None,
        (1, true) => Some("1 line that is none of an audit was left out".to_owned()),
        (count, true) => Some(format!("{count} lines that are none of an audit were left out")),
        (1, false) => Some("1 damaged line was left out".to_owned()),
        (count, false) => Some(format!("{count} damaged lines were left out")),
    }
}

/// Returns sentences about lines of ended processes that are not in the log yet, without the full stop.
pub(crate) fn waiting(found: &Waiting) -> Vec<String> {
    let mut sentences = Vec::new();
    if found.lines > 0 {
        let (lines, files) = (count(found.lines, "line"), count(found.files, "file"));
        sentences.push(format!(
            "Not in the audit yet: {lines} in {files} audit.left-NUMBER, of processes that ended while another one held the \
             lock; the next call adds them, such as `scorpiox-code call TaskManager '{{\"action\": \"list\"}}'`"
        ));
    }
    let others = found.others.iter();
    sentences
        .extend(others.map(|path| format!("{} has no lines that can be read, and stays", path.display())));
    sentences
}
