//! Components as native code.
//!
//! The code is for the oldest processor that the project supports, not for the one at hand: the same for the same
//! component, wherever it was made.

use scorpiox_engine::concurrent_config;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wasmtime::{Config, Engine};

/// What x86-64-v2 has beyond the first processors of its kind: everything since 2009. Without it
/// vector instructions are slower than none.
const X86_64_V2: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];

/// The native code of a component, for a system.
pub(crate) fn compile(component: &[u8], target: &str) -> wasmtime::Result<Vec<u8>> {
    let base = if is_concurrent(component) { concurrent_config() } else { scorpiox_engine::config() };
    Engine::new(&config(base, target)?)?.precompile_component(component)
}

/// Whether a component waits by itself: it has something asynchronous, or imports WASI 0.3. What cannot be read is the
/// compiler's to refuse.
fn is_concurrent(component: &[u8]) -> bool {
    let mut validator = Validator::new_with_features(WasmFeatures::all() - WasmFeatures::CM_ASYNC);
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return false };
        if let Payload::ComponentImportSection(imports) = &payload
            && imports.clone().into_iter().flatten().any(|import| is_wasi_0_3(import.name.name))
        {
            return true;
        }
        // Functions are passed over.
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
