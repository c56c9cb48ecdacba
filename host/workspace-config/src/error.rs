//! Reasons why all tools are refused, or a profile is missing.

use std::path::PathBuf;

use scorpiox_policy::{Problem, Refusal};

use crate::SkillsUnread;

/// Instructions for the user to restart the server of a client.
pub const START_AGAIN: &str =
    "in Claude Code, type /mcp, choose scorpiox and Reconnect; quit any other client, and open it again";

/// Reason why the policy refuses all tools or lacks a profile.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The policy cannot be used.
    #[error("All tools are refused until the policy is corrected: {0}")]
    Policy(Problem),
    /// The file of the workspace's repository cannot be used.
    #[error("All tools are refused in this workspace until its policy is corrected: {0}")]
    Repository(Problem),
    /// The policy does not allow this folder as a workspace.
    #[error("All tools are refused: {0}")]
    NotAWorkspace(Refusal),
    /// The policy's files changed after they were read, and the change cannot take effect yet.
    #[error("All tools are refused: {0}")]
    Outdated(Outdated),
    /// The policy has no such profile.
    #[error("there is no shell profile {name:?}; known profiles: {}", .known.join(", "))]
    NoProfile {
        /// Requested name.
        name: String,
        /// Names of the existing profiles.
        known: Vec<String>,
    },
    /// The skill folders, which commands may read, cannot be found at the moment.
    #[error("{0}; repeat the call")]
    Skills(SkillsUnread),
    /// The store does not tell which files were read before, and the policy has conditions on them.
    #[error("the policy has `after`, and nobody can tell which files were read before: {0}; repeat the call")]
    ReadsUnknown(String),
    /// The user's policy file is in a location that commands can write.
    #[error("{0}")]
    Misplaced(String),
    /// The location of the user's policy file cannot be determined.
    #[error("finding {}: {error}", .path.display())]
    Lost {
        /// Path of the policy file.
        path: PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
}

/// Reason why a changed policy does not take effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Outdated {
    /// Sections changed that are read when the server starts.
    #[error(
        "the policy was changed in {}, which is read when a server starts; start the server again, so that the new policy \
         holds ({START_AGAIN}; a server over HTTP is started again by the operator)", .0.join(", ")
    )]
    NeedsStart(Vec<String>),
    /// The files change again and again.
    #[error("the policy is being written and was not finished within 3 s; repeat the call when it is")]
    Unsettled,
    /// The files cannot be read at the moment.
    #[error("the policy was changed, and cannot be read at the moment: {0}; repeat the call")]
    Unread(String),
}

impl OperatorError {
    /// Returns the message without the consequence for tools.
    pub fn cause(&self) -> String {
        match self {
            Self::Policy(problem) | Self::Repository(problem) => problem.to_string(),
            Self::NotAWorkspace(refusal) => refusal.to_string(),
            Self::Outdated(outdated) => outdated.to_string(),
            Self::NoProfile { .. }
            | Self::Misplaced(_)
            | Self::Lost { .. }
            | Self::Skills(_)
            | Self::ReadsUnknown(_) => self.to_string(),
        }
    }

    /// Returns `true` if the policy could not be read for a reason that may pass by itself.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Policy(problem) | Self::Repository(problem) => problem.may_pass,
            Self::Lost { error, .. } => scorpiox_fs::shortage(error).is_some(),
            Self::Skills(_) | Self::ReadsUnknown(_) => true,
            Self::NotAWorkspace(_) | Self::Outdated(_) | Self::NoProfile { .. } | Self::Misplaced(_) => false,
        }
    }

    /// Returns the location of the refusing rule; `None` for a rule of this program.
    pub fn rule(&self) -> Option<String> {
        match self {
            Self::Policy(problem) | Self::Repository(problem) => Some(problem.place()),
            Self::NotAWorkspace(refusal) => Some(refusal.decided_by.to_string()),
            _ => None,
        }
    }
}
