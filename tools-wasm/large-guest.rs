//! Build script for guests that need more memory than the workspace's default: a larger stack for nested
//! pages and drawings (`MAX_DEPTH` in read-image's `src/decode/svg.rs` is the depth that fits), and space for
//! character tables and fonts.

#![allow(clippy::print_stdout, reason = "cargo is told by printing")]

const STACK: usize = 1024 * 1024;
const INITIAL_MEMORY: usize = 4 * 1024 * 1024;

fn main() {
    println!("cargo:rerun-if-changed=../large-guest.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // The linker uses the last of several values; these follow those of `.cargo/config.toml`.
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={STACK}");
        println!("cargo:rustc-link-arg-cdylib=--initial-memory={INITIAL_MEMORY}");
    }
}
