//! Locates the helper that `make build` prepares before it compiles the host.

#[path = "../../scripts/built.rs"]
mod built;

fn main() {
    let helper = built::components().join("helper");
    println!("cargo::rerun-if-changed={}", helper.display());
    if !helper.exists() {
        println!("cargo::error=the helper of cells is not built yet; run `make build`, which does it first");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=SCORPIOX_HELPER={}", helper.display());
}
