//! Conditions on the programs of a command.

use std::fmt;

use scorpiox_programs::{Found, Match, ProgramPattern};
use serde_json::Value;

use super::Then;

/// Tools with a command, and the argument that has it.
pub(crate) const TOOLS: [&str; 2] = ["Bash", "BackgroundBash"];
const COMMAND: &str = "command";

/// Treatment of a command whose programs cannot be known before it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unknown {
    /// A person is asked.
    #[default]
    Ask,
    /// The call is refused.
    Deny,
    /// The rule does not cover the call.
    Allow,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Allow => "allow",
        })
    }
}

/// Condition on the programs that a command starts. Without patterns, there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Patterns, one of which has to match.
    pub patterns: Vec<ProgramPattern>,
    /// Treatment of unknown programs.
    pub unknown: Unknown,
}

impl Programs {
    /// Returns `true` if there is no condition.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns `true` if a person may be asked about unknown programs.
    pub(crate) fn may_ask(&self) -> bool {
        !self.is_empty() && self.unknown == Unknown::Ask
    }

    /// Returns the outcome of a rule for the programs of a command, with the reason if they are unknown. `None` if the
    /// rule does not cover them. A command that is not there is covered; the tool refuses it anyway.
    pub(super) fn outcome(&self, then: Then, command: Option<&Found>) -> Option<(Then, Option<String>)> {
        let Some(found) = command.filter(|_| !self.is_empty()) else { return Some((then, None)) };
        match self.patterns.iter().map(|pattern| pattern.judge(found)).max()? {
            Match::Yes => Some((then, None)),
            Match::No => None,
            Match::Unknown => {
                let why =
                    found.unknown.clone().unwrap_or_else(|| "an argument that is not written out".to_owned());
                let then = match self.unknown {
                    Unknown::Ask => Then::Ask,
                    Unknown::Deny => Then::Deny,
                    Unknown::Allow => return None,
                };
                Some((then, Some(why)))
            }
        }
    }
}

/// Returns `true` for a tool that runs commands.
pub(crate) fn has_command(tool: &str) -> bool {
    TOOLS.contains(&tool)
}

/// Returns the programs of a call's command.
pub(super) fn of_command(arguments: Option<&Value>) -> Option<Found> {
    Some(Found::in_text(arguments?.get(COMMAND)?.as_str()?))
}
