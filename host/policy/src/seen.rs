//! Remembers that a user's policy existed: a missing file then does not fall back to the built-in policy.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const TEXT: &str = "\
This folder has had a policy.toml. Without it every tool is refused, so that a file which was lost, or moved
by mistake, does not open what it closed. `scorpiox-code policy forget` removes this note.
";

/// Returns the path of the marker file next to the user's policy.
pub fn note(own: &Path) -> PathBuf {
    own.with_file_name("policy.seen")
}

/// Creates the marker. Failing to write it does not invalidate the policy.
pub(crate) fn remember(own: &Path) {
    let note = note(own);
    if note.symlink_metadata().is_ok() {
        return;
    }
    if let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(&note) {
        _ = file.write_all(TEXT.as_bytes());
    }
}

/// Fails if the marker says that the policy existed before.
pub(crate) fn check_absent(own: &Path) -> Result<(), Problem> {
    match note(own).symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        found => Err(Problem {
            path: own.to_owned(),
            line: None,
            what: "is gone: it was in use here".to_owned(),
            fix: "put it back, or run `scorpiox-code policy forget` to go on without it".to_owned(),
            may_pass: found.is_err_and(|error| may_pass(&error)),
        }),
    }
}
use crate::document::Problem;
use crate::load::may_pass;
