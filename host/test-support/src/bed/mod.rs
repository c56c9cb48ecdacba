//! A temporary directory for a unit test, which is removed at the end of the test. Only tests depend on this
//! crate.
#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a test that cannot create its directory fails

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary directory. Paths are relative to it; parent directories of a file or link are created with it.
#[derive(Debug)]
pub struct Bed {
    /// Path of the directory without links.
    root: PathBuf,
    _folder: TempDir,
}

impl Default for Bed {
    fn default() -> Self {
        Self::new()
    }
}

impl Bed {
    /// Creates an empty directory.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        Self { root, _folder: folder }
    }

    /// Creates a directory with these folders.
    pub fn with(folders: &[&str]) -> Self {
        let bed = Self::new();
        for folder in folders {
            bed.folder(folder);
        }
        bed
    }

    /// Returns the path of the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the absolute path for a relative one.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Creates a folder.
    pub fn folder(&self, path: impl AsRef<Path>) {
        fs::create_dir_all(self.at(path)).expect("a folder");
    }

    /// Writes a file.
    pub fn put(&self, path: impl AsRef<Path>, text: &str) {
        fs::write(self.placed(path.as_ref()), text).expect("a file");
    }

    /// Creates a link. The target is used as written, so that it may be dangling.
    #[cfg(unix)]
    pub fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        symlink(target, self.placed(path.as_ref())).expect("a link");
    }

    fn placed(&self, path: &Path) -> PathBuf {
        if let Some(parent) = path.parent() {
            self.folder(parent);
        }
        self.at(path)
    }
}
