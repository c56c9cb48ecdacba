//! What one call owns while it runs.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use super::limits::Meter;
use scorpiox_capabilities::store::StoreCtx;
use scorpiox_capabilities::view::{HasCtx as _, View};
use scorpiox_capabilities::{Contexts, HasContexts};
use scorpiox_wasi::{HasWasi, Program, WasiSource, WasiState};

/// The data of a call's store.
pub struct CallState {
    pub(super) contexts: Contexts,
    /// Made for components that have WASI.
    pub(super) wasi: Option<Box<WasiState>>,
    pub(super) meter: Meter,
}

impl HasContexts for CallState {
    fn contexts(&mut self) -> &mut Contexts {
        &mut self.contexts
    }
}

impl HasWasi for CallState {
    /// Without a grant, one that reaches nothing.
    fn wasi(&mut self) -> &mut WasiState {
        let nothing = || {
            Box::new(WasiState::new(
                Arc::new(WasiSource::nothing(&self.contexts.call.name)),
                Program::default(),
            ))
        };
        self.wasi.get_or_insert_with(nothing)
    }

    fn kept(&mut self) -> Option<View<'_, StoreCtx>> {
        let approved = self.contexts.call.approved.as_ref();
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
