//! Finds the helper that `make build` prepared before the host is compiled.

use std::env;
use std::path::PathBuf;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let helper = components(&manifest).join("helper");
    println!("cargo::rerun-if-changed={}", helper.display());
    if !helper.exists() {
        println!("cargo::error=the helper of cells is not built yet; run `make build`, which does it first");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=SCORPIOX_HELPER={}", helper.display());
}

/// What was built before, for the system that this is built for, or what the build says.
fn components(manifest: &std::path::Path) -> PathBuf {
    println!("cargo::rerun-if-env-changed=SCORPIOX_BUILD_COMPONENTS");
    if let Some(folder) = env::var_os("SCORPIOX_BUILD_COMPONENTS") {
        return folder.into();
    }
    let [host, target] = ["HOST", "TARGET"].map(|name| env::var(name).unwrap_or_default());
    let folder = if host == target { "components".to_owned() } else { format!("components-{target}") };
    manifest.join("../../target").join(folder)
}
