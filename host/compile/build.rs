//! Finds the compiler that `make build` made before.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let compiler = manifest.join("../../target/components/compiler.gz");
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
