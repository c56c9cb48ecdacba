//! Finds the compiler that `make build` made before.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let compiler = components(&manifest).join("compiler.gz");
    println!("cargo::rerun-if-changed={}", compiler.display());
    let Ok(bytes) = fs::read(&compiler) else {
        println!("cargo::error=the compiler is not built yet; run `make build`, which does it first");
        std::process::exit(1);
    };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    println!("cargo::rustc-env=SCORPIOX_COMPILER={}", compiler.display());
    println!("cargo::rustc-env=SCORPIOX_COMPILER_HASH={:016x}", hasher.finish());
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
