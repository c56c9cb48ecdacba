//! Where the data is. It is not part of the repository.

use std::path::{Path, PathBuf};

/// `$SCORPIOX_DATA`, else `shared/data` beside the repository or a folder above it.
pub fn folder(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("SCORPIOX_DATA").map(PathBuf::from);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let near = || here.ancestors().map(|folder| folder.join("shared/data")).find(|data| data.is_dir());
    let folder = given.or_else(near)?.join(name);
    folder.is_dir().then_some(folder)
}

/// The folder, or none with a line that says what was not measured.
pub fn folder_or_skipped(name: &str) -> Option<PathBuf> {
    let found = folder(name);
    if found.is_none() {
        eprintln!("skipped: no data for {name}; set SCORPIOX_DATA to the folder that has it");
    }
    found
}
