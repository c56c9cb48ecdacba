//! Instance pool: the number of concurrent instances, and the memory kept between calls.

/// Maximum number of instances of built-in components: one for each running call, and some for the server's
/// own use.
const MAX_INSTANCES: u32 = 80;

/// Maximum number of concurrent calls of plugin components, over all plugins. Their share of the pool is
/// reserved in addition to that of the built-in components.
pub(super) const MAX_SHIPPED_CALLS: u32 = 32;
/// Maximum number of retained instances of plugin components, over all sessions. Each may occupy as much
/// memory as a call, even while it is idle.
pub const MAX_KEPT: u32 = 4;
/// Maximum number of instances of plugin components.
const MAX_SHIPPED_INSTANCES: u32 = MAX_SHIPPED_CALLS + MAX_KEPT;
/// Maximum number of memories of a plugin component.
pub(super) const MAX_SHIPPED_MEMORIES: u32 = 2;
/// Maximum number of tables of a plugin component. See [`MAX_SHIPPED_MEMORIES`].
pub(super) const MAX_SHIPPED_TABLES: u32 = 8;

/// Maximum number of core instances in a component. An ordinary component has three; a component that bundles
/// Python has about a hundred.
const MAX_CORE_INSTANCES: u32 = 256;

/// Largest linear memory that a guest may be granted.
pub const MAX_MEMORY_BYTES: usize = 256 * 1024 * 1024;

/// Part of a used memory that is zeroed in place for the next call. Small guests touch less, and mapping
/// fresh pages costs more than the rest of a call.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// Returns the configuration for many short calls: [`scorpiox_component_abi::engine::config`], with instances taken from a
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
        // Only asynchronous calls of plugin components need a separate stack. Each stack costs time at
        // startup.
        .total_stacks(MAX_SHIPPED_INSTANCES)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_unused_warm_slots(4)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(64 * 1024)
        .pagemap_scan(wasmtime::Enabled::Auto);
    let mut config = scorpiox_component_abi::engine::config();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::Pooling(pool));
    config
}
