//! What one call owns while it runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_store::LazyTransaction;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use super::limits::Meter;
use crate::capabilities::approved::{Approved, Budget};
use crate::capabilities::ask::Counterpart;
use crate::capabilities::files::Files;
use crate::capabilities::shell::ShellView;
use crate::capabilities::skills::SkillView;
use crate::capabilities::wasi::{HasWasi, Program, WasiSource, WasiState};
use crate::capabilities::web::WebView;

/// The data of a call's store: the state of each capability, and the meter. Which of
/// it a guest can reach is decided by what is linked to it.
pub struct CallState {
    /// Whose data and timers these are: the component's name.
    pub(crate) namespace: Arc<str>,
    pub(crate) transaction: LazyTransaction,
    pub(crate) store_quota: u64,
    /// Whether timers were armed or disarmed, so that the clock has to look again.
    pub(crate) timers_changed: bool,
    pub(crate) shell: ShellView,
    pub(crate) skills: SkillView,
    pub(crate) web: WebView,
    pub(crate) files: Arc<Files>,
    /// Most characters that the text of the result may have.
    pub(crate) room: usize,
    /// Stands before the names of tools, where the client needs that.
    pub(crate) prefix: Option<Arc<str>>,
    /// For components of others.
    pub(crate) approved: Option<Arc<Approved>>,
    pub(crate) on_progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told of what the capabilities decide.
    pub(crate) uses: Uses,
    pub(crate) log_lines: u32,
    pub(crate) counterpart: Option<Arc<dyn Counterpart>>,
    pub(crate) times_asked: u32,
    /// How long the person and the model took for answers.
    pub(crate) asked_for: Duration,
    /// Until when a component of others may wait for commands.
    pub(crate) deadline: Option<Instant>,
    /// What the client's model was asked already.
    pub(crate) sampled: Budget,
    /// Made for components that have WASI.
    pub(crate) wasi: Option<Box<WasiState>>,
    pub(crate) meter: Meter,
}

impl CallState {
    /// Notes that a capability was used, which the program gives its own components and a person others.
    pub(crate) fn use_of(&self, capability: &'static str) {
        self.uses.once(capability, if self.approved.is_some() { APPROVAL } else { BUILT_IN });
    }
}

impl HasWasi for CallState {
    /// Without a grant, one that reaches nothing.
    fn wasi(&mut self) -> &mut WasiState {
        let nothing =
            || Box::new(WasiState::new(Arc::new(WasiSource::nothing(&self.namespace)), Program::default()));
        self.wasi.get_or_insert_with(nothing)
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
