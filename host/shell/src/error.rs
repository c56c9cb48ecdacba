//! Errors that keep a command from running.

use std::sync::Arc;

use scorpiox_audit::BUILT_IN;
use scorpiox_policy::{Policy, Source};
use scorpiox_sandbox::{CellError, Tier};
use scorpiox_workspace_config::OperatorError;

use super::survey::SurveyError;

/// Reason that a command does not run, or that the Bash tool has no result.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The policy refuses the command or cannot be used.
    #[error(transparent)]
    Operator(#[from] Arc<OperatorError>),
    /// The policy grants the component no commands.
    #[error(
        "the policy grants {0} no commands; to allow them, add to the user's own policy.toml, and to the one \
         for all users where that has a [grant] of it: [grant.\"{0}\"] shell = {{ profile = \"readonly\" }}"
    )]
    NotGranted(String),
    /// No sandbox tier that the policy allows can be built on this machine.
    #[error("{0}")]
    NoTier(NoTier),
    /// A sandbox tier that worked before cannot be built now, and a lower tier is no substitute.
    #[error("the command was not run: sandbox {tier}, which worked before, cannot be built now: {why}")]
    WorkedBefore {
        /// Tier that failed.
        tier: Tier,
        /// Reason for the failure.
        why: String,
    },
    /// A sandbox tier cannot be built for lack of descriptors, memory or processes. A lower tier, which may need
    /// fewer, is no substitute.
    #[error(
        "the command was not run: sandbox {tier} cannot be built now, and no lower one takes its place: {why}"
    )]
    Lack {
        /// Tier that failed.
        tier: Tier,
        /// Reason for the failure.
        why: String,
    },
    /// No sandbox is available, but the profile makes a promise that only a sandbox can enforce.
    #[error(
        "the command was not run: profile {0} lets commands change nothing, as an active plan does, and without a \
         sandbox nothing holds them to that"
    )]
    NothingHolds(String),
    /// The sandbox was built but failed its probe.
    #[error(
        "Commands are refused: the sandbox did not hold when it was tried: a command could {0}. Please report this with \
         what `scorpiox-code doctor` prints."
    )]
    DidNotHold(String),
    /// The sandbox was built, but the probe command ended early.
    #[error(
        "Commands are refused: the sandbox could not be tried, since the command that tries it ended early: {0}"
    )]
    NotTried(String),
    /// The policy asks for something that cannot be enforced.
    #[error("{0}")]
    Unenforceable(String),
    /// A policy line that no sandbox can enforce. The message places text before and after the line.
    #[error("{before} ({rule}){after}")]
    Rule {
        /// Text before the line.
        before: String,
        /// Source of the policy line.
        rule: Source,
        /// Text after the line.
        after: String,
    },
    /// The command itself is invalid.
    #[error("{0}")]
    Command(String),
    /// The workspace folder does not exist.
    #[error("the workspace {} no longer exists; create it again, or start the server in another folder", .0.display())]
    NoWorkspace(std::path::PathBuf),
    /// The workspace cannot be searched.
    #[error("the command was not run: {0}")]
    Survey(#[from] SurveyError),
    /// The set of files that the user's git obeys in every repository cannot be determined.
    #[error(
        "the user's own git configuration cannot be read whole, or names a user who is not known, or leads to more than \
         1,000 files in each repository: so nobody knows which files git obeys there. `git config --list \
         --show-origin` shows its files"
    )]
    Led,
    /// A required file or folder cannot be created or read.
    #[error("{what}: {error}{advice}", advice = advice(error))]
    Io {
        /// Operation that failed.
        what: String,
        /// Error returned by the system.
        error: std::io::Error,
    },
    /// The sandbox failed.
    #[error("{before}{0}", before = not_run(.0))]
    Cell(#[from] CellError),
    /// Too many background tasks are running.
    #[error(
        "{0} background tasks are running, which is the limit of the policy \
             (max_background_tasks)"
    )]
    TooManyTasks(usize),
    /// The task does not exist.
    #[error("{0}")]
    NoTask(String),
    /// The task does not exist, and there are no other tasks.
    #[error("there is no task {0}; there are no tasks")]
    NoTasks(u32),
}

/// Attempts to build a sandbox.
#[derive(Debug, Clone)]
pub struct NoTier {
    /// Minimum tier that the policy accepts.
    pub min_tier: Tier,
    /// Each attempted tier with the reason for its failure.
    pub tried: Vec<(Tier, String)>,
}

impl std::fmt::Display for NoTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { min_tier, tried } = self;
        write!(f, "Commands are refused: no sandbox of tier {min_tier} or better can be built here.")?;
        for (tier, why) in tried {
            write!(f, "\n  {tier}: {why}")?;
        }
        f.write_str(
            "\n`scorpiox-code doctor` explains what is missing. Only the operator can allow commands \
             without a sandbox (`allow_unsandboxed` in [shell] of policy.toml).",
        )
    }
}

/// Returns advice for an error that has nothing to do with the file or folder.
fn advice(error: &std::io::Error) -> &'static str {
    if !scorpiox_sys::is_out_of_descriptors(error) {
        return "";
    }
    ". Repeat it when fewer commands run, or raise the limit of open files with `ulimit -n` where the server is started"
}

/// Returns the message prefix for a command that never started.
fn not_run(error: &CellError) -> &'static str {
    if matches!(error, CellError::Gone) { "" } else { "the command was not run: " }
}

impl ShellError {
    /// Returns `true` if a retry might succeed, since the workspace changed or the helper died.
    pub(super) fn is_worth_repeating(&self) -> bool {
        matches!(self, Self::Cell(error) if error.is_worth_repeating())
    }

    /// Returns the source of the policy rule that refuses the command.
    pub fn rule(&self, policy: Option<&Policy>) -> String {
        let source = |of: fn(&Policy) -> String| policy.map_or_else(|| BUILT_IN.to_owned(), of);
        match self {
            Self::Operator(error) => error.rule().unwrap_or_else(|| BUILT_IN.to_owned()),
            Self::Rule { rule, .. } => rule.to_string(),
            Self::NoTier(_) => source(|policy| policy.shell.min_tier.source.to_string()),
            Self::TooManyTasks(_) => source(|policy| policy.shell.max_background_tasks.source.to_string()),
            _ => BUILT_IN.to_owned(),
        }
    }

    /// Returns `true` if the policy or one of its limits refuses the command.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            Self::Operator(_)
                | Self::NotGranted(_)
                | Self::NoTier(_)
                | Self::DidNotHold(_)
                | Self::NotTried(_)
                | Self::Unenforceable(_)
                | Self::Rule { .. }
                | Self::TooManyTasks(_)
        )
    }

    /// Returns `true` if the error says nothing about the tier: the same attempt may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Cell(_) | Self::Io { .. } | Self::NotTried(_))
    }

    /// Returns `true` if the process or the system had no descriptors, memory or processes left.
    pub(super) fn is_lack(&self) -> bool {
        match self {
            Self::Cell(CellError::Fault(fault)) => fault.is_lack,
            Self::Io { error, .. } => error.raw_os_error().is_some_and(scorpiox_sys::is_lack),
            _ => false,
        }
    }

    /// Returns `true` if the cell is dead and must be replaced.
    pub(super) fn is_dead_cell(&self) -> bool {
        matches!(self, Self::Cell(CellError::Helper(_) | CellError::Gone))
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}
