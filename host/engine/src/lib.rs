//! The one wasmtime configuration, and how a component is asked for its tools.
//!
//! Built-in components are compiled while the project is built and loaded by the
//! running host; both sides must agree on every setting here, or the host refuses
//! to load them. That is why the configuration is a crate of its own.

pub mod definitions;

/// Stack that one guest may use. Deep recursion in a guest traps here, long
/// before it could reach the host's own frames.
pub const GUEST_STACK_BYTES: usize = 512 * 1024;

/// The configuration for running components.
#[must_use]
pub fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config
        .wasm_component_model(true)
        // Cancellation and deadlines interrupt running guests.
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        // Traps are reported by name; nothing in the host walks guest frames, and
        // components load faster without the tables for it.
        .generate_address_map(false)
        .native_unwind_info(false);
    config
}

/// Instances that can exist at once: one for each running call, and some for the server's
/// own use.
const MAX_INSTANCES: u32 = 80;

/// Calls of components of others that run at once, over all of them. What they can take of the pool
/// is not taken from the others.
pub const MAX_SHIPPED_CALLS: u32 = 32;
/// Memories and tables of such a call.
pub const MAX_SHIPPED_MEMORIES: u32 = 2;
/// See [`MAX_SHIPPED_MEMORIES`].
pub const MAX_SHIPPED_TABLES: u32 = 8;

/// Core modules of a component, each time they are instantiated: an ordinary one has three, and one
/// with a whole Python in it a hundred.
const MAX_CORE_INSTANCES: u32 = 256;

/// Largest linear memory that a guest may be granted.
pub const MAX_MEMORY_BYTES: usize = 256 * 1024 * 1024;

/// Of a memory that was used, this much is cleaned in place for the next call. Small guests
/// touch less, and mapping fresh pages costs more than the rest of a call.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The configuration for running many short calls: [`config`], with instances taken from a
/// pool of address space instead of mapped for each call.
#[must_use]
pub fn pooled_config() -> wasmtime::Config {
    let mut pool = wasmtime::PoolingAllocationConfig::default();
    let instances = MAX_INSTANCES + MAX_SHIPPED_CALLS;
    pool.total_component_instances(instances)
        .total_core_instances(instances * MAX_CORE_INSTANCES)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .total_memories(MAX_INSTANCES + MAX_SHIPPED_CALLS * MAX_SHIPPED_MEMORIES)
        .total_tables(MAX_INSTANCES * 2 + MAX_SHIPPED_CALLS * MAX_SHIPPED_TABLES)
        .total_stacks(instances)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_unused_warm_slots(4)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(64 * 1024)
        .pagemap_scan(wasmtime::Enabled::Auto);
    let mut config = config();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::Pooling(pool));
    config
}

/// What x86-64-v2 has beyond the first processors of its kind: everything since 2009. Without it
/// vector instructions are slower than none.
const X86_64_V2: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];

/// The configuration for precompiling: [`config`], for the oldest processor the
/// project supports instead of the one that happens to run the build.
pub fn precompile_config(target: &str) -> wasmtime::Result<wasmtime::Config> {
    let mut config = config();
    config.target(target)?;
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
