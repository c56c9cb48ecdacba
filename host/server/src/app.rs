//! State that a process creates once and shares between all clients and workspaces.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use scorpiox_executor::AsyncRuntime;
use scorpiox_metering::records::UnknownCallers;

use scorpiox_runtime::{Beat, Runtime, Ticker};
use scorpiox_tools::Registry;

use crate::approvals::Approvals;

/// Receiver of ticks: a workspace.
pub(super) trait Ticked: Send + Sync {
    /// Handles a tick. Ticks occur while a call of any session runs.
    fn tick(&self, beat: Beat);
}

/// Process-wide state: the engine, the built-in tools, the async runtime, and the ticker. Workspaces are
/// opened from an app and share it.
pub struct App {
    /// All built-in tools.
    pub(super) registry: Arc<Registry>,
    pub(crate) runtime: Runtime,
    pub(super) asynchronous: Arc<AsyncRuntime>,
    /// Budget of audit lines that unknown callers can cause.
    pub(super) unknown_callers: Arc<UnknownCallers>,
    /// Ticks while a call of any session runs.
    pub ticker: Arc<Ticker>,
    pub(crate) approvals: Approvals,
    workspaces: Mutex<Vec<Weak<dyn Ticked>>>,
}

impl App {
    /// Creates an app without workspaces. Starts no thread.
    pub fn new(registry: Arc<Registry>) -> Arc<Self> {
        Arc::new_cyclic(|app: &Weak<Self>| {
            let app = app.clone();
            let on_tick = move |beat| {
                if let Some(app) = app.upgrade() {
                    app.tick(beat);
                }
            };
            Self {
                registry,
                runtime: Runtime::default(),
                asynchronous: Arc::default(),
                unknown_callers: Arc::default(),
                ticker: Ticker::new(Box::new(on_tick)),
                approvals: Approvals::default(),
                workspaces: Mutex::default(),
            }
        })
    }

    /// Returns the async runtime for web requests and timers. Its thread starts on first use.
    pub fn async_runtime(&self) -> Arc<AsyncRuntime> {
        Arc::clone(&self.asynchronous)
    }

    /// Adds a workspace to be notified of each tick.
    pub(super) fn add(&self, workspace: Weak<dyn Ticked>) {
        let mut workspaces = self.workspaces.lock();
        workspaces.retain(|other| other.strong_count() > 0);
        workspaces.push(workspace);
    }

    fn tick(&self, beat: Beat) {
        self.runtime.tick();
        let workspaces = self.workspaces.lock();
        for workspace in workspaces.iter().filter_map(Weak::upgrade) {
            workspace.tick(beat);
        }
    }
}
