//! Runs the tests of `pictures/suites.rs` on the whole suites in `$SCORPIOX_DATA`, for `make test-suites`.

#[allow(dead_code, unused_imports)] // only part of it is used
mod common;
#[path = "pictures/suites.rs"]
mod suites;

use std::path::{Path, PathBuf};

/// Returns the directory of an image suite in `$SCORPIOX_DATA`.
fn suite(name: &str) -> PathBuf {
    let data = std::env::var_os("SCORPIOX_DATA")
        .expect("SCORPIOX_DATA is not set; it names the folder of test suites");
    let folder = Path::new(&data).join("images").join(name);
    assert!(
        folder.is_dir(),
        "SCORPIOX_DATA names the folder of test suites, but {} is no folder",
        folder.display()
    );
    folder
}
