//! What is recorded of calls, and of other requests that read what skills hold: a line of the audit
//! for each, and the figures of this server.
//!
//! A call leaves its line in memory and is counted there. The ticker, which runs while calls do, has a
//! thread of its own write what is there: a disk that is slow must not keep deadlines from being seen.
//! Nothing is opened, and no thread started, before there is something to write.

mod clients;
mod exports;
mod recorder;
mod recording;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

use scorpiox_audit::{Board, Bounds, Export, Figures, Log, LogError, Origin, Outcome, Spool, Uses, time};
use scorpiox_policy::{AuditPolicy, Policy};
use scorpiox_text::line;

use clients::Clients;
pub(crate) use exports::check as check_exports;
use recording::Subject;
pub(crate) use recording::{NO_POLICY, NOT_APPROVED, Recording};

use super::dispatch::Request;
use crate::capabilities::shell::{Report, Shell};
use crate::tools::Tool;

/// Longest name of a tool that there is none of.
const MAX_TOOL_BYTES: usize = 100;

/// The records of one server.
pub(crate) struct Records {
    /// Has the operator's policy.
    shell: Arc<Shell>,
    /// The folder that the server works for.
    workspace: String,
    started: u64,
    clients: Clients,
    figures: Figures,
    /// Set up by the first call; none where the operator wants none.
    audit: OnceLock<Option<Audit>>,
    /// None once the server has said goodbye.
    board: Mutex<Option<Board>>,
    news: News,
    writer: OnceLock<Thread>,
}

/// The audit, as the operator wants it.
struct Audit {
    origin: Origin,
    spool: Spool,
    /// Where else its lines go.
    exports: Vec<Export>,
    /// Lines have the arguments.
    arguments: bool,
    /// No call without a line.
    required: bool,
    has_complained: AtomicBool,
}

/// Whether there is something to post.
#[derive(Default)]
struct News {
    is_there: AtomicBool,
    is_due: AtomicBool,
    posted_at: AtomicU64,
}

impl Records {
    /// For a server that works for this folder.
    pub(crate) fn new(shell: Arc<Shell>, workspace: &Path) -> Arc<Self> {
        let workspace = workspace.display().to_string();
        let records = Arc::new(Self {
            board: Mutex::new(Some(Board::new(run_folder(&shell.setup().own_home)))),
            shell,
            started: time::now(),
            workspace,
            clients: Clients::default(),
            figures: Figures::default(),
            audit: OnceLock::new(),
            news: News::default(),
            writer: OnceLock::new(),
        });
        let weak = Arc::downgrade(&records);
        records.shell.on_task_end(move |Report { uses, duration }| {
            let Some(records) = weak.upgrade().filter(|_| !uses.is_empty()) else { return };
            records.record_task(&uses, duration);
        });
        records
    }

    /// A call begins.
    pub(crate) fn begin<'a>(
        &'a self,
        request: &Request<'_>,
        tool: &'a Tool,
        arguments: &'a str,
        uses: &Uses,
    ) -> Recording<'a> {
        Recording::new(self, self.clients.of(request), Subject::Tool { tool, arguments }, uses)
    }

    /// A call is refused that names no tool that there is, or cannot be read.
    pub(crate) fn refuse(
        &self,
        client: Option<&Request<'_>>,
        name: &str,
        arguments: Option<&str>,
        why: &'static str,
        uses: &Uses,
    ) {
        let name = line::clean(name, MAX_TOOL_BYTES);
        let client = client.and_then(|request| self.clients.of(request));
        let subject = Subject::Unknown { name: &name, arguments };
        // It did nothing, so that nothing is withheld.
        let _ = Recording::new(self, client, subject, uses).finish(Outcome::Refused(why));
    }

    /// A request that calls no tool, and is recorded by its method.
    pub(crate) fn begin_other<'a>(
        &'a self,
        request: &Request<'_>,
        method: &'static str,
        uses: &Uses,
    ) -> Recording<'a> {
        Recording::new(self, self.clients.of(request), Subject::Method(method), uses)
    }

    fn audit(&self) -> Option<&Audit> {
        let audit = self.audit.get_or_init(|| {
            let policy = wanted(&self.shell);
            let own_home = &self.shell.setup().own_home;
            let log = policy.enabled.value.then(|| log(own_home, &policy))?;
            let origin = recorder::origin(&self.workspace, &self.shell);
            Some(Audit {
                spool: Spool::new(log, origin.clone()),
                origin,
                exports: exports::of(own_home, &policy),
                arguments: policy.arguments.value,
                required: policy.required.value,
                has_complained: AtomicBool::new(false),
            })
        });
        audit.as_ref()
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.get() {
            // It finds that there is nothing to do any more.
            writer.unpark();
        }
    }
}

/// What the operator wants recorded. Under a policy that cannot be used it is what holds without one.
fn wanted(shell: &Shell) -> AuditPolicy {
    shell.policy().map_or_else(|_| Policy::builtin().audit, |policy| policy.audit.clone())
}

fn log(own_home: &Path, policy: &AuditPolicy) -> Log {
    let bounds = Bounds { file_bytes: policy.max_file_size.value, files: policy.max_files.value };
    Log::new(audit_folder(own_home), bounds)
}

/// Whether lines could be written, for a person who asks: where, or why not; none where none are wanted.
pub(crate) fn check_audit(shell: &Shell) -> Option<Result<PathBuf, LogError>> {
    let policy = wanted(shell);
    let mut log = policy.enabled.value.then(|| log(&shell.setup().own_home, &policy))?;
    Some(log.check().map(|()| log.folder().to_owned()))
}

/// Where the audit is.
pub(crate) fn audit_folder(own_home: &Path) -> PathBuf {
    own_home.join("audit")
}

/// Where servers post their figures.
pub(crate) fn run_folder(own_home: &Path) -> PathBuf {
    own_home.join("run")
}
