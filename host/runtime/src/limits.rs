//! Limits of a call.

use std::time::Duration;

use wasmtime::ResourceLimiter;

use super::pool::{MAX_SHIPPED_MEMORIES, MAX_SHIPPED_TABLES};

/// Setting that determines [`Limits::output_bytes`] of a plugin, for error messages.
pub(crate) const OUTPUT_LIMIT: &str = "`output_kib` of [limits] in plugin.toml";

/// The budget of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// CPU time of the guest. The capabilities limit the time spent in them.
    pub cpu: Duration,
    /// Maximum time that the call waits for external events, as far as the wait can be interrupted.
    pub waiting: Duration,
    /// Maximum linear memory, over all memories.
    pub memory_bytes: usize,
    /// Maximum size of the texts and data in the result.
    pub output_bytes: usize,
    /// Maximum size of the tool's data in the store.
    pub store_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(5),
            waiting: Duration::from_mins(1),
            memory_bytes: 64 * 1024 * 1024,
            output_bytes: 1024 * 1024,
            store_bytes: 4 * 1024 * 1024 * 1024,
        }
    }
}

/// Maximum number of core instances, memories and tables of a component. An ordinary component has three
/// instances (the guest and two adapters), a memory and two tables. A component that bundles Python has about
/// a hundred instances.
const MAX_INSTANCES: usize = 256;
const MAX_MEMORIES: usize = 8;
const MAX_TABLES: usize = 32;
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Counts the memory of a call and enforces its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    is_shipped: bool,
    memory_left: usize,
    /// Memory of the guest in bytes. Linear memory never shrinks, so this is also the peak.
    pub used: usize,
    /// `true` if the guest was refused memory, which is then the likely reason for a trap.
    pub memory_refused: bool,
}

impl Meter {
    /// Creates the meter of a call. Plugin components have lower limits for memories and tables.
    pub(crate) fn new(limits: &Limits, is_shipped: bool) -> Self {
        Self { is_shipped, memory_left: limits.memory_bytes, used: 0, memory_refused: false }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        self.memory_refused |= more > self.memory_left;
        if more > self.memory_left {
            return Ok(false);
        }
        self.memory_left -= more;
        self.used += more;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        if self.is_shipped { MAX_SHIPPED_MEMORIES as usize } else { MAX_MEMORIES }
    }

    fn tables(&self) -> usize {
        if self.is_shipped { MAX_SHIPPED_TABLES as usize } else { MAX_TABLES }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use wasmtime::component::{Component, Linker};
    use wasmtime::{Engine, Store};

    /// Returns the result of the function `f` of a core module.
    fn call(module: &str) -> wasmtime::Result<i32> {
        call_beside("", module)
    }

    /// Returns the result of `f` in a component that starts with the definitions in `first`.
    fn call_beside(first: &str, module: &str) -> wasmtime::Result<i32> {
        let module = module.strip_prefix("(module").expect("a module");
        let text = format!(
            "(component {first} (core module $m {module}
               (core instance $i (instantiate $m))
               (func (export \"f\") (result s32) (canon lift (core func $i \"f\"))))"
        );
        let engine = Engine::new(&scorpiox_component_abi::engine::config())?;
        let component = wat::parse_str(text).expect("a component");
        let mut code = crate::compile::compile(&component, || false).expect("compiles");
        let mut bytes = Vec::new();
        code.read()?.read_to_end(&mut bytes)?;
        // SAFETY: `crate::compile::compile` produced these bytes a moment ago.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(&engine, bytes) }?;
        let limits = Limits { memory_bytes: 3 * 64 * 1024, ..Limits::default() };
        let mut store = Store::new(&engine, Meter::new(&limits, false));
        store.limiter(|meter| meter);
        store.set_epoch_deadline(1);
        let instance = Linker::new(&engine).instantiate(&mut store, &component)?;
        let (result,) = instance.get_typed_func::<(), (i32,)>(&mut store, "f")?.call(&mut store, ())?;
        Ok(result)
    }

    #[test]
    fn what_others_ship_has_fewer_memories_and_tables() {
        let limits = Limits::default();
        let (own, shipped) = (Meter::new(&limits, false), Meter::new(&limits, true));
        assert_eq!((own.memories(), own.tables()), (MAX_MEMORIES, MAX_TABLES));
        assert_eq!((shipped.memories(), shipped.tables()), (2, 8));
    }

    #[test]
    fn tables_grow_up_to_their_cap() {
        let grow = |by: usize| {
            call(&format!(
                "(module (table $t 0 funcref)
                   (func (export \"f\") (result i32) (table.grow $t (ref.null func) (i32.const {by}))))"
            ))
        };
        assert_eq!(grow(MAX_TABLE_ELEMENTS).expect("runs"), 0);
        assert_eq!(grow(MAX_TABLE_ELEMENTS + 1).expect("runs"), -1);
    }

    #[test]
    fn all_memories_share_one_budget() {
        let grow = |first: u32, second: u32| {
            call(&format!(
                "(module (memory $a {first}) (memory $b 0)
                   (func (export \"f\") (result i32) (memory.grow $b (i32.const {second}))))"
            ))
        };
        assert_eq!(grow(1, 2).expect("runs"), 0);
        assert_eq!(grow(2, 2).expect("runs"), -1);
        assert!(grow(4, 0).is_err(), "too much from the start");
    }

    #[test]
    fn instances_tables_and_memories_are_counted() {
        let instances = |count: usize| {
            let first = format!("(core module $e) {}", "(core instance (instantiate $e)) ".repeat(count - 1));
            call_beside(&first, "(module (func (export \"f\") (result i32) (i32.const 0)))")
        };
        assert_eq!(instances(MAX_INSTANCES).expect("runs"), 0);
        assert!(instances(MAX_INSTANCES + 1).is_err());
        let many = |item: &str, count: usize| {
            call(&format!("(module {} (func (export \"f\") (result i32) (i32.const 0)))", item.repeat(count)))
        };
        assert_eq!(many("(table 0 funcref)", MAX_TABLES).expect("runs"), 0);
        assert!(many("(table 0 funcref)", MAX_TABLES + 1).is_err());
        assert_eq!(many("(memory 0)", MAX_MEMORIES).expect("runs"), 0);
        assert!(many("(memory 0)", MAX_MEMORIES + 1).is_err());
    }
}
