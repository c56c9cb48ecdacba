//! Finds the components and the helper that `make build` prepared before the host is compiled.

use std::env;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

const COMPONENTS: [&str; 7] =
    ["task-manager", "plan-mode", "invoke-skill", "set-callback", "read-docs", "read-image", "web-search"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = manifest.join("../target/components");
    for name in COMPONENTS {
        for extension in ["component.wasm", "cwasm", "tools.json"] {
            let file = folder.join(format!("{name}.{extension}"));
            println!("cargo::rerun-if-changed={}", file.display());
            if !file.exists() {
                println!(
                    "cargo::error=the component {name} is not built yet; run `make build`, which does it first"
                );
                std::process::exit(1);
            }
        }
        // The audit says which component ran.
        let component = fs::read(folder.join(format!("{name}.component.wasm"))).unwrap_or_default();
        let hash =
            Sha256::digest(component).iter().take(8).fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte));
        println!("cargo::rustc-env=SCORPIOX_HASH_{name}={hash:016x}");
    }
    println!("cargo::rerun-if-changed={}", folder.join("helper").display());
    println!("cargo::rustc-env=SCORPIOX_COMPONENTS={}", folder.display());
}
