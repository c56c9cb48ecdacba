//! Finds the helper that `make build` prepared before the host is compiled.

use std::env;
use std::path::PathBuf;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let helper = manifest.join("../../target/components/helper");
    println!("cargo::rerun-if-changed={}", helper.display());
    if !helper.exists() {
        println!("cargo::error=the helper of cells is not built yet; run `make build`, which does it first");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=SCORPIOX_HELPER={}", helper.display());
}
