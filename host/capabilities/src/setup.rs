//! Inputs of a call, provided by the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_plugin::ComponentName;
use scorpiox_store::{LazyTransaction, Mode, Store};
use scorpiox_workspace_config::SkillFolders;

use super::approved::Approved;
use super::ask::Counterpart;
use super::files::Files;
use super::web::Web;
use scorpiox_shell::Shell;

/// Inputs of a call.
#[derive(Clone)]
pub struct Setup {
    /// State of the workspace.
    pub store: Arc<dyn Store>,
    /// Folders that contain skills.
    pub skills: Arc<SkillFolders>,
    /// Session whose retained plugin resources the call may use; `None` for a call without a client.
    pub session: Option<SessionId>,
    /// Caller that requests a skill.
    pub asked_by: Caller,
    /// Runner of commands, for components with that permission.
    pub shell: Arc<Shell>,
    /// `true` while commands must not change anything.
    pub read_only: bool,
    /// Runtime for the call's asynchronous work.
    pub asynchronous: Arc<AsyncRuntime>,
    /// Cancellation flag of the call.
    pub cancel: Cancel,
    /// Web pages, for components that may fetch them.
    pub web: Arc<Web>,
    /// Files, for components that may read them.
    pub files: Arc<Files>,
    /// The user and the model, for components that may ask them.
    pub counterpart: Option<Arc<dyn Counterpart>>,
    /// Maximum number of characters in the text of the result.
    pub room: usize,
    /// Prefix of tool names, if the client needs it.
    pub prefix: Option<Arc<str>>,
    /// Record of the accesses of the call.
    pub uses: Uses,
    /// Callback for progress reports.
    pub on_progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Callback that runs when the call has to wait for another server's write.
    pub on_wait: Arc<dyn Fn() + Send + Sync>,
}

impl Setup {
    /// Returns a transaction of the workspace's store, which begins on its first use.
    pub fn transaction(&self, mode: Mode) -> LazyTransaction {
        LazyTransaction::new(Arc::clone(&self.store), mode, self.cancel.clone(), Arc::clone(&self.on_wait))
    }
}

/// ID of a client's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(u64);

impl SessionId {
    /// Returns the ID of a new session.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Caller that requests a skill. Some skills are reserved for one kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A model, through a tool.
    Model,
    /// A user, who picked the skill in a list.
    Person,
}

/// The component that receives the capabilities.
#[derive(Clone, Copy)]
pub struct Grantee<'a> {
    /// Name of the component.
    pub name: &'a ComponentName,
    /// Approved permissions of a plugin component.
    pub approved: Option<&'a Arc<Approved>>,
    /// Maximum size of the component's stored data, in bytes.
    pub store_bytes: u64,
    /// Maximum size of a call's result, in bytes.
    pub output_bytes: usize,
    /// Maximum time that a plugin component may wait for commands.
    pub waiting: Option<Duration>,
}
