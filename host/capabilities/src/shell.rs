//! The WIT interface `shell`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_sandbox::{Ended, Outcome, Status as Ending};
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use scorpiox_shell::{As, Listed, Owner, Request, Shell, ShellError, TaskEnd, TaskState};
use wit::{Completed, Error, Host, Piece, Status, Task};

/// Maximum size of the output that one read returns, in bytes.
const SHOWN_BYTES: usize = 30 * 1024;

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/shell@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/shell.error" => super::ShellFailure },
    });
    pub use scorpiox::tool::shell::*;
}

/// State of the shell in one call.
pub struct ShellCtx {
    shell: Arc<Shell>,
    /// `true` if commands must not change anything.
    read_only: bool,
    /// Cancellation flag of running commands.
    cancel: Cancel,
}

impl Provided for ShellCtx {
    const NAME: &'static str = "shell";
    const MAY: &'static str = "run commands, as far as the policy grants it";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { shell: Arc::clone(&setup.shell), read_only: setup.read_only, cancel: setup.cancel.clone() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

/// Reason why a call of the shell failed.
#[derive(Debug)]
pub struct ShellFailure(Error);

impl From<Arc<ShellError>> for ShellFailure {
    fn from(error: Arc<ShellError>) -> Self {
        let text = error.to_string();
        Self(match &*error {
            denial if denial.is_denial() => Error::Denied(text),
            ShellError::Command(_) => Error::Invalid(text),
            ShellError::NoTask(_) | ShellError::NoTasks(_) => Error::NotFound(text),
            _ => Error::Failed(text),
        })
    }
}

impl View<'_, ShellCtx> {
    fn owner(&self) -> Owner<'_> {
        Owner::new(Some(&self.call.name), &self.call.uses)
    }

    fn request(&self, command: String, timeout: Option<Duration>) -> Request {
        let approved = self.call.approved.as_ref();
        let run_as = As::Component {
            name: (&self.call.name).into(),
            also: approved.and_then(|approved| approved.authors_name.clone()),
            profile: approved.and_then(|approved| approved.profile.clone()),
            read_only: self.ctx.read_only,
        };
        Request { command, run_as, timeout, uses: self.call.uses.clone() }
    }
}

impl Host for View<'_, ShellCtx> {
    fn run(&mut self, command: String, timeout_ms: Option<u32>) -> Result<Completed, ShellFailure> {
        self.call.function = "run";
        let (default, most) = self.ctx.shell.timeouts()?;
        let timeout = timeout_ms.map_or(default, |ms| Duration::from_millis(ms.into()));
        if timeout.is_zero() || timeout > most {
            let why =
                format!("the time must be 1 to {} ms, but was {}", most.as_millis(), timeout.as_millis());
            return Err(ShellFailure(Error::Invalid(why)));
        }
        let left = self
            .call
            .deadline
            .map(|deadline| (deadline + self.call.asked_for).saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ShellFailure(Error::Denied("the call has waited for as long as it may".to_owned())));
        }
        let timeout = left.map_or(timeout, |left| timeout.min(left));
        let request = self.request(command, Some(timeout));
        let completed = self.ctx.shell.run(&request, &self.ctx.cancel, SHOWN_BYTES)?;
        Ok(Completed {
            output: completed.output.text,
            status: status(&completed.outcome),
            timed_out: completed.outcome.ended == Some(Ended::Timeout),
            duration_ms: completed.outcome.duration_ms,
            tier: completed.tier.name().to_owned(),
            truncated_bytes: completed.output.truncated_bytes,
            killed_processes: completed.outcome.leftover,
        })
    }

    fn start(&mut self, command: String) -> Result<Task, ShellFailure> {
        self.call.function = "start";
        if self.call.approved.is_some() {
            // A background task would survive the end of the approval or the start of a plan.
            let why = "plugins run commands to their end; use run".to_owned();
            return Err(ShellFailure(Error::Denied(why)));
        }
        let request = self.request(command, None);
        Ok(task(&self.ctx.shell.start_task(&request)?.task))
    }

    fn read(&mut self, id: u32) -> Result<Piece, ShellFailure> {
        self.call.function = "read";
        let read = self.ctx.shell.read_task(self.owner(), id, SHOWN_BYTES)?;
        Ok(Piece {
            output: read.piece.text,
            lost_bytes: read.piece.lost_bytes,
            more: read.piece.more,
            task: task(&read.task),
        })
    }

    fn kill(&mut self, id: u32) -> Result<Task, ShellFailure> {
        self.call.function = "kill";
        let (killed, _) = self.ctx.shell.kill_task(self.owner(), id, &self.ctx.cancel)?;
        Ok(task(&killed))
    }

    fn convert_error(&mut self, failure: ShellFailure) -> wasmtime::Result<Error> {
        self.call.failed(ShellCtx::NAME, &failure.0);
        Ok(failure.0)
    }
}

fn status(outcome: &Outcome) -> Status {
    match outcome.status {
        Ending::Code(code) => Status::ExitCode(code),
        Ending::Signal(signal) => Status::Signal(signal),
    }
}

fn task(listed: &Listed) -> Task {
    let (ended, runtime) = match &listed.state {
        TaskState::Running(time) => (None, *time),
        TaskState::Ended(TaskEnd::Ended(outcome), time) => (Some(status(outcome)), *time),
        TaskState::Ended(TaskEnd::Lost(_), time) => (Some(Status::Signal(9)), *time),
    };
    let runtime_ms = u64::try_from(runtime.as_millis()).unwrap_or(u64::MAX);
    Task { id: listed.id, status: ended, runtime_ms }
}
