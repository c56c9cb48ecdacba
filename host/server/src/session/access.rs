//! Access rules of a session's principal.

use std::sync::Arc;

use scorpiox_metering::usage::{Admitted, Exceeded};
use scorpiox_policy::access::AccessDenial;
use scorpiox_tools::Tool;

use super::Session;
use crate::Workspace;

/// Everything that the principal of a session may use under one policy.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(super) session: &'a Session,
    pub(crate) workspace: &'a Workspace,
}

impl Session {
    /// Returns the unique key of the principal, if there is one. Objects that a principal creates are found
    /// only with its key.
    pub(crate) fn principal_key(&self) -> Option<&str> {
        self.names.principal_key()
    }

    /// Returns the access of the principal under the policy of a workspace.
    pub(crate) fn access<'a>(&'a self, workspace: &'a Workspace) -> Access<'a> {
        Access { session: self, workspace }
    }
}

impl Access<'_> {
    /// Returns why the principal may not call a tool. Returns `None` if it may, or if the client belongs to
    /// the user who runs this server. A policy that cannot be used refuses each call by itself.
    pub(crate) fn denial(&self, tool: &str) -> Option<AccessDenial> {
        let principal = self.session.principal.as_deref()?;
        let policy = self.workspace.operator().policy().ok().filter(|policy| !policy.access.is_empty())?;
        let original = self.workspace.plugins.authors_name(tool);
        policy.access.check(principal, tool, original.as_deref()).err()
    }

    /// Admits and counts a call that is about to start, if the principal's limits allow it.
    pub(crate) fn admit(&self, tool: &str) -> Result<Admitted, Exceeded> {
        let meter = self.workspace.meter().filter(|meter| meter.has_limits());
        let (Some(meter), Some(principal)) = (meter, &self.session.principal) else {
            return Ok(Admitted::default());
        };
        let original = self.workspace.plugins.authors_name(tool);
        meter.admit(principal, tool, original.as_deref())
    }

    /// Returns `true` if a tool is available to the client: switched on, and open to its principal.
    pub(crate) fn is_open(&self, tool: &Tool) -> bool {
        self.workspace.is_on(tool) && self.denial(&tool.name).is_none()
    }

    /// Returns the tool of that name if it is available to the client.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.workspace.tool(name).filter(|tool| self.denial(&tool.name).is_none())
    }
}
