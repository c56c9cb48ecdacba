//! The shared wasmtime configuration, and its extension for components of WASI 0.3.
//!
//! `scorpiox-compiler` compiles components but cannot run them; the host runs them but contains no compiler.
//! Both must agree on every setting here, or the host refuses to load the code. Therefore the configuration
//! is a separate crate.

/// Maximum stack size of a guest. Deep recursion in a guest traps at this limit, long before it could reach
/// the host's own frames.
pub const GUEST_STACK_BYTES: usize = 512 * 1024;

/// Returns `true` if native code for a target contains unwind information. Windows requires it for all code.
#[must_use]
pub fn unwinds(target: &str) -> bool {
    target.contains("-windows-")
}

/// Returns the configuration for components with asynchronous functions, streams and futures (WASI 0.3). An
/// engine with this configuration tracks tasks for each call, an overhead that other components avoid.
#[must_use]
pub fn concurrent_config() -> wasmtime::Config {
    let mut config = config();
    config.concurrency_support(true);
    config
}

/// Returns the configuration for all other components.
#[must_use]
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        // Interrupts running guests for cancellation and deadlines.
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        // Traps are reported by name. Nothing in the host walks guest frames, and components load faster
        // without the tables.
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows));
    config
}
