//! Reasons why a call has no result, typed until they are formatted for the caller.

use scorpiox_audit::{NOT_RECORDED, Outcome};
use scorpiox_mcp::{Revision, RpcError};
use scorpiox_runtime::Fault;
use scorpiox_tools::Failure;
use scorpiox_workspace_config::OperatorError;

/// Refusal by the policy.
pub const NO_POLICY: &str = "policy";
/// Refusal of a plugin that is not approved, was denied, or differs from the approved one.
pub const NOT_APPROVED: &str = "not-approved";

/// Reason why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The tool returned an error.
    #[error("{0}")]
    Tool(Failure),
    /// The component of the tool trapped or was stopped.
    #[error(
        "{tool} has no result: {fault}. {}{}{}",
        if *.has_effects || .fault.loses_resources() { "What it stored was not kept." } else { "Nothing was changed." },
        fault.failed().map_or_else(String::new, |failed| format!(
            "\nThe last error that it got from an imported function: {failed}. A component ends like this if nothing \
             in it catches such an error."
        )),
        fault.said().map_or_else(String::new, |said| format!("\nBefore that it printed:\n{said}"))
    )]
    Fault {
        /// Name of the tool as the client knows it.
        tool: String,
        /// Cause.
        fault: Fault,
        /// `true` if the component may have changed something other than its stored data.
        has_effects: bool,
    },
    /// The tool may make changes, which are not permitted while a plan is active.
    #[error("Whether a plan is active is not known: {0}")]
    PlanUnknown(Fault),
    /// The policy permits no calls in this workspace, or is unusable.
    #[error("{0}")]
    Policy(String),
    /// The policy requires an audit line for each call, and the line could not be written.
    #[error(
        "The call {what}: the operator's policy requires a line in the audit for each call, and {error}."
    )]
    Unrecorded {
        /// Fate of the call, as a phrase such as "was not run".
        what: &'static str,
        /// Reason why there is no line.
        error: String,
    },
}

impl CallError {
    /// Returns the outcome to record in the audit log.
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

    /// Returns `true` if the call was refused before it started.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Policy(_) | Self::Unrecorded { .. })
    }

    /// Returns the protocol error for a client that lacks a capability the call needs, if the protocol
    /// revision defines one.
    pub fn lacking(&self, revision: Revision) -> Option<RpcError> {
        match self {
            Self::Fault { fault: Fault::Lacks(lacking), .. } if !revision.features().handshake => {
                Some(RpcError::missing_capability(lacking.names()))
            }
            _ => None,
        }
    }

    /// Returns the kind of error for tool authors.
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
