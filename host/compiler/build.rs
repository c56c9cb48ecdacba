//! Passes the build target to the program, which compiles for the same system.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
