//! What is wrong with the file, in words for the person who wrote it.

use std::path::{Path, PathBuf};

use scorpiox_rules::MANAGED_FILE;

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
