//! Records calls, and other requests that read skills: an audit line for each, and the figures of this
//! server.
//!
//! A call leaves its line in memory and updates the counters there. The ticker, which runs during calls,
//! hands pending lines to a separate writer thread, because a slow disk must not delay the detection of
//! deadlines. Files are opened and threads are started only when there is something to write.

mod admission;
mod call_error;
mod exports;
mod in_force;
mod recorder;
mod recording;
mod refusals;
mod unfinished;
mod unknown_callers;
mod visits;
mod watcher;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use parking_lot::{Mutex, RwLock};
use scorpiox_audit::{
    Bounds, ClientName, Export, Figures, Log, LogError, Spool, StatusFile, UnderPolicy as _, Uses, time,
};
use scorpiox_executor::AsyncRuntime;
use scorpiox_policy::{AuditPolicy, Policy};
use scorpiox_text::line;
use scorpiox_workspace_config::Operator;

pub use admission::{AuditState, Unserved};
pub use call_error::{CallError, NO_POLICY, NOT_APPROVED};
pub use exports::check as check_exports;
pub use in_force::PolicyInForce;
pub use recorder::{account, machine, policy_in_use, rule_texts};
pub use recording::Recording;
use recording::Subject;
use refusals::Refusals;
use unfinished::Unfinished;
pub use unknown_callers::UnknownCallers;
pub use visits::{Act, Refused, Visit, Visitor};
pub use watcher::{Ended, Kind, Watcher};

use scorpiox_shell::{Report, Shell};
use scorpiox_tools::Tool;

/// Maximum length of the name of a nonexistent tool.
const MAX_TOOL_BYTES: usize = 100;
/// Stands for a name that is empty, or has no character that can be shown.
const NO_NAME: &str = "(no name)";

/// Records of one workspace.
pub struct Records {
    /// Workspace directory.
    workspace: String,
    /// Policy in force, which a changed policy replaces.
    in_force: RwLock<Arc<PolicyInForce>>,
    /// Async runtime for sending to a collector, if the policy requires one.
    asynchronous: Arc<AsyncRuntime>,
    started: u64,
    /// Most recent client, for display.
    client: Mutex<Option<Arc<ClientName>>>,
    figures: Figures,
    /// Set up by the first call; `None` if auditing is disabled.
    audit: OnceLock<Option<Audit>>,
    /// `None` after shutdown.
    status_file: Mutex<Option<StatusFile>>,
    unposted: Unposted,
    writer: OnceLock<Thread>,
    unfinished: Unfinished,
    /// Shared by all workspaces of the process.
    unknown_callers: Arc<UnknownCallers>,
    watchers: OnceLock<Vec<Arc<dyn Watcher>>>,
}

/// Audit log as configured by the policy.
struct Audit {
    spool: Spool,
    /// Exports of the lines.
    exports: Vec<Export>,
    /// `true` if lines include the arguments.
    arguments: bool,
    /// `true` if calls without a line are refused.
    required: bool,
    refusals: Refusals,
    unknown_callers: Arc<UnknownCallers>,
    /// `true` if the last attempt to write lines failed.
    is_blocked: AtomicBool,
}

/// State of unpublished figures.
#[derive(Default)]
struct Unposted {
    is_there: AtomicBool,
    is_due: AtomicBool,
    posted_at: AtomicU64,
}

impl Records {
    /// Creates the records of a workspace.
    pub fn new(
        shell: &Shell,
        asynchronous: Arc<AsyncRuntime>,
        unknown_callers: Arc<UnknownCallers>,
        workspace: &Path,
    ) -> Arc<Self> {
        let workspace = workspace.display().to_string();
        let in_force = PolicyInForce::new(Arc::clone(shell.operator()), workspace.clone());
        let records = Arc::new(Self {
            status_file: Mutex::new(Some(StatusFile::new(run_folder(&shell.operator().site().own_home)))),
            in_force: RwLock::new(Arc::new(in_force)),
            workspace,
            asynchronous,
            started: time::now(),
            client: Mutex::default(),
            figures: Figures::default(),
            audit: OnceLock::new(),
            unposted: Unposted::default(),
            writer: OnceLock::new(),
            unfinished: Unfinished::default(),
            unknown_callers,
            watchers: OnceLock::new(),
        });
        let weak = Arc::downgrade(&records);
        shell.on_task_end(move |Report { uses, duration }| {
            let Some(records) = weak.upgrade() else { return };
            records.count_task(&uses);
            if !uses.is_empty() {
                records.record_task(&uses, duration);
            }
        });
        records
    }

