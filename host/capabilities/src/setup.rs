//! What a call is set up with, by who wants it made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_operator::SkillFolders;
use scorpiox_store::{LazyTransaction, Mode, Store};

use super::approved::Approved;
use super::ask::Counterpart;
use super::files::Files;
use super::web::Web;
use scorpiox_shell::Shell;

/// What a call is set up with.
#[derive(Clone)]
pub struct Setup {
    /// The workspace's state.
    pub store: Arc<dyn Store>,
    /// Where skills are.
    pub skills: Arc<SkillFolders>,
    /// Whose resources of plugins the call may use, and nobody else's; none where it is of no client.
    pub session: Option<SessionId>,
    /// Who asks for a skill.
    pub asked_by: Caller,
    /// Where commands run, for components that may.
    pub shell: Arc<Shell>,
    /// Whether commands must change nothing at the moment.
    pub read_only: bool,
    /// Looks after what a call waits for.
    pub asynchronous: Arc<AsyncRuntime>,
    /// Stops the call.
    pub cancel: Cancel,
    /// Pages, for components that may fetch them.
    pub web: Arc<Web>,
    /// Files, for components that may read them.
    pub files: Arc<Files>,
    /// The person and the model, for components that may ask them.
    pub counterpart: Option<Arc<dyn Counterpart>>,
    /// Most characters that the text of its result may have.
    pub room: usize,
    /// Stands before the names of tools, where the client needs that.
    pub prefix: Option<Arc<str>>,
    /// Told of what the call touches.
    pub uses: Uses,
    /// Told how far the call is.
    pub on_progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told when the call has to wait for another server's writing.
    pub on_wait: Arc<dyn Fn() + Send + Sync>,
}

impl Setup {
    /// A transaction of the workspace's store, begun when it is first needed.
    pub fn transaction(&self, mode: Mode) -> LazyTransaction {
        LazyTransaction::new(Arc::clone(&self.store), mode, self.cancel.clone(), Arc::clone(&self.on_wait))
    }
}

/// A client's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(u64);

impl SessionId {
    /// That of a session that begins.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Who asks for a skill: some are for one of them alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A model, by a tool.
    Model,
    /// A person, who picked the skill in a list.
    Person,
}

/// The component that capabilities are provided to.
#[derive(Clone, Copy)]
pub struct Grantee<'a> {
    /// Its name.
    pub name: &'a Arc<str>,
    /// What was approved of it, if others ship it.
    pub approved: Option<&'a Arc<Approved>>,
    /// Most that it may store, in bytes.
    pub store_bytes: u64,
    /// Most that a call may give, in bytes.
    pub output_bytes: usize,
    /// How long it may wait for commands, if others ship it.
    pub waiting: Option<Duration>,
}
