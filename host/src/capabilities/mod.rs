//! What a guest may be given, one file or folder each: the state it needs, the
//! generated trait's implementation, and nothing else.
//!
//! Invariant: a component gets the capabilities its registration lists and no others.
//! They are put into its linker one by one; a component that imports more than it was
//! granted cannot be instantiated.

pub mod clock;
pub mod log;
pub mod shell;
pub mod skills;
pub mod store;
pub mod timer;

use wasmtime::component::{HasSelf, Linker};

use crate::bindings::capabilities::scorpiox::tool;
use crate::runtime::CallState;

/// A right that a component is given by being linked with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// Its own data in the workspace's database.
    Store,
    /// The time of day.
    Clock,
    /// Lines in the operator's log.
    Log,
    /// Commands, under the profile that the policy grants.
    Shell,
    /// The skill folders' files, to read.
    Skills,
    /// Timers, and messages that reach the client later.
    Timer,
}

impl Capability {
    /// Its name, which is its WIT interface's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Clock => "clock",
            Self::Log => "log",
            Self::Shell => "shell",
            Self::Skills => "skills",
            Self::Timer => "timer",
        }
    }

    /// What it allows, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Store => "keep its own data for this workspace",
            Self::Clock => "read the time of day",
            Self::Log => "write to the log on standard error",
            Self::Shell => "run commands, as far as the policy grants it",
            Self::Skills => "read the files of skill folders",
            Self::Timer => "set timers and send their messages",
        }
    }

    pub(crate) fn link(self, linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
        type Own = HasSelf<CallState>;
        match self {
            Self::Store => tool::store::add_to_linker::<_, Own>(linker, |state| state),
            Self::Clock => tool::clock::add_to_linker::<_, Own>(linker, |state| state),
            Self::Log => tool::log::add_to_linker::<_, Own>(linker, |state| state),
            Self::Shell => tool::shell::add_to_linker::<_, Own>(linker, |state| state),
            Self::Skills => tool::skills::add_to_linker::<_, Own>(linker, |state| state),
            Self::Timer => tool::timer::add_to_linker::<_, Own>(linker, |state| state),
        }
    }
}
