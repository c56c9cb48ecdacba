//! What the principal of a session may call.

use std::sync::Arc;

use scorpiox_access::AccessDenial;
use scorpiox_tools::Tool;
use scorpiox_usage::{Admitted, Exceeded};

use super::Session;

impl Session {
    /// What tells the principal from others, where there is one: what it made is found with that alone.
    pub(crate) fn principal_key(&self) -> Option<&str> {
        self.names.principal_key()
    }

    /// Why its principal may not call a tool; none where it may, or where the client belongs to who runs this server. A
    /// policy that cannot be used refuses each call by itself.
    pub fn denial(&self, tool: &str) -> Option<AccessDenial> {
        let principal = self.principal.as_deref()?;
        let policy = self.workspace.operator().policy().ok().filter(|policy| !policy.access.is_empty())?;
        let original = self.workspace.plugins.authors_name(tool);
        policy.access.check(principal, tool, original.as_deref()).err()
    }

    /// Counts a call of its principal that is about to begin, where limits leave room for it.
    pub(crate) fn admit(&self, tool: &str) -> Result<Admitted, Exceeded> {
        let meter = self.workspace.meter().filter(|meter| meter.has_limits());
        let (Some(meter), Some(principal)) = (meter, &self.principal) else { return Ok(Admitted::default()) };
        let original = self.workspace.plugins.authors_name(tool);
        meter.admit(principal, tool, original.as_deref())
    }

    /// Whether a tool is there for its client: switched on, and open to its principal.
    pub(crate) fn is_open(&self, tool: &Tool) -> bool {
        self.workspace.is_on(tool) && self.denial(&tool.name).is_none()
    }

    /// The tool of that name, if it is there for its client.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.workspace.tool(name).filter(|tool| self.denial(&tool.name).is_none())
    }
}
