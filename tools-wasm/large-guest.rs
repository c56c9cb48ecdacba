//! For guests that need more memory than the workspace's guests start with: a larger stack, as
//! pages and drawings nest (`MAX_DEPTH` in read-image's `src/decode/svg.rs` is the depth that
//! fits), and room for tables of characters and fonts.

#![allow(clippy::print_stdout, reason = "cargo is told by printing")]

const STACK: usize = 1024 * 1024;
const INITIAL_MEMORY: usize = 4 * 1024 * 1024;

fn main() {
    println!("cargo:rerun-if-changed=../large-guest.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // The linker takes the last of several values; these come after those of `.cargo/config.toml`.
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={STACK}");
        println!("cargo:rustc-link-arg-cdylib=--initial-memory={INITIAL_MEMORY}");
    }
}
