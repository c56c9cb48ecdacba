//! Location of the test suites, which are not part of the repository.

use std::path::{Path, PathBuf};

/// Returns the directory of a suite in `$SCORPIOX_DATA`.
pub fn folder(name: &str) -> PathBuf {
    let data = std::env::var_os("SCORPIOX_DATA")
        .expect("SCORPIOX_DATA is not set; it names the folder of test suites");
    let folder = Path::new(&data).join(name);
    assert!(
        folder.is_dir(),
        "SCORPIOX_DATA names the folder of test suites, but {} is no folder",
        folder.display()
    );
    folder
}
