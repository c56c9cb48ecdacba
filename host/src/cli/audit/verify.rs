//! `scorpiox-code audit verify`: whether the lines are those that were written.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_audit::text::escaped;
use scorpiox_audit::{Break, Verified, verify, verify_copy};

use crate::cli::quote::{Shown, columns, wrapped};
use crate::cli::terminal;

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Audit,
    Copy,
}

/// Checks a copy, where one is named.
pub(super) fn run(folder: &Path, copy: Option<&Path>) -> Result<ExitCode> {
    let (found, what) = match copy {
        Some(file) => (verify_copy(file), What::Copy),
        None => (verify(folder), What::Audit),
    };
    let found = found.with_context(|| format!("{} cannot be read", copy.unwrap_or(folder).display()))?;
    terminal::print(&Shown::text(&told(&found, what)));
    Ok(if found.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told(found: &Verified, what: What) -> String {
    let mut text = String::new();
    let state = if found.is_whole() { "whole" } else { "BROKEN" };
    let (lines, files) = (count(found.lines, "line"), count(found.files, "file"));
    let subject = if what == What::Copy { "copy" } else { "audit" };
    push(&mut text, "", &format!("The {subject} is {state}: {lines} in {files}."));
    if let Some((from, to)) = &found.times {
        push(&mut text, "", &format!("From {} to {}.", escaped(from), escaped(to)));
    }
    if let Some((number, place)) = &found.begins {
        let before = match what {
            What::Audit => "older lines were rotated away",
            What::Copy => "older lines are not in it",
        };
        push(&mut text, "", &format!("It begins with number {number} ({place}); {before}."));
    }
    if found.again > 0 {
        let lines = count(found.again, "line");
        push(&mut text, "", &format!("Left out: {lines} that came again."));
    }
    if what == What::Copy {
        push(&mut text, "", "Which line is the newest only the audit itself knows.");
    }
    if found.before > 0 {
        let lines = count(found.before, "line");
        push(&mut text, "", &format!("Not checked: {lines} of versions that did not chain them."));
    }
    if found.torn > 0 {
        let pieces = count(found.torn, "piece");
        let why = match what {
            What::Audit => "of lines that a killed server did not finish",
            What::Copy => "that are no lines of an audit",
        };
        push(&mut text, "", &format!("Left out: {pieces} {why}."));
    }
    for Break { place, what } in &found.breaks {
        let place = place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        push(&mut text, "  ", &format!("{place}{what}"));
    }
    if found.more_breaks > 0 {
        push(&mut text, "  ", &format!("and {} more", count(found.more_breaks, "place")));
    }
    text
}

fn count(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A sentence in rows that fit, which go on further in.
fn push(text: &mut String, indent: &str, sentence: &str) {
    for (index, row) in wrapped(sentence, columns() - indent.len() - 2).into_iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{indent}{}{row}", if index == 0 { "" } else { "  " });
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_audit::{Broken, Place};

    use super::*;

    #[test]
    fn what_was_found_is_told_within_the_columns() {
        let place = || Place { file: "audit-20261122T020836.123Z.jsonl".to_owned(), row: 12_345 };
        let found = Verified {
            lines: 240_000,
            files: 8,
            times: Some(("2026-11-22T02:08:36.123Z".to_owned(), "2026-11-29T02:08:36.123Z".to_owned())),
            begins: Some((1_234_567, place())),
            before: 1,
            torn: 2,
            again: 0,
            breaks: vec![
                Break { place: Some(place()), what: Broken::Changed(1_240_000) },
                Break { place: Some(place()), what: Broken::Missing(1_250_000, 1_250_009) },
                Break { place: None, what: Broken::Cut(1_474_567, 1_474_567) },
            ],
            more_breaks: 3,
        };
        let text = told(&found, What::Audit);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.starts_with("The audit is BROKEN: 240000 lines in 8 files.\n"), "{text}");
        for piece in [
            "older lines were rotated away",
            "1 line of versions",
            "2 pieces of lines",
            "line 12345: number 1240000 was changed",
            "\n  number 1474567 is missing at the end\n  and 3 places more",
        ] {
            assert!(text.contains(piece) || text.replace("\n    ", " ").contains(piece), "{piece}: {text}");
        }
        assert_eq!(told(&Verified::default(), What::Audit), "The audit is whole: 0 lines in 0 files.\n");
        let copy = told(&Verified { again: 1, ..found }, What::Copy);
        assert!(
            copy.starts_with("The copy is BROKEN: ")
                && copy.contains("\nLeft out: 1 line that came again.\n")
        );
        assert!(copy.contains("older lines are not in it"), "{copy}");
    }
}
