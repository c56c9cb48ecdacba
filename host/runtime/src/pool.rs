//! Where instances come from: how many there can be at once, and what is kept of them between calls.

/// Instances that can exist at once: one for each running call, and some for the server's
/// own use.
const MAX_INSTANCES: u32 = 80;

/// Calls of components of others that run at once, over all of them. What they can take of the pool
/// is not taken from the others.
pub(super) const MAX_SHIPPED_CALLS: u32 = 32;
/// Instances of components of others that are kept between calls, over all sessions. Each may have as much memory as a
/// call, and nobody may be using it.
pub const MAX_KEPT: u32 = 4;
/// All instances of components of others.
const MAX_SHIPPED_INSTANCES: u32 = MAX_SHIPPED_CALLS + MAX_KEPT;
/// Memories and tables of such a call.
pub(super) const MAX_SHIPPED_MEMORIES: u32 = 2;
/// See [`MAX_SHIPPED_MEMORIES`].
pub(super) const MAX_SHIPPED_TABLES: u32 = 8;

/// Core modules of a component, each time they are instantiated: an ordinary one has three, and one
/// with a whole Python in it a hundred.
const MAX_CORE_INSTANCES: u32 = 256;

/// Largest linear memory that a guest may be granted.
pub const MAX_MEMORY_BYTES: usize = 256 * 1024 * 1024;

/// Of a memory that was used, this much is cleaned in place for the next call. Small guests
/// touch less, and mapping fresh pages costs more than the rest of a call.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The configuration for running many short calls: [`scorpiox_engine::config`], with instances taken from a
/// pool of address space instead of mapped for each call.
#[must_use]
pub fn pooled_config() -> wasmtime::Config {
    let mut pool = wasmtime::PoolingAllocationConfig::default();
    let instances = MAX_INSTANCES + MAX_SHIPPED_INSTANCES;
    pool.total_component_instances(instances)
        .total_core_instances(instances * MAX_CORE_INSTANCES)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .total_memories(MAX_INSTANCES + MAX_SHIPPED_INSTANCES * MAX_SHIPPED_MEMORIES)
        .total_tables(MAX_INSTANCES * 2 + MAX_SHIPPED_INSTANCES * MAX_SHIPPED_TABLES)
        // Guests that wait have a stack of their own, and only those of others do: each costs at the start.
        .total_stacks(MAX_SHIPPED_INSTANCES)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_unused_warm_slots(4)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(64 * 1024)
        .pagemap_scan(wasmtime::Enabled::Auto);
    let mut config = scorpiox_engine::config();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::Pooling(pool));
    config
}
