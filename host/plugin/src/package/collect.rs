//! Selects the files of a plugin's folder that belong in a pack.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{MANIFEST, read_file};

use crate::package::MAX_TEXT_BYTES;
use crate::package::names::{MAX_ENTRIES, check_name, is_for_people};

const WIT: &str = "wit";
/// Maximum depth of nested directories.
const MAX_DEPTH: usize = 8;
/// Maximum number of directory entries visited. A folder with more is not a plugin's.
const MAX_LOOKED_AT: usize = 10_000;

/// Selected and skipped files.
#[derive(Debug, Default)]
pub struct Collected {
    /// Documentation files, by their names in the pack.
    pub files: Vec<(String, Vec<u8>)>,
    /// Skipped entries. Names of directories end with a slash.
    pub left_out: Vec<String>,
}

/// Reason why a folder cannot be packed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CollectError {
    #[error("{path} cannot be read: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{0} has more than {MAX_LOOKED_AT} files")]
    Many(PathBuf),
    #[error("the files for people, such as {0}, have more than {MAX_TEXT_BYTES} bytes")]
    Large(PathBuf),
}

/// Finds the documentation files in a plugin's folder. The manifest and `component` are always packed and not
/// listed.
pub fn collect(folder: &Path, component: &str) -> Result<Collected, CollectError> {
    let mut finding = Finding { looked_at: 0, bytes: 0, found: Collected::default() };
    for (name, path) in finding.listed(folder)? {
        if name == MANIFEST || name == component {
            continue;
        }
        let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
        if is_folder && name == WIT {
            finding.types(&path, WIT, 1)?;
        } else {
            finding.take(&name, &path, is_folder)?;
        }
    }
    Ok(finding.found)
}

struct Finding {
    looked_at: usize,
    bytes: u64,
    found: Collected,
}

impl Finding {
    /// Lists a directory in alphabetical order.
    fn listed(&mut self, folder: &Path) -> Result<Vec<(String, PathBuf)>, CollectError> {
        let failed = |error| CollectError::Io { path: folder.to_owned(), error };
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.looked_at += 1;
            if self.looked_at > MAX_LOOKED_AT {
                return Err(CollectError::Many(folder.to_owned()));
            }
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
        found.sort();
        Ok(found)
    }

    fn types(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), CollectError> {
        for (entry, path) in self.listed(folder)? {
            let name = format!("{name}/{entry}");
            let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
            if is_folder && depth < MAX_DEPTH {
                self.types(&path, &name, depth + 1)?;
            } else {
                self.take(&name, &path, is_folder)?;
            }
        }
        Ok(())
    }

    /// Selects a documentation file, or records any other entry as skipped.
    fn take(&mut self, name: &str, path: &Path, is_folder: bool) -> Result<(), CollectError> {
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        // A file with an invalid entry name is skipped visibly; `Package::new` would reject it.
        let fits = is_file && is_for_people(name) && check_name(name).is_ok();
        if !fits || self.found.files.len() >= MAX_ENTRIES {
            self.found.left_out.push(if is_folder { format!("{name}/") } else { name.to_owned() });
            return Ok(());
        }
        let bytes = read_file(path, MAX_TEXT_BYTES)
            .map_err(|error| CollectError::Io { path: path.to_owned(), error })?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_TEXT_BYTES {
            return Err(CollectError::Large(path.to_owned()));
        }
        self.found.files.push((name.to_owned(), bytes));
        Ok(())
    }
}
