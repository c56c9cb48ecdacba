//! A folder for a unit test to work in, which goes when the test ends. Only tests depend on this.
#![allow(clippy::expect_used, clippy::missing_panics_doc)] // a test that cannot prepare its folder fails

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The folder. Paths are relative to it; the folders that lead to a file or link are made with it.
#[derive(Debug)]
pub struct Bed {
    /// Without links in it.
    root: PathBuf,
    _folder: TempDir,
}

impl Default for Bed {
    fn default() -> Self {
        Self::new()
    }
}

impl Bed {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        Self { root, _folder: folder }
    }

    /// One with these folders.
    pub fn with(folders: &[&str]) -> Self {
        let bed = Self::new();
        for folder in folders {
            bed.folder(folder);
        }
        bed
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of this name.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Makes a folder.
    pub fn folder(&self, path: impl AsRef<Path>) {
        fs::create_dir_all(self.at(path)).expect("a folder");
    }

    /// Writes a file.
    pub fn put(&self, path: impl AsRef<Path>, text: &str) {
        fs::write(self.placed(path.as_ref()), text).expect("a file");
    }

    /// Makes a link. A target is as it is written, so that it may lead nowhere.
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
