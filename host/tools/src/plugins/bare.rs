//! A component with nothing in its hands: to see whether it can run here, and what its tools are.

use anyhow::{Context as _, Result};
use scorpiox_definitions::{PATIENCE, Watch, link_empty, read_lists_waiting};
use scorpiox_runtime::CallState;
use scorpiox_wasi::{is_newer, is_wasi};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{Component as Compiled, Linker};

/// Memory that any component may be given, in bytes.
const MEMORY_BYTES: usize = scorpiox_runtime::MAX_MEMORY_BYTES;

/// WASI that reaches nothing, and every other import as functions that find nothing. Fails where the
/// component wants what is not there.
pub(super) fn linked(compiled: &Compiled) -> Result<Linker<CallState>> {
    let engine = compiled.engine();
    let mut linker = Linker::new(engine);
    let newer = compiled.component_type().imports(engine).any(|(name, _)| is_newer(name));
    CallState::link_wasi(&mut linker, newer)?;
    link_empty(&mut linker, compiled, |name| !is_wasi(name))?;
    linker.instantiate_pre(compiled)?;
    Ok(linker)
}

/// The lists of a component that has WASI, or waits by itself.
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
