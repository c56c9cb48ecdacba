//! Compiles components to native code.
//!
//! The code targets the oldest supported processor instead of the current one, so that a component's code is
//! the same regardless of the machine that compiled it.

use scorpiox_component_abi::engine::concurrent_config;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wasmtime::{Config, Engine};

/// Features of x86-64-v2 beyond the x86-64 baseline, available in all processors since 2009. Without them,
/// vector instructions are slower than scalar ones.
const X86_64_V2: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];

/// Compiles a component to native code for a target.
pub(crate) fn compile(component: &[u8], target: &str) -> wasmtime::Result<Vec<u8>> {
    let base =
        if is_concurrent(component) { concurrent_config() } else { scorpiox_component_abi::engine::config() };
    Engine::new(&config(base, target)?)?.precompile_component(component)
}

/// Returns `true` if a component has asynchronous functions or imports WASI 0.3. Invalid components are left
/// to the compiler, which rejects them.
fn is_concurrent(component: &[u8]) -> bool {
    let mut validator = Validator::new_with_features(WasmFeatures::all() - WasmFeatures::CM_ASYNC);
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return false };
        if let Payload::ComponentImportSection(imports) = &payload
            && imports.clone().into_iter().flatten().any(|import| is_wasi_0_3(import.name.name))
        {
            return true;
        }
        // This skips function bodies.
        if validator.payload(&payload).is_err() {
            return true;
        }
    }
    false
}

fn is_wasi_0_3(import: &str) -> bool {
    import.starts_with("wasi:") && import.contains("@0.3.")
}

fn config(mut config: Config, target: &str) -> wasmtime::Result<Config> {
    config.target(target)?;
    config.native_unwind_info(scorpiox_component_abi::engine::unwinds(target));
    if target.starts_with("x86_64") {
        for feature in X86_64_V2 {
            // SAFETY: loading code that requires a feature fails on a processor without it.
            #[allow(unsafe_code)]
            unsafe {
                config.cranelift_flag_enable(feature);
            }
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concurrent(wat: &str) -> bool {
        is_concurrent(&wat::parse_str(wat).expect("a component"))
    }

    #[test]
    fn what_waits_by_itself_is_told_from_what_does_not() {
        assert!(!concurrent("(component)"));
        assert!(!concurrent(r#"(component (import "wasi:random/random@0.2.0" (instance)))"#));
        assert!(concurrent(r#"(component (import "wasi:random/random@0.3.0" (instance)))"#));
        assert!(concurrent(r#"(component (import "f" (func async)))"#));
        assert!(concurrent(r#"(component (import "f" (func (result (stream u8)))))"#));
        assert!(!is_concurrent(b"no wasm"));
    }

    #[test]
    fn code_of_both_kinds_is_made() {
        for component in ["(component)", r#"(component (import "f" (func async)))"#] {
            let component = wat::parse_str(component).expect("a component");
            assert!(!compile(&component, env!("TARGET")).expect("code").is_empty());
        }
    }
}
