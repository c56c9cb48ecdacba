//! Why nothing is allowed, or a profile is not there.

use std::path::PathBuf;

use scorpiox_policy::{Problem, Refusal};

/// Why the policy allows nothing, or has nothing of a name.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The policy cannot be used.
    #[error("All tools are refused until the policy is corrected: {0}")]
    Policy(Problem),
    /// The policy does not allow to work on this folder.
    #[error("All tools are refused: {0}")]
    NotAWorkspace(Refusal),
    /// The policy was changed after it was read.
    #[error(
        "All tools are refused: the policy was changed after this server read it; start the server again, so that the new \
         one holds (most clients have a command that reconnects; a server over HTTP is started again by whoever runs it)"
    )]
    Outdated,
    /// A profile that the policy does not have.
    #[error("there is no shell profile {name:?}; known profiles: {}", .known.join(", "))]
    NoProfile {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The person's own policy lies where commands can write.
    #[error("{0}")]
    Misplaced(String),
    /// It cannot be told where the person's own policy lies.
    #[error("finding {}: {error}", .path.display())]
    Lost {
        /// What was looked for.
        path: PathBuf,
        /// The system's answer.
        error: std::io::Error,
    },
}

impl OperatorError {
    /// Where the rule stands that refuses; none where it is this program's own.
    pub fn rule(&self) -> Option<String> {
        match self {
            Self::Policy(problem) => Some(problem.place()),
            Self::NotAWorkspace(refusal) => Some(refusal.decided_by.to_string()),
            _ => None,
        }
    }
}
