//! Failures of a call that the tool did not report itself.

use std::time::Duration;

use scorpiox_executor::Reason;
use scorpiox_store::StoreError;
use scorpiox_web::WebError;
use scorpiox_workspace_config::SkillsUnread;
use wasmtime::Trap;
use wasmtime::component::Val;

use super::call::SHIPPED_TRANSFER_BYTES;
use super::limits::Limits;
use scorpiox_capabilities::ask::Later;
use scorpiox_capabilities::requests::{Abilities, Lacks};
use scorpiox_wasi::Exit;

/// Beginning of wasmtime's error for a guest that passes more than the limit.
const TOO_MUCH: &str = "too much data is being copied between the host and the guest";

/// Reason why a call has neither a result nor an error of the tool. The call's writes are rolled back.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The client cancelled the call, or the server is shutting down.
    #[error("the call was cancelled")]
    Cancelled(Reason),
    /// The client's deadline passed before the code of this plugin was compiled.
    #[error(
        "its code was not compiled in time, and it is compiled anew with each call; \
         `scorpiox-code plugin show {0}`, run by the user, compiles and keeps it"
    )]
    Uncompiled(String),
    /// The guest exceeded its CPU time.
    #[error("the tool used up its {} s of processor time and was stopped", .0.as_secs_f32())]
    Deadline(Duration),
    /// The call exceeded its limit for waiting.
    #[error("the tool waited for more than {} s in all and was stopped", .0.as_secs_f32())]
    Waited(Duration),
    /// The client must ask the user first and then repeat the call.
    #[error("the person is asked first")]
    Later,
    /// The client lacks an ability that the call needs.
    #[error("{}", Lacks(*.0))]
    Lacks(Abilities),
    /// The guest exited, and the exit is not a result.
    #[error("the tool ended itself with {0}")]
    Exited(Exit),
    /// The guest exceeded its memory limit.
    #[error("the tool used up its {} MiB of memory and was stopped", .0 / (1024 * 1024))]
    Memory(usize),
    /// The result exceeds its size limit.
    #[error("the tool's result has {size} bytes; at most {limit} are allowed{}", .set_by.map(|name| format!(": {name} says so")).unwrap_or_default())]
    Output {
        /// Size of the result.
        size: usize,
        /// Maximum size.
        limit: usize,
        /// Setting that determines the limit, if it is configurable.
        set_by: Option<&'static str>,
    },
    /// The guest passed more to the host than it may at once.
    #[error(
        "the tool passed more than {} MiB to the host at once, as its result or to an imported function; an item of a \
         list takes {} bytes there, so that a `list<u8>` in a result has at most {} bytes",
        SHIPPED_TRANSFER_BYTES / (1024 * 1024),
        size_of::<Val>(),
        SHIPPED_TRANSFER_BYTES / size_of::<Val>()
    )]
    Transfer,
    /// The guest recursed too deeply.
    #[error("the tool recursed too deeply and was stopped")]
    Stack,
    /// The guest trapped: an internal error of the tool.
    #[error("the tool failed internally ({0})")]
    Trap(String),
    /// The guest was stopped or trapped, and printed output or got an error before that.
    #[error("{fault}")]
    Printed {
        /// Fault that ended the call.
        fault: Box<Fault>,
        /// Last part of the guest's output; empty if there is none.
        said: String,
        /// Last error of an imported function, and the function.
        failed: Option<String>,
        /// Explanation of an ending that a language leaves unexplained.
        hint: Option<String>,
    },
    /// The fault also ended the instance that retained resources for later calls.
    #[error("{fault}; its resources are lost, and {}", gone(*.handles))]
    Lost {
        /// Fault that ended the call.
        fault: Box<Fault>,
        /// Number of lost handles.
        handles: usize,
    },
    /// The maximum number of retained instances is reached, and all of them are in use.
    #[error(
        "{0} instances of plugins are kept and in use, which is the limit; try again when a call has ended"
    )]
    Crowded(u32),
    /// The maximum number of calls of the component is running.
    #[error("{0} calls of this plugin are running, which is the limit; try again when one has ended")]
    Busy(u32),
    /// A secret is missing that the user must set.
    #[error("{0}")]
    Secret(String),
    /// The component cannot be run at all.
    #[error("the tool's component cannot be started: {0}")]
    Unusable(String),
    /// The component's stored data cannot be read.
    #[error("what it keeps cannot be read: {0}")]
    Unread(String),
    /// The skill folders cannot be searched at the moment.
    #[error("{0}")]
    Skills(SkillsUnread),
    /// The database cannot be used.
    #[error("the tool's data cannot be stored: {0}")]
    Database(#[from] StoreError),
}

fn gone(handles: usize) -> String {
    match handles {
        1 => "its handle is invalid".to_owned(),
        more => format!("its {more} handles are invalid"),
    }
}

/// Reason why the epoch callback stopped a guest.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum Stop {
    #[error("cancelled")]
    Cancelled(Reason),
    #[error("out of time")]
    Deadline,
    #[error("waited for too long")]
    Waited,
}

impl Fault {
    /// Returns `true` if the call failed only because it was cancelled.
    pub fn is_cancel(&self) -> bool {
        match self {
            Self::Cancelled(_) | Self::Later | Self::Database(StoreError::Cancelled) => true,
            Self::Lost { fault, .. } => fault.is_cancel(),
            _ => false,
        }
    }

