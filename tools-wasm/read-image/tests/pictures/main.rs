//! Sent images and refused files: one test program, with a module for each subject.

#[path = "../common/mod.rs"]
mod common;

mod broken;
mod drawings;
mod others;
mod sent;
mod suites;

use std::path::{Path, PathBuf};

/// Returns the directory of images chosen from a public test suite.
fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/images").join(name)
}
