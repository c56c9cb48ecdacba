//! Files that a call reads, as an observer sees them.

use std::path::PathBuf;

use crate::Uses;

/// Names of a file that a call reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNames {
    /// Its location, and each name that links on the requested path give it.
    pub known: Vec<PathBuf>,
    /// `true` if it has hard links, so that it may have any other name.
    pub has_others: bool,
}

/// Observer of the files that a call reads.
pub trait FileWatch: std::fmt::Debug + Send + Sync {
    /// Notes that an open file with these names is about to be read. Relative globs apply in the `granted` folders, too.
    ///
    /// # Errors
    ///
    /// Fails with a reason if the file must not be read.
    fn reads(&self, names: &FileNames, granted: &[PathBuf], uses: &Uses) -> Result<(), String>;
}