    /// Returns a one-word classification. Unlike the message, it never contains text from the guest.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Cancelled(_) => "cancelled",
            Self::Uncompiled(_) => "compiling",
            Self::Deadline(_) => "deadline",
            Self::Waited(_) => "waited",
            Self::Later => "asks-first",
            Self::Lacks(_) => "client-lacks",
            Self::Exited(_) => "exited",
            Self::Memory(_) => "memory",
            Self::Output { .. } | Self::Transfer => "output",
            Self::Stack => "stack",
            Self::Trap(_) => "trap",
            Self::Printed { fault, .. } | Self::Lost { fault, .. } => fault.kind(),
            Self::Busy(_) | Self::Crowded(_) => "busy",
            Self::Secret(_) => "secret",
            Self::Unusable(_) | Self::Skills(_) => "unusable",
            Self::Unread(_) | Self::Database(_) => "database",
        }
    }

    /// Returns the guest's output before the fault, if the guest caused the fault.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Printed { said, .. } => Some(said.as_str()).filter(|said| !said.is_empty()),
            Self::Lost { fault, .. } => fault.said(),
            _ => None,
        }
    }

    /// Describes the last error of an imported function before the fault, if the guest ended itself. It may contain
    /// argument values.
    pub fn failed(&self) -> Option<&str> {
        match self {
            Self::Printed { failed, .. } => failed.as_deref(),
            Self::Lost { fault, .. } => fault.failed(),
            _ => None,
        }
    }

    /// Returns the explanation of an ending that a language leaves unexplained.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Printed { hint, .. } => hint.as_deref(),
            Self::Lost { fault, .. } => fault.hint(),
            _ => None,
        }
    }

    /// Returns `true` if the guest ended itself. Its output then says why.
    pub fn is_guests_own(&self) -> bool {
        match self {
            Self::Exited(_) | Self::Trap(_) => true,
            Self::Printed { fault, .. } | Self::Lost { fault, .. } => fault.is_guests_own(),
            _ => false,
        }
    }

    /// Returns `true` if the guest did not start.
    pub fn is_before_start(&self) -> bool {
        matches!(
            self,
            Self::Uncompiled(_)
                | Self::Crowded(_)
                | Self::Busy(_)
                | Self::Secret(_)
                | Self::Unusable(_)
                | Self::Unread(_)
        )
    }

    /// Adds the number of handles that are lost with the instance.
    pub(super) fn with(self, handles: usize) -> Self {
        if handles == 0 { self } else { Self::Lost { fault: Box::new(self), handles } }
    }

    /// Returns `true` if resources of earlier calls were lost.
    pub fn loses_resources(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Adds the guest's output, the last error that it got, and the explanation of a trap, if the guest caused the
    /// fault. `unset` is a note on variables that the output mentions, and `error` that of the run.
    pub(super) fn after(
        self,
        said: String,
        failed: Option<String>,
        unset: Option<String>,
        error: &wasmtime::Error,
    ) -> Self {
        let is_guests = self.is_guests_own()
            || matches!(self, Self::Deadline(_) | Self::Waited(_) | Self::Memory(_) | Self::Stack);
        let failed = failed.filter(|_| self.is_guests_own());
        let hint = if matches!(self, Self::Trap(_)) { super::hints::of_trap(error, &said) } else { None };
        let hints: Vec<_> = hint.into_iter().chain(unset).collect();
        let hint = (!hints.is_empty()).then(|| hints.join("\n"));
        let tells = !said.is_empty() || failed.is_some() || hint.is_some();
        if is_guests && tells { Self::Printed { fault: Box::new(self), said, failed, hint } } else { self }
    }

    /// Converts the error of a failed run.
    pub(super) fn from_run(error: &wasmtime::Error, limits: &Limits, memory_refused: bool) -> Self {
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                Stop::Cancelled(reason) => Self::Cancelled(*reason),
                Stop::Deadline => Self::Deadline(limits.cpu),
                Stop::Waited => Self::Waited(limits.waiting),
            };
        }
        if let Some(refused) = error.downcast_ref::<WebError>() {
            return Self::Unusable(refused.to_string());
        }
        if error.is::<Later>() {
            return Self::Later;
        }
        if let Some(Lacks(lacking)) = error.downcast_ref::<Lacks>() {
            return Self::Lacks(*lacking);
        }
        if let Some(exit) = error.downcast_ref::<Exit>() {
            return Self::Exited(*exit);
        }
        if let Some(database) = error.downcast_ref::<StoreError>() {
            return Self::Database(database.clone());
        }
        if let Some(unread) = error.downcast_ref::<SkillsUnread>() {
            return Self::Skills(unread.clone());
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => Self::Stack,
            _ if memory_refused => Self::Memory(limits.memory_bytes),
            Some(trap @ Trap::WaitableSyncAndAsync) => Self::Trap(format!(
                "{trap}: versions of wit-bindgen from before WASI 0.3.0 do that; build it with a newer one"
            )),
            Some(trap) => Self::Trap(trap.to_string()),
            None => match error.root_cause().to_string() {
                // wasmtime has no public type for this error.
                cause if cause.starts_with(TOO_MUCH) => Self::Transfer,
                cause => Self::Trap(cause),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trap_of_an_older_wit_bindgen_says_what_helps() {
        let told = |trap: Trap| Fault::from_run(&trap.into(), &Limits::default(), false).to_string();
        let older = told(Trap::WaitableSyncAndAsync);
        assert!(
            older.contains("waitable cannot be used synchronously") && older.contains("wit-bindgen"),
            "{older}"
        );
        assert!(!told(Trap::UnreachableCodeReached).contains("wit-bindgen"));
    }
}
