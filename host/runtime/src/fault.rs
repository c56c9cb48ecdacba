//! How a call can fail through no word of the tool's.

use std::time::Duration;

use scorpiox_executor::Reason;
use scorpiox_store::StoreError;
use scorpiox_web::WebError;
use wasmtime::Trap;

use super::limits::Limits;
use scorpiox_capabilities::ask::Later;
use scorpiox_capabilities::requests::{Abilities, Lacks};
use scorpiox_wasi::Exit;

/// Why a call has neither a result nor an error of the tool. What it stored was rolled
/// back.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Stopped because the client or the server's end asked for it.
    #[error("the call was cancelled")]
    Cancelled(Reason),
    /// The client had to be answered before the code of this plugin was compiled.
    #[error(
        "its code was not compiled in time, and it is compiled anew with each call; \
         `scorpiox-code plugin show {0}`, run by the user, compiles and keeps it"
    )]
    Uncompiled(String),
    /// The guest ran for longer than its budget.
    #[error("the tool used up its {} s of processor time and was stopped", .0.as_secs_f32())]
    Deadline(Duration),
    /// It waited for something outside for longer than it may.
    #[error("the tool waited for more than {} s in all and was stopped", .0.as_secs_f32())]
    Waited(Duration),
    /// The client is to ask the person, and to call again.
    #[error("the person is asked first")]
    Later,
    /// The client cannot do what the call needs.
    #[error("{}", Lacks(*.0))]
    Lacks(Abilities),
    /// The guest ended itself, where that is no result.
    #[error("the tool ended itself with {0}")]
    Exited(Exit),
    /// The guest wanted more memory than its budget.
    #[error("the tool used up its {} MiB of memory and was stopped", .0 / (1024 * 1024))]
    Memory(usize),
    /// The result is over its budget.
    #[error("the tool's result has {size} bytes; at most {limit} are allowed{}", .set_by.map(|name| format!(": {name} says so")).unwrap_or_default())]
    Output {
        /// The result's size.
        size: usize,
        /// What is allowed.
        limit: usize,
        /// What sets that, where it can be set.
        set_by: Option<&'static str>,
    },
    /// The guest recursed too deeply.
    #[error("the tool recursed too deeply and was stopped")]
    Stack,
    /// The guest ended itself: an internal error of the tool.
    #[error("the tool failed internally ({0})")]
    Trap(String),
    /// The guest was stopped or ended itself, and had printed something before.
    #[error("{fault}")]
    Printed {
        /// What happened.
        fault: Box<Fault>,
        /// The end of what it printed.
        said: String,
    },
    /// The instance ended with it that kept resources for later calls.
    #[error("{fault}; the instance that kept its resources ended with it, and {}", gone(*.handles))]
    Lost {
        /// What happened.
        fault: Box<Fault>,
        /// How many handles there were.
        handles: usize,
    },
    /// As many instances are kept as may be, and calls are using them.
    #[error(
        "{0} instances of plugins are kept and in use, which is the limit; try again when a call has ended"
    )]
    Crowded(u32),
    /// As many calls of the component run as may.
    #[error("{0} calls of this plugin are running, which is the limit; try again when one has ended")]
    Busy(u32),
    /// Something is missing that a person has to set.
    #[error("{0}")]
    Secret(String),
    /// The component cannot be run at all.
    #[error("the tool's component cannot be started: {0}")]
    Unusable(String),
    /// What a component keeps cannot be read.
    #[error("what it keeps cannot be read: {0}")]
    Unread(String),
    /// The state on disk cannot be used.
    #[error("the tool's data cannot be stored: {0}")]
    Database(#[from] StoreError),
}

fn gone(handles: usize) -> String {
    match handles {
        1 => "its handle is gone".to_owned(),
        more => format!("its {more} handles are gone"),
    }
}

/// Why the epoch callback stopped a guest.
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
    /// Whether it is only that the call was cancelled.
    pub fn is_cancel(&self) -> bool {
        match self {
            Self::Cancelled(_) | Self::Later | Self::Database(StoreError::Cancelled) => true,
            Self::Lost { fault, .. } => fault.is_cancel(),
            _ => false,
        }
    }

    /// What it is, in a word: unlike the text, never anything that a guest said.
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
            Self::Output { .. } => "output",
            Self::Stack => "stack",
            Self::Trap(_) => "trap",
            Self::Printed { fault, .. } | Self::Lost { fault, .. } => fault.kind(),
            Self::Busy(_) | Self::Crowded(_) => "busy",
            Self::Secret(_) => "secret",
            Self::Unusable(_) => "unusable",
            Self::Unread(_) | Self::Database(_) => "database",
        }
    }

    /// What the guest printed before, if it is the guest that ended.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Printed { said, .. } => Some(said),
            Self::Lost { fault, .. } => fault.said(),
            _ => None,
        }
    }

    /// The same, with the handles that there were.
    pub(super) fn with(self, handles: usize) -> Self {
        if handles == 0 { self } else { Self::Lost { fault: Box::new(self), handles } }
    }

    /// Whether resources were lost that earlier calls had made.
    pub fn loses_resources(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// The same, after the guest printed this.
    pub(super) fn after(self, said: String) -> Self {
        let is_guests = matches!(
            self,
            Self::Deadline(_)
                | Self::Waited(_)
                | Self::Exited(_)
                | Self::Memory(_)
                | Self::Stack
                | Self::Trap(_)
        );
        if is_guests && !said.is_empty() { Self::Printed { fault: Box::new(self), said } } else { self }
    }

    /// What a guest's failed run means.
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
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => Self::Stack,
            _ if memory_refused => Self::Memory(limits.memory_bytes),
            Some(trap) => Self::Trap(trap.to_string()),
            None => Self::Trap(error.root_cause().to_string()),
        }
    }
}