    /// Starts recording a call.
    pub fn begin<'a>(
        &'a self,
        client: Option<Arc<ClientName>>,
        tool: &'a Tool,
        arguments: &'a str,
        uses: &Uses,
    ) -> Recording<'a> {
        Recording::new(self, client, Subject::Tool { tool, arguments }, uses)
    }

    /// Starts recording a malformed call, or a call to a nonexistent tool.
    pub fn begin_unknown<'a>(
        &'a self,
        client: Option<Arc<ClientName>>,
        name: &str,
        arguments: Option<&'a str>,
        uses: &Uses,
    ) -> Recording<'a> {
        let mut name = line::clean(name, MAX_TOOL_BYTES);
        if name.is_empty() {
            NO_NAME.clone_into(&mut name);
        }
        Recording::new(self, client, Subject::Unknown { name, arguments }, uses)
    }

    /// Starts recording a request other than a tool call, by its method.
    pub fn begin_method(
        &self,
        client: Option<Arc<ClientName>>,
        method: &'static str,
        uses: &Uses,
    ) -> Recording<'_> {
        Recording::new(self, client, Subject::Method(method), uses)
    }

    /// Returns the refused calls by reason.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        self.figures.refusals()
    }

    /// Returns the policy in force.
    pub fn in_force(&self) -> Arc<PolicyInForce> {
        Arc::clone(&self.in_force.read())
    }

    /// Records calls under a changed policy from now on. The places of the lines stay as they are.
    pub fn renew(&self, operator: Arc<Operator>) -> Arc<PolicyInForce> {
        let renewed = Arc::new(PolicyInForce::new(operator, self.workspace.clone()));
        *self.in_force.write() = Arc::clone(&renewed);
        renewed
    }

    fn audit(&self) -> Option<&Audit> {
        let audit = self.audit.get_or_init(|| {
            let in_force = self.in_force();
            let policy = wanted(&in_force.operator);
            let own_home = &in_force.operator.site().own_home;
            let log = policy.enabled.value.then(|| log(own_home, &policy))?;
            Some(Audit {
                spool: Spool::new(log, in_force.origin().clone()),
                exports: exports::of(own_home, &policy, &self.asynchronous),
                arguments: policy.arguments.value,
                required: policy.required.value,
                refusals: Refusals::default(),
                unknown_callers: Arc::clone(&self.unknown_callers),
                is_blocked: AtomicBool::new(false),
            })
        });
        audit.as_ref()
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.get() {
            // Lets the writer thread notice that the records are dropped, and end.
            writer.unpark();
        }
    }
}

/// Returns the audit policy. If the policy is unusable, the built-in defaults apply.
fn wanted(operator: &Operator) -> AuditPolicy {
    operator.loaded().map_or_else(|_| Policy::builtin().audit, |loaded| loaded.policy.audit.clone())
}

fn log(own_home: &Path, policy: &AuditPolicy) -> Log {
    let bounds = Bounds { file_bytes: policy.max_file_size.value, files: policy.max_files.value };
    Log::new(audit_folder(own_home), bounds)
}

/// Tests whether lines can be written, for interactive use. Returns the directory or the error, or `None` if
/// auditing is disabled.
pub fn check_audit(operator: &Operator) -> Option<Result<PathBuf, LogError>> {
    let policy = wanted(operator);
    let mut log = policy.enabled.value.then(|| log(&operator.site().own_home, &policy))?;
    Some(log.check().map(|()| log.folder().to_owned()))
}

/// Returns the directory of the audit log.
pub fn audit_folder(own_home: &Path) -> PathBuf {
    own_home.join("audit")
}

/// Returns the directory for the status files of servers.
pub fn run_folder(own_home: &Path) -> PathBuf {
    own_home.join("run")
}
