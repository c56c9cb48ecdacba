//! Why a command does not run.

use std::sync::Arc;

use scorpiox_audit::BUILT_IN;
use scorpiox_cell::{CellError, Tier};
use scorpiox_operator::OperatorError;
use scorpiox_policy::{Policy, Source};

use super::survey::SurveyError;

/// Why a command does not run, or its tool has nothing to say.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The policy refuses, or cannot be used.
    #[error(transparent)]
    Operator(#[from] Arc<OperatorError>),
    /// A component that the policy grants no commands.
    #[error(
        "the policy grants {0} no commands; to allow them, add to the user's own policy.toml, and to the one \
         for all users where that has a [grant] of it: [grant.\"{0}\"] shell = {{ profile = \"readonly\" }}"
    )]
    NotGranted(String),
    /// No sandbox that the policy allows can be built here.
    #[error("{0}")]
    NoTier(NoTier),
    /// There is no sandbox here, and the profile promises what only one can keep.
    #[error(
        "the command was not run: profile {0} lets commands change nothing, as an active plan does, and without a \
         sandbox nothing holds them to that"
    )]
    NothingHolds(String),
    /// A sandbox was built, and does not hold.
    #[error(
        "Commands are refused: the sandbox did not hold when it was tried: a command could {0}. Please report this with \
         what `scorpiox-code doctor` prints."
    )]
    DidNotHold(String),
    /// A sandbox was built, and the command that tries it did not come to its end.
    #[error(
        "Commands are refused: the sandbox could not be tried, since the command that tries it ended early: {0}"
    )]
    NotTried(String),
    /// The policy asks for something that cannot be enforced.
    #[error("{0}")]
    Unenforceable(String),
    /// A line of the policy that cannot hold, in whatever sandbox: what is said before the line is named, and after.
    #[error("{before} ({rule}){after}")]
    Rule {
        /// Before.
        before: String,
        /// The line.
        rule: Source,
        /// After.
        after: String,
    },
    /// The command itself cannot be run.
    #[error("{0}")]
    Command(String),
    /// The folder that commands run in is gone.
    #[error("the workspace {} no longer exists; create it again, or start the server in another folder", .0.display())]
    NoWorkspace(std::path::PathBuf),
    /// The workspace cannot be looked through.
    #[error("the command was not run: {0}")]
    Survey(#[from] SurveyError),
    /// Not all is known that the person's git obeys in each repository.
    #[error(
        "the user's own git configuration cannot be read whole, or names a user who is not known, or leads to more than \
         1,000 files in each repository: so nobody knows which files git obeys there. `git config --list \
         --show-origin` shows its files"
    )]
    Led,
    /// A file or folder that is needed cannot be made or read.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// The sandbox failed.
    #[error("{before}{0}", before = not_run(.0))]
    Cell(#[from] CellError),
    /// Too many background tasks run.
    #[error(
        "{0} background tasks are running, which is the limit of the policy \
             (max_background_tasks)"
    )]
    TooManyTasks(usize),
    /// There is no such task.
    #[error("{0}")]
    NoTask(String),
    /// There is no such task, nor another one.
    #[error("there is no task {0}; there are no tasks")]
    NoTasks(u32),
}

/// What was tried to confine commands.
#[derive(Debug, Clone)]
pub struct NoTier {
    /// The least that the policy accepts.
    pub min_tier: Tier,
    /// Each tier that was tried, and what stopped it.
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

/// What is said of a command that never began.
fn not_run(error: &CellError) -> &'static str {
    if matches!(error, CellError::Gone) { "" } else { "the command was not run: " }
}

impl ShellError {
    /// Whether the same might work now: the workspace changed, or the helper died.
    pub(super) fn is_worth_repeating(&self) -> bool {
        matches!(self, Self::Cell(error) if error.is_worth_repeating())
    }

    /// Where the rule stands that refuses, under this policy.
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

    /// Whether it is the policy, or a bound of it, that refuses.
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

    /// Whether the cell cannot be used any more.
    pub(super) fn is_dead_cell(&self) -> bool {
        matches!(self, Self::Cell(CellError::Helper(_) | CellError::Gone))
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}
