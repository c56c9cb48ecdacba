//! Resolves paths that exist only in part.

use std::path::{Path, PathBuf};

/// Resolves the links of the existing part of a path.
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
