//! Components as native code.
//!
//! The code is for the oldest processor that the project supports, not for the one at hand: the same for the same
//! component, wherever it was made.

use wasmtime::{Config, Engine};

/// What x86-64-v2 has beyond the first processors of its kind: everything since 2009. Without it
/// vector instructions are slower than none.
const X86_64_V2: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];

/// The native code of a component, for a system.
pub(crate) fn compile(component: &[u8], target: &str) -> wasmtime::Result<Vec<u8>> {
    Engine::new(&config(target)?)?.precompile_component(component)
}

fn config(target: &str) -> wasmtime::Result<Config> {
    let mut config = scorpiox_engine::config();
    config.target(target)?;
    config.native_unwind_info(scorpiox_engine::unwinds(target));
    if target.starts_with("x86_64") {
        for feature in X86_64_V2 {
            // SAFETY: code that needs a feature is refused where it is loaded on a processor
            // without it.
            #[allow(unsafe_code)]
            unsafe {
                config.cranelift_flag_enable(feature);
            }
        }
    }
    Ok(config)
}
