//! What one call owns while it runs.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use super::limits::{Limits, Meter};
use scorpiox_capabilities::store::StoreCtx;
use scorpiox_capabilities::view::{HasCtx as _, View};
use scorpiox_capabilities::{Contexts, HasContexts};
use scorpiox_wasi::{HasWasi, Program, WasiSource, WasiState};

/// The data of a call's store. All stores with WASI have this type: what is linked is compiled once for each.
pub struct CallState {
    /// None where nothing is called: see [`CallState::nothing`].
    contexts: Option<Contexts>,
    /// Made for components that have WASI.
    pub(super) wasi: Option<Box<WasiState>>,
    pub(super) meter: Meter,
}

impl CallState {
    /// Of a call.
    pub(super) fn new(contexts: Contexts, wasi: Option<Box<WasiState>>, meter: Meter) -> Self {
        Self { contexts: Some(contexts), wasi, meter }
    }

    /// Of a component that is only looked at: it has memory, and WASI that reaches nothing. No capability may be linked
    /// to it.
    pub fn nothing(memory_bytes: usize) -> Self {
        let limits = Limits { memory_bytes, ..Limits::default() };
        let wasi = WasiState::new(Arc::new(WasiSource::nothing("plugin")), Program::default());
        Self { contexts: None, wasi: Some(Box::new(wasi)), meter: Meter::new(&limits, true) }
    }

    /// Links WASI to it; with `newer` also WASI 0.3. Compiled here, and once.
    pub fn link_wasi(linker: &mut Linker<Self>, newer: bool) -> wasmtime::Result<()> {
        scorpiox_wasi::link(linker, newer)
    }

    /// Holds a store to the limits of its state.
    pub fn limit(store: &mut Store<Self>) {
        store.limiter(|state| &mut state.meter);
    }

    /// How long the person and the model took for answers.
    pub(super) fn asked_for(&self) -> Duration {
        self.contexts.as_ref().map_or(Duration::ZERO, |contexts| contexts.call.asked_for)
    }

    /// Another call begins, of an instance that is kept.
    pub(super) fn begin(&mut self, contexts: Contexts, wasi: WasiSource) {
        self.contexts = Some(contexts);
        if let Some(state) = &mut self.wasi {
            state.renew(Arc::new(wasi));
        }
        self.meter.memory_refused = false;
    }

    /// A call of an instance ends that is kept: what the capabilities have, and what it printed. Until the next call it
    /// reaches nothing.
    pub(super) fn pause(&mut self, tool: &str) -> (Contexts, String) {
        let mut said = String::new();
        if let Some(wasi) = &mut self.wasi {
            wasi.log(tool);
            said = wasi.said();
            wasi.rest();
        }
        (self.contexts.take().expect(CALLS_ALONE), said)
    }

    /// What the capabilities have at the end of a call.
    pub(super) fn into_contexts(self) -> Contexts {
        self.contexts.expect(CALLS_ALONE)
    }
}

/// Why there are contexts.
const CALLS_ALONE: &str = "capabilities are linked for calls alone";

impl HasContexts for CallState {
    fn contexts(&mut self) -> &mut Contexts {
        self.contexts.as_mut().expect(CALLS_ALONE)
    }
}

impl HasWasi for CallState {
    /// Without a grant, one that reaches nothing.
    fn wasi(&mut self) -> &mut WasiState {
        let name = self.contexts.as_ref().map_or("plugin", |contexts| &*contexts.call.name);
        let nothing = || Box::new(WasiState::new(Arc::new(WasiSource::nothing(name)), Program::default()));
        self.wasi.get_or_insert_with(nothing)
    }

    fn kept(&mut self) -> Option<View<'_, StoreCtx>> {
        let approved = self.contexts.as_ref()?.call.approved.as_ref();
        approved.is_some_and(|approved| approved.store).then(|| self.view())
    }
}

impl IoView for CallState {
    fn table(&mut self) -> &mut ResourceTable {
        self.wasi().table()
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi().ctx()
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.wasi().http()
    }
}
