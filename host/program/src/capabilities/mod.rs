//! What a guest may be given, one file or folder each: the state it needs, the
//! generated trait's implementation, and nothing else.
//!
//! Invariant: a component gets the capabilities its registration lists and no others.
//! They are put into its linker one by one; a component that imports more than it was
//! granted cannot be instantiated.

pub mod approved;
pub mod ask;
mod bounds;
pub mod clock;
mod engines;
pub mod files;
mod helper;
pub mod log;
mod progress;
mod rules;
pub mod sampling;
mod scratch;
pub mod shell;
pub mod skills;
pub mod store;
pub mod timer;
pub mod wasi;
pub mod web;

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
    /// Questions to the person.
    Ask,
    /// How long results may be, and what the client calls tools.
    Bounds,
    /// Questions to the client's model.
    Sampling,
    /// What the operator set about search engines.
    Engines,
    /// Files of the workspace and of granted folders, to read.
    Files,
    /// Lines in the operator's log.
    Log,
    /// Telling how far a call is.
    Progress,
    /// Commands, under the profile that the policy grants.
    Shell,
    /// The skill folders' files, to read.
    Skills,
    /// Timers, and messages that reach the client later.
    Timer,
    /// Pages, as far as the policy allows.
    Web,
}

impl Capability {
    /// Its name, which is its WIT interface's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Clock => "clock",
            Self::Ask => "ask",
            Self::Bounds => "bounds",
            Self::Sampling => "sampling",
            Self::Engines => "search-engines",
            Self::Files => "files",
            Self::Log => "log",
            Self::Progress => "progress",
            Self::Shell => "shell",
            Self::Skills => "skills",
            Self::Timer => "timer",
            Self::Web => "web",
        }
    }

    /// What no component can do without a capability, and which gives it.
    pub const POWERS: [(&str, &[Self]); 3] = [
        ("open files", &[Self::Files, Self::Skills]),
        ("start programs", &[Self::Shell]),
        ("reach the network", &[Self::Web]),
    ];

    /// What it allows, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Store => "keep its own data for this workspace",
            Self::Clock => "read the time of day",
            Self::Ask => "ask the person questions",
            Self::Bounds => "know how long its results may be, and what the client calls tools",
            Self::Sampling => "ask the client's model, within a budget",
            Self::Engines => "know which search engines the operator set up, with their keys",
            Self::Files => "read files of the workspace and of folders that the policy names",
            Self::Log => "write to the log on standard error",
            Self::Progress => "tell how far it is",
            Self::Shell => "run commands, as far as the policy grants it",
            Self::Skills => "read the files of skill folders",
            Self::Timer => "set timers and send their messages",
            Self::Web => "fetch pages, as far as the policy allows",
        }
    }

    pub(crate) fn link(self, linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
        type Own = HasSelf<CallState>;
        match self {
            Self::Store => tool::store::add_to_linker::<_, Own>(linker, |state| state),
            Self::Clock => tool::clock::add_to_linker::<_, Own>(linker, |state| state),
            Self::Bounds => tool::bounds::add_to_linker::<_, Own>(linker, |state| state),
            Self::Ask => tool::ask::add_to_linker::<_, Own>(linker, |state| state),
            Self::Sampling => tool::sampling::add_to_linker::<_, Own>(linker, |state| state),
            Self::Engines => tool::search_engines::add_to_linker::<_, Own>(linker, |state| state),
            Self::Files => tool::files::add_to_linker::<_, Own>(linker, |state| state),
            Self::Progress => tool::progress::add_to_linker::<_, Own>(linker, |state| state),
            Self::Web => tool::web::add_to_linker::<_, Own>(linker, |state| state),
            Self::Log => tool::log::add_to_linker::<_, Own>(linker, |state| state),
            Self::Shell => tool::shell::add_to_linker::<_, Own>(linker, |state| state),
            Self::Skills => tool::skills::add_to_linker::<_, Own>(linker, |state| state),
            Self::Timer => tool::timer::add_to_linker::<_, Own>(linker, |state| state),
        }
    }
}
