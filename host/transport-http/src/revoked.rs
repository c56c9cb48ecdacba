//! Serves nothing while the policy may have revoked access. The server knows only the tokens that it read when it
//! started, so a token that was removed since would still be accepted.

use std::net::IpAddr;
use std::sync::Arc;

use scorpiox_metering::records::{Act, Refused, Unserved};
use scorpiox_server::Workspace;
use scorpiox_workspace_config::{OperatorError, Outdated};

use crate::bounds::WaitsFor;
use crate::endpoint::Endpoint;
use crate::served::{Caller, Served};
use crate::visits::{self, Seen};

/// Beginning of the headers of sections that decide who is let in.
const AUTH: &str = "[http.auth";
/// Answer to all requests. It names no sections, because they contain the names of other principals.
pub(crate) const WHY: &str =
    "nothing is served here until the operator starts this server again or corrects its policy";

impl Served {
    /// Returns the reason why nobody is let into the workspace under the policy in force. Calls are refused for
    /// more reasons, with answers of their own.
    pub(crate) fn closed(&self, in_force: &Workspace) -> Option<Arc<OperatorError>> {
        match in_force.records().policy_admission() {
            Err(Unserved::Policy(error)) if may_revoke(&error, &self.name) => Some(error),
            _ => None,
        }
    }
}

/// Returns `true` if the policy may have revoked somebody's access to a workspace.
fn may_revoke(error: &OperatorError, workspace: &str) -> bool {
    let decides = |header: &String| {
        let name = header.strip_prefix("[workspace.").and_then(|name| name.strip_suffix(']'));
        header.starts_with(AUTH) || name.is_some_and(|name| name.trim_matches('"') == workspace)
    };
    match error {
        OperatorError::Outdated(Outdated::NeedsStart(sections)) => sections.iter().any(decides),
        // The new policy is unknown.
        OperatorError::Outdated(Outdated::Unsettled | Outdated::Unread(_))
        | OperatorError::Policy(_)
        | OperatorError::Misplaced(_)
        | OperatorError::Lost { .. } => true,
        OperatorError::NotAWorkspace(_)
        | OperatorError::Repository(_)
        | OperatorError::NoProfile { .. }
        | OperatorError::Skills(_)
        | OperatorError::ReadsUnknown(_) => false,
    }
}

impl Endpoint {
    /// Looks for a change of the policy, and returns `true` if nothing is served because of it. Records the refused
    /// request.
    pub(crate) async fn is_closed_to(&self, caller: &Caller, from: IpAddr, path: &str) -> bool {
        let workspace = &caller.served.workspace;
        let mut in_force = workspace.current();
        if !in_force.operator().is_current() {
            // Waits until the files are complete.
            let workspace = Arc::clone(workspace);
            let read = move |_: &_| workspace.in_force();
            in_force = match self.blocking.run(WaitsFor::Disk, &caller.principal.key(), read).await {
                Ok(in_force) => in_force,
                Err(error) => {
                    tracing::warn!("a changed policy cannot be read: {error}");
                    return true;
                }
            };
        }
        let Some(error) = caller.served.closed(&in_force) else { return false };
        let why = error.cause();
        tracing::info!("{} of {from} is refused: {why}", caller.principal.name);
        let refused = Refused { kind: visits::POLICY, why: &why };
        self.refused(Seen { act: Act::Request, from, path }, Some(&caller.principal), refused, None);
        true
    }

    /// Ends the open streams of all workspaces as soon as their policies may have revoked access.
    pub(crate) fn end_streams_on_revocation(self: &Arc<Self>) {
        for served in self.served.each() {
            let (endpoint, of) = (Arc::downgrade(self), Arc::downgrade(served));
            served.workspace.on_refusing_all(move || {
                let (Some(endpoint), Some(served)) = (endpoint.upgrade(), of.upgrade()) else { return };
                if served.closed(&served.workspace.current()).is_some() {
                    endpoint.end_streams_of(&served);
                }
            });
        }
    }

    /// Ends the subscriptions and the notification streams of a workspace's clients. Sessions are dropped from
    /// memory, and restored from their IDs if they are let in again.
    fn end_streams_of(&self, served: &Arc<Served>) {
        self.end_subscriptions(|client| client.works_in(served));
        let clients = self.sessions.take(|client| client.works_in(served));
        for client in clients {
            client.notices.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn only_a_change_that_may_revoke_access_closes_a_workspace() {
        let needs_start = |sections: &[&str]| {
            let sections = sections.iter().map(|section| (*section).to_owned()).collect();
            OperatorError::Outdated(Outdated::NeedsStart(sections))
        };
        for (sections, closes) in [
            (&["[http.auth.tokens.\"bob\"]"][..], true),
            (&["[audit]", "[http.auth]"], true),
            (&["[http.auth.issuers.\"a b\"]"], true),
            (&["[workspace.\"web\"]"], true),
            (&["[workspace.\"docs\"]"], false),
            (
                &["[audit]", "[store]", "[limits.everybody]", "[http]", "[http.observe]", "[http.admin]"],
                false,
            ),
        ] {
            assert_eq!(may_revoke(&needs_start(sections), "web"), closes, "{sections:?}");
        }
        assert!(may_revoke(&OperatorError::Outdated(Outdated::Unsettled), "web"));
        assert!(may_revoke(
            &OperatorError::Lost { path: "policy.toml".into(), error: io::ErrorKind::NotFound.into() },
            "web"
        ));
    }
}
