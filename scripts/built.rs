//! For build scripts: finds the files that `make build` creates before it compiles the host.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the directory of the files for the target system, or the one from the environment.
pub(crate) fn components() -> PathBuf {
    println!("cargo::rerun-if-env-changed=SCORPIOX_BUILD_COMPONENTS");
    if let Some(folder) = env::var_os("SCORPIOX_BUILD_COMPONENTS") {
        return folder.into();
    }
    let [host, target] = ["HOST", "TARGET"].map(|name| env::var(name).unwrap_or_default());
    let folder = if host == target { "components".to_owned() } else { format!("components-{target}") };
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    Path::new(&manifest).join("../../target").join(folder)
}
