//! Memory for the component beyond what the workspace's guests start with: a larger stack, as
//! pages nest, and room for tables of characters and fonts.

const STACK: usize = 1024 * 1024;
const INITIAL_MEMORY: usize = 4 * 1024 * 1024;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // The linker takes the last of several values; these come after those of `.cargo/config.toml`.
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={STACK}");
        println!("cargo:rustc-link-arg-cdylib=--initial-memory={INITIAL_MEMORY}");
    }
}
