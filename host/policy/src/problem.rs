//! What is wrong with the file, in words for the person who wrote it.

use std::path::{Path, PathBuf};

use crate::managed::MANAGED_FILE;

/// Longest piece of a file that is repeated in a message, in characters.
const MAX_SHOWN_CHARS: usize = 60;
/// Names longer than this are not compared: the comparison takes quadratic time.
const MAX_COMPARED_CHARS: usize = 64;

/// Why the operator's file cannot be used. A policy is taken whole or not at all: half
/// of one would allow what the other half forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}; {fix}", file_name(path), at_line(*line))]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// What is wrong, with the value.
    pub what: String,
    /// What to write or do instead.
    pub fix: String,
}

/// A value that cannot be used, before anybody knows the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct Invalid {
    /// What is wrong, with the value.
    pub what: String,
    /// What to write instead.
    pub fix: String,
}

impl Invalid {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// The name of a person's own file, and the whole path of the one for all users.
fn file_name(path: &Path) -> String {
    if path == Path::new(MANAGED_FILE) {
        return MANAGED_FILE.to_owned();
    }
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" line {line}")).unwrap_or_default()
}

/// The start of `text`, without anything that a terminal would act on.
pub(crate) fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// "did you mean `x`? " when a known name is near, then the list of all of them.
pub(crate) fn suggest(written: &str, kind: &str, known: &[&str]) -> String {
    let hint = nearest(written, known).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("{hint}known {kind} are {}", list.join(", "))
}

fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written: Vec<char> = written.to_lowercase().chars().collect();
    if written.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let distance = |name: &str| edits(&written, &name.to_lowercase().chars().collect::<Vec<_>>());
    let best = known.iter().copied().min_by_key(|name| distance(name))?;
    (distance(best) <= (best.chars().count() / 3).max(1)).then_some(best)
}

/// Optimal string alignment: insertions, deletions, replacements, swapped neighbours.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit() {
        let edits = |a: &str, b: &str| edits(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!((edits("raed", "read"), edits("", "abc"), edits("wirte", "write")), (1, 3, 1));
    }

    #[test]
    fn a_name_far_from_all_gets_the_list_without_a_guess() {
        assert_eq!(suggest("zzz", "keys", &["read", "write"]), "known keys are `read`, `write`");
    }

    #[test]
    fn text_in_a_message_is_cut_and_escaped() {
        assert_eq!(shorten("a\u{1b}[0m\n"), "a\\u{1b}[0m\\n");
        assert_eq!(shorten(&"x".repeat(100)).chars().count(), MAX_SHOWN_CHARS + 1);
    }
}
