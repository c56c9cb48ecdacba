//! Locates the compiler, which `make build` builds before this crate.

#[path = "../../scripts/built.rs"]
mod built;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

fn main() {
    let compiler = built::components().join("compiler.gz");
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
