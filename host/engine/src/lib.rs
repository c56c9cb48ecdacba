//! The one wasmtime configuration, and what components of WASI 0.3 have beyond it.
//!
//! `scorpiox-compiler` compiles components, and has nothing to run them; the host runs them, and has no compiler.
//! Both must agree on every setting here, or the host refuses to load them. That is why the configuration is a
//! crate of its own.

/// Stack that one guest may use. Deep recursion in a guest traps here, long
/// before it could reach the host's own frames.
pub const GUEST_STACK_BYTES: usize = 512 * 1024;

/// Whether native code for a system has what it takes to walk its frames: Windows wants that of all code.
#[must_use]
pub fn unwinds(target: &str) -> bool {
    target.contains("-windows-")
}

/// The configuration for running components that wait by themselves: asynchronous functions, streams and futures, as
/// WASI 0.3 has them. An engine with it keeps tasks for each call, which others need not pay for.
#[must_use]
pub fn concurrent_config() -> wasmtime::Config {
    let mut config = config();
    config.concurrency_support(true);
    config
}

/// The configuration for running all other components.
#[must_use]
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        // Cancellation and deadlines interrupt running guests.
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        // Traps are reported by name; nothing in the host walks guest frames, and
        // components load faster without the tables for it.
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows));
    config
}
