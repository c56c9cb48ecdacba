//! Finds the components and the helper that `make build` prepared before the host is compiled.

use std::env;
use std::fs;
use std::path::PathBuf;

const COMPONENTS: [&str; 7] =
    ["task-manager", "plan-mode", "invoke-skill", "set-callback", "read-docs", "read-image", "web-search"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = manifest.join("../../target/components");
    for name in COMPONENTS {
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
        // The audit says which component ran.
        let hash = fs::read_to_string(folder.join(format!("{name}.hash"))).unwrap_or_default();
        println!("cargo::rustc-env=SCORPIOX_HASH_{name}={hash}");
    }
    println!("cargo::rerun-if-changed={}", folder.join("helper").display());
    println!("cargo::rustc-env=SCORPIOX_COMPONENTS={}", folder.display());
}
