//! Locates the components that `make build` prepares before the host is compiled.

#[path = "../../scripts/built.rs"]
mod built;

use std::env;
use std::fs;
use std::path::PathBuf;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // The native code is specific to the target platform.
    let folder = built::components();
    let crates = manifest.join("../../tools-wasm");
    // A new crate changes the lock file. The directory itself contains build outputs, which change all the
    // time.
    println!("cargo::rerun-if-changed={}", crates.join("Cargo.lock").display());
    for entry in fs::read_dir(&crates).into_iter().flatten().flatten() {
        // Each crate with a component provides one or more tools.
        if !entry.path().join("src/component.rs").exists() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        for extension in ["component.wasm", "cwasm", "tools.json", "hash"] {
            let file = folder.join(format!("{name}.{extension}"));
            println!("cargo::rerun-if-changed={}", file.display());
            if !file.exists() {
                println!(
                    "cargo::error=the component {name} is not built yet; run `make build`, which does it first"
                );
                std::process::exit(1);
            }
        }
        // The audit records which component ran.
        let hash = fs::read_to_string(folder.join(format!("{name}.hash"))).unwrap_or_default();
        println!("cargo::rustc-env=SCORPIOX_HASH_{name}={hash}");
    }
    println!("cargo::rustc-env=SCORPIOX_COMPONENTS={}", folder.display());
}
