//! Why a call has no result. It stays a type until it is written for who called.

use scorpiox_audit::{NOT_RECORDED, Outcome};
use scorpiox_mcp::{Revision, RpcError};
use scorpiox_operator::OperatorError;
use scorpiox_runtime::Fault;
use scorpiox_tools::Failure;

/// Of what the policy refuses.
pub const NO_POLICY: &str = "policy";
/// Of a plugin that waits for approval, was denied, or is not what was approved any more.
pub const NOT_APPROVED: &str = "not-approved";

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The tool says so.
    #[error("{0}")]
    Tool(Failure),
    /// The tool's component broke, or was stopped.
    #[error(
        "{tool} has no result: {fault}. {}{}",
        if *.has_effects || .fault.loses_resources() { "What it stored was not kept." } else { "Nothing was changed." },
        fault.said().map_or_else(String::new, |said| format!("\nBefore that it printed:\n{said}"))
    )]
    Fault {
        /// The tool, as the client knows it.
        tool: String,
        /// What happened.
        fault: Fault,
        /// The component may have changed something beside what it stored.
        has_effects: bool,
    },
    /// The tool may change things, and must not while a plan is made.
    #[error("Whether a plan is active is not known: {0}")]
    PlanUnknown(Fault),
    /// The operator's policy allows no calls here, or cannot be used.
    #[error("{0}")]
    Policy(String),
    /// The operator wants no call without a line in the audit.
    #[error(
        "The call {what}: the operator's policy requires a line in the audit for each call, and {error}."
    )]
    Unrecorded {
        /// What became of the call.
        what: &'static str,
        /// Why there is no line.
        error: String,
    },
}

impl CallError {
    /// How the audit calls it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Tool(_) => Outcome::Error,
            Self::Policy(_) => Outcome::Refused(NO_POLICY),
            Self::Unrecorded { .. } => Outcome::Refused(NOT_RECORDED),
            Self::Fault { fault, .. } | Self::PlanUnknown(fault) => match fault.kind() {
                "cancelled" => Outcome::Cancelled,
                "busy" => Outcome::Refused("busy"),
                kind => Outcome::Fault(kind),
            },
        }
    }

    /// Whether the call was refused before it began.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Policy(_) | Self::Unrecorded { .. })
    }

    /// The error of the protocol for a client that cannot do what the call needs, in revisions that have one.
    pub fn lacking(&self, revision: Revision) -> Option<RpcError> {
        match self {
            Self::Fault { fault: Fault::Lacks(lacking), .. } if !revision.features().handshake => {
                Some(RpcError::missing_capability(lacking.names()))
            }
            _ => None,
        }
    }

    /// What kind of error it is, for those who write tools.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tool(failure) => match failure {
                Failure::InvalidInput(_) => "invalid input",
                Failure::NotFound(_) => "not found",
                Failure::Denied(_) => "denied",
                Failure::TimedOut(_) => "timed out",
                Failure::Failed(_) => "failed",
                Failure::Cancelled => "cancelled",
            },
            Self::Fault { .. } | Self::PlanUnknown(_) => "fault",
            Self::Policy(_) | Self::Unrecorded { .. } => "refused",
        }
    }
}

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<&OperatorError> for CallError {
    fn from(error: &OperatorError) -> Self {
        Self::Policy(error.to_string())
    }
}
