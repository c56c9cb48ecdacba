//! Settings from the `scorpiox-env.txt` cascade.
//!
//! Reading order: [`parse`](mod@parse) splits a file into assignments. `key` and `value` define the keys and
//! their values. `cascade` stores each value with its origin, `load` reads the tiers in order, and
//! [`problem`] reports everything that was ignored.
//!
//! Tiers, from lowest to highest precedence: built-in default, file next to the binary,
//! `~/.claude/scorpiox-env.txt`, `<workspace>/.claude/scorpiox-env.txt`,
//! `<workspace>/.scorpiox/scorpiox-env.txt`, named profile, process environment.
//!
//! Invariants:
//! - A file in the workspace only narrows: it never causes a tool to be served or a skill folder to be read.
//!   This includes profiles: a profile that the workspace selects or contains is read *after* the user's
//!   profile, never instead of it.
//! - Loading never fails. An unusable setting becomes a [`Problem`], and the value of the earlier tier stays.
//!
//! The meaning of a setting is left to the caller.

mod cascade;
mod key;
mod load;
pub mod parse;
pub mod problem;
mod value;

use std::path::PathBuf;
use std::time::Duration;

pub use parse::{Assignment, BadLine, parse};
pub use problem::{Origin, Problem, ProblemKind};

use cascade::Values;

/// Name of the settings file in each tier's folder.
pub const FILE_NAME: &str = "scorpiox-env.txt";

/// Name of the profiles' folder, next to the settings file.
pub const PROFILE_FOLDER: &str = "scorpiox-env";

/// Locations of the tiers.
#[derive(Debug, Clone)]
pub struct Locations {
    /// Folder of the running binary.
    pub binary_dir: Option<PathBuf>,
    /// Home folder of the user.
    pub home: Option<PathBuf>,
    /// Folder of the project; its files are not trusted to enable anything.
    pub workspace: PathBuf,
    /// Workspaces of earlier sessions, whose files commands may have written.
    pub worked_on: Vec<PathBuf>,
}

/// All settings with their origins.
#[derive(Debug)]
pub struct Settings {
    values: Values,
    problems: Vec<Problem>,
}

/// A setting as shown by `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Key, such as `TOOL_WEBSEARCH`.
    pub key: String,
    /// Effective value; empty if there is none.
    pub value: String,
    /// Origin of the value.
    pub origin: Origin,
}

impl Settings {
    /// Returns `true` if tools are served at all (`TOOLS`).
    pub fn tools_enabled(&self) -> bool {
        self.values.tools.enabled()
    }

    /// Returns `true` if the tool `name` is served: both `TOOLS` and `TOOL_<NAME>` are on. A name outside the
    /// known tools has no switch and depends only on `TOOLS`.
    pub fn tool_enabled(&self, name: &str) -> bool {
        self.tools_enabled() && self.values.tool(name).is_none_or(cascade::Switch::enabled)
    }

    /// Returns `true` if progress notifications carry a tool's output (`STREAMING`).
    pub fn streaming(&self) -> bool {
        self.values.streaming.value
    }

    /// Returns the model to request from the client (`MODEL`), 1 to 200 characters.
    pub fn model(&self) -> &str {
        &self.values.model.value
    }

    /// Returns the additional skill folders (`ADDITIONAL_SKILLS`) in order of precedence. They need not
    /// exist.
    pub fn additional_skills(&self) -> &[PathBuf] {
        &self.values.skills.value
    }

    /// Returns `true` if results of built-in tools contain structured content in addition to text
    /// (`STRUCTURED`).
    pub fn structured(&self) -> bool {
        self.values.structured.value
    }

    /// Returns the prefix of tool names for every client (`TOOL_PREFIX`).
    pub fn tool_prefix(&self) -> Option<&str> {
        self.values.tool_prefix.value.as_deref()
    }

    /// Returns the time after which a call without a progress token is answered, finished or not
    /// (`ANSWER_WITHIN`). `None` waits until the call finishes.
    pub fn answer_within(&self) -> Option<Duration> {
        self.values.answer_within.value
    }

    /// Returns every setting in a fixed order, including unchanged ones.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.values.entries()
    }

    /// Returns the ignored settings and files, in tier order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}
