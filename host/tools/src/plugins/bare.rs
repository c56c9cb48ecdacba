//! Instantiates a component without any access, to test whether it can run here and to list its tools.

use anyhow::{Context as _, Result};
use scorpiox_definitions::{PATIENCE, Watch, link_empty, read_lists_waiting};
use scorpiox_runtime::CallState;
use scorpiox_wasi::{is_newer, is_wasi};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component as Compiled, Linker};

/// Maximum memory of any component in bytes.
const MEMORY_BYTES: usize = scorpiox_runtime::MAX_MEMORY_BYTES;

/// Returns the names of the imports that need an implementation: all except types and type-only interfaces.
/// The first interface with a resource must provide it; the other interfaces only use it.
pub(super) fn wanted(compiled: &Compiled) -> Vec<String> {
    let engine = compiled.engine();
    let mut resources = Vec::new();
    let mut is_type = |item: &ComponentItem| match item {
        ComponentItem::Type(_) => true,
        ComponentItem::Resource(ty) if resources.contains(ty) => true,
        ComponentItem::Resource(ty) => {
            resources.push(*ty);
            false
        }
        _ => false,
    };
    let mut is_wanted = |item: &ComponentItem| match item {
        // Visit every item, because later items may use its resources.
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).filter(|(_, inner)| !is_type(&inner.ty)).count() > 0
        }
        item => !is_type(item),
    };
    let ty = compiled.component_type();
    ty.imports(engine).filter(|(_, item)| is_wanted(&item.ty)).map(|(name, _)| name.to_owned()).collect()
}

/// Creates a linker with a WASI that reaches nothing, and with stubs for all other imports, which return an
/// empty list or fail. Fails if the component needs an import that does not exist.
pub(super) fn linked(compiled: &Compiled) -> Result<Linker<CallState>> {
    let engine = compiled.engine();
    let mut linker = Linker::new(engine);
    let newer = compiled.component_type().imports(engine).any(|(name, _)| is_newer(name));
    CallState::link_wasi(&mut linker, newer)?;
    link_empty(&mut linker, compiled, |name| !is_wasi(name))?;
    linker.instantiate_pre(compiled)?;
    Ok(linker)
}

/// Reads the lists of a component that has WASI or uses async.
pub(super) fn lists(compiled: &Compiled, linker: &Linker<CallState>) -> Result<Map<String, Value>> {
    let engine = compiled.engine();
    let mut store = Store::new(engine, CallState::nothing(MEMORY_BYTES));
    CallState::limit(&mut store);
    store.set_epoch_deadline(1);
    let _watch = Watch::start(engine);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let read = async { tokio::time::timeout(PATIENCE, read_lists_waiting(compiled, linker, store)).await };
    runtime.block_on(read).context("it waited for too long")?
}
