//! What the principal of a session may call.

use std::sync::Arc;

use scorpiox_access::AccessDenial;
use scorpiox_audit::Uses;
use scorpiox_records::NO_POLICY;
use scorpiox_tools::Tool;

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

    /// Whether there are rules that may keep its principal from a tool.
    pub fn has_access_rules(&self) -> bool {
        let policy = self.workspace.operator().policy();
        self.principal.is_some() && policy.is_ok_and(|policy| !policy.access.is_empty())
    }

    /// Refuses a call before it is read, where its principal may not make it, and records that.
    pub fn refuse_by_access(&self, tool: &str) -> Option<AccessDenial> {
        // A plugin's may be called without its plugin's name.
        let found = self.workspace.plugins.get(tool);
        let tool = found.as_ref().map_or(tool, |found| &*found.name);
        let denial = self.denial(tool).filter(|_| self.workspace.knows(tool))?;
        let uses = Uses::default();
        uses.denied("access", tool, &denial.why, denial.decided_by);
        self.workspace.records.refuse(self.names.known(), tool, None, NO_POLICY, &uses);
        Some(denial)
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
