//! State of a call while it runs.

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

/// Data of a call's store. All stores with WASI have this type, because linking is compiled once for each
/// type.
pub struct CallState {
    /// `None` if no call runs: see [`CallState::nothing`].
    contexts: Option<Contexts>,
    /// Created for components that import WASI.
    pub(super) wasi: Option<Box<WasiState>>,
    pub(super) meter: Meter,
}

impl CallState {
    /// Creates the state of a call.
    pub(super) fn new(contexts: Contexts, wasi: Option<Box<WasiState>>, meter: Meter) -> Self {
        Self { contexts: Some(contexts), wasi, meter }
    }

    /// Creates the state for inspecting a component: memory, and WASI without any access. Capabilities must
    /// not be linked with this state.
    pub fn nothing(memory_bytes: usize) -> Self {
        let limits = Limits { memory_bytes, ..Limits::default() };
        let wasi = WasiState::new(Arc::new(WasiSource::nothing("plugin")), Program::default());
        Self { contexts: None, wasi: Some(Box::new(wasi)), meter: Meter::new(&limits, true) }
    }

    /// Links WASI, and with `newer` also WASI 0.3. This function exists so that the linking code is compiled
    /// only once.
    pub fn link_wasi(linker: &mut Linker<Self>, newer: bool) -> wasmtime::Result<()> {
        scorpiox_wasi::link(linker, newer)
    }

    /// Applies the limits of the store's state.
    pub fn limit(store: &mut Store<Self>) {
        store.limiter(|state| &mut state.meter);
    }

    /// Returns the time that the user and the model took for answers.
    pub(super) fn asked_for(&self) -> Duration {
        self.contexts.as_ref().map_or(Duration::ZERO, |contexts| contexts.call.asked_for)
    }

    /// Prepares a retained instance for another call.
    pub(super) fn begin(&mut self, contexts: Contexts, wasi: WasiSource) {
        self.contexts = Some(contexts);
        if let Some(state) = &mut self.wasi {
            state.renew(Arc::new(wasi));
        }
        self.meter.memory_refused = false;
    }

    /// Ends a call of a retained instance. Returns the state of the capabilities, the printed output, and a note on
    /// variables that it mentions. Until the next call, the instance cannot reach anything.
    pub(super) fn pause(&mut self, tool: &str, has_failed: bool) -> (Contexts, (String, Option<String>)) {
        let mut last_words = Default::default();
        if let Some(wasi) = &mut self.wasi {
            if has_failed {
                wasi.mark_shown();
            }
            wasi.log(tool);
            last_words = wasi.last_words();
            wasi.rest();
        }
        (self.contexts.take().expect(CALLS_ALONE), last_words)
    }

    /// Returns the state of the capabilities at the end of a call.
    pub(super) fn into_contexts(self) -> Contexts {
        self.contexts.expect(CALLS_ALONE)
    }
}

/// Panic message: contexts exist during calls.
const CALLS_ALONE: &str = "capabilities are linked for calls alone";

impl HasContexts for CallState {
    fn contexts(&mut self) -> &mut Contexts {
        self.contexts.as_mut().expect(CALLS_ALONE)
    }
}

impl HasWasi for CallState {
    /// Returns the WASI state. Without a grant, it has no access to anything.
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
