//! Calls that do not run, and their audit lines.

use scorpiox_audit::Uses;
use scorpiox_mcp::RpcError;
use scorpiox_metering::records::{NO_POLICY, Recording};
use scorpiox_metering::usage::Exceeded;
use scorpiox_policy::access::AccessDenial;
use scorpiox_tools::Tool;

use super::absence::{Absence, unknown_tool};
use crate::scope::Scope;

/// Audit reason of a call that cannot be parsed.
pub(crate) const INVALID: &str = "bad-request";

/// Reason why a call does not run, with everything that its audit line and its answer need.
pub(super) enum Refusal<'a> {
    /// The request cannot be parsed.
    Invalid { name: String, arguments: Option<&'a str>, error: RpcError },
    /// A limit of the principal is exceeded.
    OverLimit { recording: Box<Recording<'a>>, name: &'a str, exceeded: Exceeded },
    /// The tool is unknown or not available to this client.
    Absent { recording: Box<Recording<'a>>, name: &'a str, absence: Absence },
    /// The access rules close the tool to the principal.
    Denied { recording: Box<Recording<'a>>, tool: &'a Tool, denial: AccessDenial },
}

impl<'a> Refusal<'a> {
    /// Creates the refusal of a request that cannot be parsed.
    pub(super) fn invalid(name: &str, arguments: Option<&'a str>, error: RpcError) -> Self {
        Self::Invalid { name: name.to_owned(), arguments, error }
    }

    /// Records the call, and returns its answer. If this server serves no calls, the answer says that instead.
    pub(super) fn record(self, scope: &Scope<'_>) -> RpcError {
        match self {
            Self::Invalid { name, arguments, error } => {
                scope.session.refuse_call(Some(scope.request), &name, arguments, INVALID, &scope.uses);
                error
            }
            Self::OverLimit { recording, name, exceeded } => exceeded.answer(*recording, name, scope.reply),
            Self::Absent { recording, name, absence } => {
                match absence.record(*recording, name, Some(scope.reply)) {
                    Ok(()) => unknown_tool(scope, name, absence),
                    Err(unserved) => unserved.into(),
                }
            }
            Self::Denied { recording, tool, denial } => {
                let note = |uses: &Uses| uses.denied("access", &tool.name, &denial.why, denial.decided_by);
                if let Err(unserved) = recording.refuse(NO_POLICY, Some(scope.reply), note) {
                    return unserved.into();
                }
                scope.reply.denies(denial.clone());
                RpcError::invalid_params(denial.why)
            }
        }
    }
}
