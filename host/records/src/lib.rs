//! What is recorded of calls, and of other requests that read what skills hold: a line of the audit
//! for each, and the figures of this server.
//!
//! A call leaves its line in memory and is counted there. The ticker, which runs while calls do, has a
//! thread of its own write what is there: a disk that is slow must not keep deadlines from being seen.
//! Nothing is opened, and no thread started, before there is something to write.

mod admission;
mod call_error;
mod exports;
mod recorder;
mod recording;
mod refusals;
mod visits;
mod watcher;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use parking_lot::Mutex;
use scorpiox_audit::{
    Bounds, ClientName, Export, Figures, Log, LogError, Origin, Spool, StatusFile, Uses, time,
};
use scorpiox_executor::AsyncRuntime;
use scorpiox_operator::Operator;
use scorpiox_policy::{AuditPolicy, Policy};
use scorpiox_text::line;

pub use admission::{AuditState, Unserved};
pub use call_error::{CallError, NO_POLICY, NOT_APPROVED};
pub use exports::check as check_exports;
pub use recorder::{account, machine, rule_texts};
pub use recording::Recording;
use recording::Subject;
use refusals::Refusals;
pub use visits::{Act, Refused, Visit, Visitor};
pub use watcher::{Ended, Kind, Watcher};

use scorpiox_shell::{Report, Shell};
use scorpiox_tools::Tool;

/// Longest name of a tool that there is none of.
const MAX_TOOL_BYTES: usize = 100;

/// The records of what is done for one workspace.
pub struct Records {
    /// Has the operator's policy.
    shell: Arc<Shell>,
    /// What sends to a collector, where the operator wants that.
    asynchronous: Arc<AsyncRuntime>,
    /// The folder that the server works for.
    workspace: String,
    started: u64,
    /// Who called last, for people.
    client: Mutex<Option<Arc<ClientName>>>,
    figures: Figures,
    /// Set up by the first call; none where the operator wants none.
    audit: OnceLock<Option<Audit>>,
    /// None once the server has said goodbye.
    status_file: Mutex<Option<StatusFile>>,
    unposted: Unposted,
    writer: OnceLock<Thread>,
    watchers: OnceLock<Vec<Arc<dyn Watcher>>>,
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
    refusals: Refusals,
    /// Lines could not be written when that was tried last.
    is_blocked: AtomicBool,
}

/// Whether there is something to post.
#[derive(Default)]
struct Unposted {
    is_there: AtomicBool,
    is_due: AtomicBool,
    posted_at: AtomicU64,
}

impl Records {
    /// For a server that works for this folder.
    pub fn new(shell: Arc<Shell>, asynchronous: Arc<AsyncRuntime>, workspace: &Path) -> Arc<Self> {
        let workspace = workspace.display().to_string();
        let records = Arc::new(Self {
            status_file: Mutex::new(Some(StatusFile::new(run_folder(&shell.operator().site().own_home)))),
            shell,
            asynchronous,
            started: time::now(),
            workspace,
            client: Mutex::default(),
            figures: Figures::default(),
            audit: OnceLock::new(),
            unposted: Unposted::default(),
            writer: OnceLock::new(),
            watchers: OnceLock::new(),
        });
        let weak = Arc::downgrade(&records);
        records.shell.on_task_end(move |Report { uses, duration }| {
            let Some(records) = weak.upgrade() else { return };
            records.count_task(&uses);
            if !uses.is_empty() {
                records.record_task(&uses, duration);
            }
        });
        records
    }

    /// A call begins.
    pub fn begin<'a>(
        &'a self,
        client: Option<Arc<ClientName>>,
        tool: &'a Tool,
        arguments: &'a str,
        uses: &Uses,
    ) -> Recording<'a> {
        Recording::new(self, client, Subject::Tool { tool, arguments }, uses)
    }

    /// A call that names no tool that there is, or cannot be read.
    pub fn begin_unknown<'a>(
        &'a self,
        client: Option<Arc<ClientName>>,
        name: &str,
        arguments: Option<&'a str>,
        uses: &Uses,
    ) -> Recording<'a> {
        let name = line::clean(name, MAX_TOOL_BYTES);
        Recording::new(self, client, Subject::Unknown { name, arguments }, uses)
    }

    /// A request that calls no tool, and is recorded by its method.
    pub fn begin_method(
        &self,
        client: Option<Arc<ClientName>>,
        method: &'static str,
        uses: &Uses,
    ) -> Recording<'_> {
        Recording::new(self, client, Subject::Method(method), uses)
    }

    /// Calls that were refused, by the reason.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        self.figures.refusals()
    }

    fn audit(&self) -> Option<&Audit> {
        let audit = self.audit.get_or_init(|| {
            let policy = wanted(self.shell.operator());
            let own_home = &self.shell.operator().site().own_home;
            let log = policy.enabled.value.then(|| log(own_home, &policy))?;
            let origin = recorder::origin(&self.workspace, self.shell.operator());
            Some(Audit {
                spool: Spool::new(log, origin.clone()),
                origin,
                exports: exports::of(own_home, &policy, &self.asynchronous),
                arguments: policy.arguments.value,
                required: policy.required.value,
                refusals: Refusals::default(),
                is_blocked: AtomicBool::new(false),
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
fn wanted(operator: &Operator) -> AuditPolicy {
    operator.policy().map_or_else(|_| Policy::builtin().audit, |policy| policy.audit.clone())
}

fn log(own_home: &Path, policy: &AuditPolicy) -> Log {
    let bounds = Bounds { file_bytes: policy.max_file_size.value, files: policy.max_files.value };
    Log::new(audit_folder(own_home), bounds)
}

/// Whether lines could be written, for a person who asks: where, or why not; none where none are wanted.
pub fn check_audit(operator: &Operator) -> Option<Result<PathBuf, LogError>> {
    let policy = wanted(operator);
    let mut log = policy.enabled.value.then(|| log(&operator.site().own_home, &policy))?;
    Some(log.check().map(|()| log.folder().to_owned()))
}

/// Where the audit is.
pub fn audit_folder(own_home: &Path) -> PathBuf {
    own_home.join("audit")
}

/// Where servers post their figures.
pub fn run_folder(own_home: &Path) -> PathBuf {
    own_home.join("run")
}
