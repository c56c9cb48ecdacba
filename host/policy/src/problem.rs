//! What is wrong with the file, in words for the person who wrote it.

use std::path::{Path, PathBuf};

use crate::managed::MANAGED_FILE;

/// Longest piece of a file that is repeated in a message, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// Why the operator's file cannot be used. A policy is taken whole or not at all: half
/// of one would allow what the other half forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{} {what}; {fix}", file_name(path), colon(at_line(*line), what))]
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

impl Problem {
    /// The same of the file as somebody named it.
    pub fn told_of(&self, file: &Path) -> String {
        let Self { line, what, fix, .. } = self;
        format!("{}{} {what}; {fix}", file.display(), colon(at_line(*line), what))
    }

    /// The file and the line, as a rule of it is named.
    pub fn place(&self) -> String {
        format!("{}{}", file_name(&self.path), at_line(self.line))
    }
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

/// What is wrong with the file itself goes on as a sentence: "policy.toml is gone".
fn colon(at: String, what: &str) -> String {
    let goes_on = ["is ", "has ", "can ", "cannot "].iter().any(|verb| what.starts_with(verb));
    if goes_on { at } else { at + ":" }
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
    let hint = scorpiox_text::nearest(written, known.iter().copied())
        .map(|name| format!("did you mean `{name}`? "))
        .unwrap_or_default();
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("{hint}known {kind} are {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

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
