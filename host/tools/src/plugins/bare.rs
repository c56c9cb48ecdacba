//! A component with nothing in its hands: to see whether it can run here, and what its tools are.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use scorpiox_definitions::{PATIENCE, Watch, link_empty, read_waiting};
use serde_json::Value;
use wasmtime::component::{Component as Compiled, Linker, ResourceTable};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder};
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use scorpiox_capabilities::store::StoreCtx;
use scorpiox_capabilities::view::View;
use scorpiox_wasi::{HasWasi, Program, WasiSource, WasiState, is_wasi, link};

/// Memory that any component may be given, in bytes.
const MEMORY_BYTES: usize = scorpiox_runtime::MAX_MEMORY_BYTES;

/// The data of such a store.
pub(super) struct Bare {
    wasi: WasiState,
    limits: StoreLimits,
}

impl HasWasi for Bare {
    fn wasi(&mut self) -> &mut WasiState {
        &mut self.wasi
    }

    fn kept(&mut self) -> Option<View<'_, StoreCtx>> {
        None
    }
}

impl IoView for Bare {
    fn table(&mut self) -> &mut ResourceTable {
        self.wasi.table()
    }
}

impl WasiView for Bare {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.ctx()
    }
}

impl WasiHttpView for Bare {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.wasi.http()
    }
}

/// WASI that reaches nothing, and every other import as functions that find nothing. Fails where the
/// component wants what is not there.
pub(super) fn linked(engine: &Engine, compiled: &Compiled) -> Result<Linker<Bare>> {
    let mut linker = Linker::new(engine);
    link(&mut linker)?;
    link_empty(&mut linker, compiled, |name| !is_wasi(name))?;
    linker.instantiate_pre(compiled)?;
    Ok(linker)
}

/// The tools of a component that has WASI.
pub(super) fn tools(engine: &Engine, compiled: &Compiled, linker: &Linker<Bare>) -> Result<Value> {
    let wasi = WasiState::new(Arc::new(WasiSource::nothing("plugin")), Program::default());
    let limits = StoreLimitsBuilder::new().memory_size(MEMORY_BYTES).build();
    let mut store = Store::new(engine, Bare { wasi, limits });
    store.limiter(|bare| &mut bare.limits);
    store.set_epoch_deadline(1);
    let _watch = Watch::start(engine);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let read = async { tokio::time::timeout(PATIENCE, read_waiting(compiled, linker, store)).await };
    runtime.block_on(read).context("it waited for too long")?
}
