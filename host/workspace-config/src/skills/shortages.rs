//! Shortages of the system during a search for skills. Any other error concerns one folder, and the search goes on
//! without that folder.

use std::cell::RefCell;
use std::io;

use scorpiox_fs::shortage;

/// The skill folders could not be searched completely, because the system lacked something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the skill folders cannot be searched: {0}")]
pub struct SkillsUnread(String);

/// First shortage of a search.
#[derive(Default)]
pub(super) struct Shortages(RefCell<Option<SkillsUnread>>);

impl Shortages {
    /// Returns the value, or `None` on an error. Remembers the error if it is a shortage.
    pub(super) fn ok<T>(&self, result: io::Result<T>) -> Option<T> {
        result.inspect_err(|error| self.note(error)).ok()
    }

    /// Remembers an error if it is a shortage.
    pub(super) fn note(&self, error: &io::Error) {
        if let Some(advice) = shortage(error) {
            self.0.borrow_mut().get_or_insert_with(|| SkillsUnread(format!("{error}; {advice}")));
        }
    }

    /// Returns the findings of a search that lacked nothing.
    pub(super) fn finish<T>(self, found: T) -> Result<T, SkillsUnread> {
        self.0.into_inner().map_or(Ok(found), Err)
    }
}
