//! The command `scorpiox-code audit verify`: detects changed, missing and added lines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_audit::{Break, Broken, LineHash, Record, Verified, Waiting, verify, verify_copy};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_text::line::escaped;

use super::against::verify_against;
use super::sentences::{count, push, waiting};
use super::{against_told, copied};

/// Verifies the audit. With copies, also checks that the audit contains their lines.
pub(super) fn run(
    folder: &Path,
    copies: &[PathBuf],
    elsewhere: &[LineHash],
    account: &Record,
) -> Result<ExitCode> {
    let found = verify(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let told = told(&found) + &waits(&Waiting::of(folder));
    if copies.is_empty() {
        return Ok(ended(&told, found.is_whole()));
    }
    let compared = verify_against(folder, copies, elsewhere, account)
        .context("the audit and its copies cannot be compared")?;
    let text = told + &against_told::told(&compared);
    Ok(ended(&text, found.is_whole() && compared.is_whole()))
}

/// Verifies a copy. Chains in it may begin after the lines in `from`.
pub(super) fn run_copy(file: &Path, from: &[LineHash]) -> Result<ExitCode> {
    let found = verify_copy(file, from).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(ended(&copied::told(&found, &file.display().to_string()), found.is_whole()))
}

fn ended(text: &str, is_whole: bool) -> ExitCode {
    terminal::print(&Shown::text(text));
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn waits(found: &Waiting) -> String {
    let mut text = String::new();
    for sentence in waiting(found) {
        push(&mut text, "", &format!("{}.", escaped(&sentence)));
    }
    text
}

fn told(found: &Verified) -> String {
    let mut text = String::new();
    let state = if found.is_whole() { "whole" } else { "BROKEN" };
    let (lines, files) = (count(found.lines, "line"), count(found.files, "file"));
    push(&mut text, "", &format!("The audit is {state}: {lines} in {files}."));
    if let Some((from, to)) = &found.times {
        push(&mut text, "", &format!("From {} to {}.", escaped(from), escaped(to)));
    }
    if let Some((number, place)) = &found.begins {
        // If the oldest lines were removed by someone else, the breaks below report it.
        let is_rotated = !found.breaks.iter().any(|found| matches!(found.what, Broken::OldestMissing(..)));
        let before = if is_rotated { "; older lines were rotated away" } else { "" };
        push(&mut text, "", &format!("It begins with number {number} ({place}){before}."));
    }
    if let Some((from, to)) = found.unrotated {
        let sentence = format!(
            "Numbers {from} to {to} are there although audit.head says that they were rotated away: a server was              killed while it rotated, or audit.head was changed."
        );
        push(&mut text, "", &sentence);
    }
    if found.before > 0 {
        let lines = count(found.before, "line");
        push(&mut text, "", &format!("Not checked: {lines} of versions that did not chain them."));
    }
    if found.torn > 0 {
        let pieces = count(found.torn, "piece");
        push(&mut text, "", &format!("Left out: {pieces} of lines that a killed server did not finish."));
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

#[cfg(test)]
mod tests {
    use scorpiox_audit::Place;

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
            unrotated: None,
            torn: 2,
            breaks: vec![
                Break { place: Some(place()), what: Broken::Changed(1_240_000) },
                Break { place: Some(place()), what: Broken::Missing(1_250_000, 1_250_009) },
                Break { place: None, what: Broken::Cut(1_474_567, 1_474_567) },
            ],
            more_breaks: 3,
        };
        let text = told(&found);
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
        assert_eq!(told(&Verified::default()), "The audit is whole: 0 lines in 0 files.\n");
        let kept = Verified { unrotated: Some((1, 4)), ..Verified::default() };
        assert!(told(&kept).contains("Numbers 1 to 4 are there although audit.head says"), "{}", told(&kept));
        // Removed lines must not be reported as rotated away.
        let removed = Break { place: None, what: Broken::OldestMissing(1, 6) };
        let found = Verified { breaks: vec![removed], ..found };
        assert!(!told(&found).contains("rotated away"), "{}", told(&found));
    }
}
