//! Problems in a file, worded for its author.

use std::path::{Path, PathBuf};

use crate::rule::{MANAGED_FILE, REPOSITORY_FILE, REPOSITORY_NAME};

/// Reason why an operator's file cannot be used. A policy is accepted entirely or rejected, because half of a
/// policy could allow what the other half forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{} {what}; {fix}", file_name(path), colon(at_line(*line), what))]
pub struct Problem {
    /// Path of the file.
    pub path: PathBuf,
    /// Line, counted from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// Mistake, with the value.
    pub what: String,
    /// Suggested fix.
    pub fix: String,
    /// `true` if the file could not be read for a reason that may pass by itself, such as too many open files.
    pub may_pass: bool,
}

impl Problem {
    /// Formats the problem with the path that the user gave for the file.
    pub fn told_of(&self, file: &Path) -> String {
        let Self { line, what, fix, .. } = self;
        format!("{}{} {what}; {fix}", file.display(), colon(at_line(*line), what))
    }

    /// Returns the file and the line in the format of rule sources.
    pub fn place(&self) -> String {
        format!("{}{}", file_name(&self.path), at_line(self.line))
    }
}

/// Returns the file name of the user's file, or the full path of the managed file. The repository's file, which has
/// the same name as the user's, is named as such.
fn file_name(path: &Path) -> String {
    if path == Path::new(REPOSITORY_FILE) {
        return REPOSITORY_NAME.to_owned();
    }
    if path == Path::new(MANAGED_FILE) {
        return MANAGED_FILE.to_owned();
    }
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Adds a colon unless the message continues the sentence, as in "policy.toml is gone".
fn colon(at: String, what: &str) -> String {
    let goes_on = ["is ", "has ", "can ", "cannot "].iter().any(|verb| what.starts_with(verb));
    if goes_on { at } else { at + ":" }
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" line {line}")).unwrap_or_default()
}
