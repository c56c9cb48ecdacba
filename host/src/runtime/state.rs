//! What one call owns while it runs.

use std::sync::Arc;

use scorpiox_audit::Uses;

use super::limits::Meter;
use crate::capabilities::files::Files;
use crate::capabilities::shell::ShellView;
use crate::capabilities::skills::SkillView;
use crate::capabilities::web::WebView;
use crate::database::LazyTransaction;

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
    pub(crate) on_progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told of what the capabilities decide.
    pub(crate) uses: Uses,
    pub(crate) log_lines: u32,
    pub(crate) meter: Meter,
}
