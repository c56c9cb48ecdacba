//! The `scorpiox-env.txt` cascade.
//!
//! Reading order: [`parse`](mod@parse) cuts a file into assignments, `key` and `value` say what
//! may be assigned, `cascade` keeps who set what last, `load` reads the tiers in
//! their order, [`problem`] is what a person is told about all that was ignored.
//!
//! Tiers, later wins: built-in default, file beside the binary,
//! `~/.claude/scorpiox-env.txt`, `<workspace>/.claude/scorpiox-env.txt`,
//! `<workspace>/.scorpiox/scorpiox-env.txt`, named profile, process environment.
//!
//! Invariants:
//! - A file in the workspace only narrows: with it, no tool is served and no skill
//!   folder is read that would not be without it. This holds for profiles too: one
//!   that the workspace chooses or brings is read *after* the one that the user
//!   chose, never in its place.
//! - Loading never fails. What cannot be used is a [`Problem`], and the value of the
//!   earlier tier stays.
//!
//! What a setting means is left to whoever asks for it.

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

/// Folder of the profiles, beside the settings file.
pub const PROFILE_FOLDER: &str = "scorpiox-env";

/// Where the tiers are.
#[derive(Debug, Clone)]
pub struct Locations {
    /// The folder of the running binary.
    pub binary_dir: Option<PathBuf>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The folder of the project; files in it are not trusted to switch anything on.
    pub workspace: PathBuf,
    /// Folders that were worked on before: what lies there may be a command's, too.
    pub worked_on: Vec<PathBuf>,
}

/// All settings, and where each came from.
#[derive(Debug)]
pub struct Settings {
    values: Values,
    problems: Vec<Problem>,
}

/// One setting as `doctor` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key, such as `TOOL_WEBSEARCH`.
    pub key: String,
    /// The value in use; empty when there is none.
    pub value: String,
    /// Who set it last.
    pub origin: Origin,
}

impl Settings {
    /// Whether any tool is served (`TOOLS`).
    pub fn tools_enabled(&self) -> bool {
        self.values.tools.enabled()
    }

    /// Whether the tool `name` is served: `TOOLS` and `TOOL_<NAME>` are both on. A
    /// name that was not among the known tools has no switch of its own.
    pub fn tool_enabled(&self, name: &str) -> bool {
        self.tools_enabled() && self.values.tool(name).is_none_or(cascade::Switch::enabled)
    }

    /// Whether progress carries a tool's output (`STREAMING`).
    pub fn streaming(&self) -> bool {
        self.values.streaming.value
    }

    /// The model to ask the client for (`MODEL`), 1 to 200 characters.
    pub fn model(&self) -> &str {
        &self.values.model.value
    }

    /// Folders of skills besides the usual ones (`ADDITIONAL_SKILLS`), first wins.
    /// They need not exist.
    pub fn additional_skills(&self) -> &[PathBuf] {
        &self.values.skills.value
    }

    /// Whether results of built-in tools carry data beside their text, for programs (`STRUCTURED`).
    pub fn structured(&self) -> bool {
        self.values.structured.value
    }

    /// What names of tools begin with, for every client (`TOOL_PREFIX`).
    pub fn tool_prefix(&self) -> Option<&str> {
        self.values.tool_prefix.value.as_deref()
    }

    /// After which time a call without a progress token is answered, done or not
    /// (`ANSWER_WITHIN`); none for whenever it is done.
    pub fn answer_within(&self) -> Option<Duration> {
        self.values.answer_within.value
    }

    /// Every setting, also those that nobody changed, in a fixed order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.values.entries()
    }

    /// What was ignored, in the order of the tiers.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}
