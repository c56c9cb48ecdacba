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
    #[error("{}", fault_text(tool, fault, *.has_effects))]
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

/// Describes a fault: the output of a guest that ended itself comes first, because it names the cause.
fn fault_text(tool: &str, fault: &Fault, has_effects: bool) -> String {
    let ended = if fault.is_before_start() {
        format!("{fault}.")
    } else if has_effects {
        format!(
            "{fault}. Data that it stored is rolled back; other changes, such as files that it wrote, stay."
        )
    } else if fault.loses_resources() {
        format!("{fault}. Data that it stored is rolled back.")
    } else {
        format!("{fault}. Nothing was changed.")
    };
    let mut text = match fault.said().filter(|_| fault.is_guests_own()) {
        Some(said) => format!("{tool} failed. It printed:\n{said}\nThen it ended: {ended}"),
        None => format!("{tool} has no result: {ended}"),
    };
    if let Some(hint) = fault.hint() {
        text.push('\n');
        text.push_str(hint);
    }
    if let Some(failed) = fault.failed() {
        text.push_str("\nBefore that, ");
        text.push_str(failed);
        text.push_str(". If that is the cause, catch the error in the plugin.");
    }
    if let Some(said) = fault.said().filter(|_| !fault.is_guests_own()) {
        text.push_str("\nBefore that it printed:\n");
        text.push_str(said);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fault: Fault, has_effects: bool) -> String {
        CallError::Fault { tool: "px.bad".to_owned(), fault, has_effects }.to_string()
    }

    fn printed(fault: Fault, failed: Option<&str>, hint: Option<&str>) -> Fault {
        let [failed, hint] = [failed, hint].map(|text| text.map(str::to_owned));
        Fault::Printed { fault: Box::new(fault), said: "ValueError: boom".to_owned(), failed, hint }
    }

    #[test]
    fn the_output_of_a_guest_that_ended_itself_comes_first() {
        assert_eq!(
            told(
                printed(
                    Fault::Trap("unreachable".to_owned()),
                    Some("store.set had returned full"),
                    Some("It is so.")
                ),
                false
            ),
            "px.bad failed. It printed:\nValueError: boom\nThen it ended: the tool failed internally (unreachable). Nothing \
             was changed.\nIt is so.\nBefore that, store.set had returned full. If that is the cause, catch the error in \
             the plugin."
        );
        assert_eq!(
            told(printed(Fault::Stack, None, None), false),
            "px.bad has no result: the tool recursed too deeply and was stopped. Nothing was changed.\nBefore that it \
             printed:\nValueError: boom"
        );
    }

    #[test]
    fn only_a_call_that_ran_can_have_stored_something() {
        assert_eq!(
            told(Fault::Secret("KEY is not set".to_owned()), true),
            "px.bad has no result: KEY is not set."
        );
        let effects = told(Fault::Stack, true);
        assert!(
            effects.ends_with("rolled back; other changes, such as files that it wrote, stay."),
            "{effects}"
        );
    }
}
