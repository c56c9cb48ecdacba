//! The place that a path leads to, also where not all of it is there.

use std::path::{Path, PathBuf};

/// The path without links, as far as it exists.
pub fn without_links(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(found) = dunce::canonicalize(existing) {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                existing = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
