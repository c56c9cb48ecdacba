//! Context of a handler: its request, the session, and the reply channel.

use std::borrow::Cow;
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;

use super::inflight::Ticket;
use super::progress::Progress;
use super::reply::Reply;
use super::request::Request;
use super::session::{Access, Session};
use super::workspace::Workspace;
use scorpiox_capabilities::setup::Setup;
use scorpiox_mcp::{RpcError, prefixed};
use scorpiox_policy::Circumstances;
use scorpiox_tools::Tool;

/// A handler's answer: a complete line, or an error.
pub(crate) type Answer = Result<Vec<u8>, RpcError>;

/// Context of a handler.
pub struct Scope<'a> {
    pub session: &'a Session,
    /// Workspace under the policy that was in force when the request began.
    pub workspace: Arc<Workspace>,
    /// Circumstances of the request under that policy, if they were needed before.
    pub circumstances: Option<&'a Circumstances>,
    pub request: &'a Request<'a>,
    pub ticket: &'a Ticket,
    /// Channel for the answer and for requests to the client that precede it.
    pub reply: &'a Reply,
    pub progress: &'a Progress,
    /// Record of everything the request accesses.
    pub uses: Uses,
}

impl Scope<'_> {
    /// Returns the workspace under the policy of the request.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Returns the access of the client under the policy of the request.
    pub(crate) fn access(&self) -> Access<'_> {
        self.session.access(&self.workspace)
    }

    /// Returns the setup of a component that runs for this request.
    pub fn setup(&self) -> Setup {
        self.setup_for(self.uses.clone(), Arc::new(|| {}))
    }

    /// Returns the setup with another usage record and a callback for waiting.
    pub fn setup_for(&self, uses: Uses, on_wait: Arc<dyn Fn() + Send + Sync>) -> Setup {
        let setup = self.workspace().setup(self.cancel().clone(), on_wait);
        let session = Some(self.session.id);
        Setup { uses, session, prefix: self.prefix().map(Arc::from), ..setup }
    }

    /// Returns the request's cancellation flag.
    pub fn cancel(&self) -> &Cancel {
        &self.ticket.cancel
    }

    /// Returns the prefix of tool names for this client.
    pub fn prefix(&self) -> Option<&str> {
        prefix(self.workspace(), self.request)
    }

    /// Returns a tool's name as this client knows it.
    pub fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix(), tool)
    }
}

/// Returns the prefix of tool names for the client of a request: the user's setting, or the client's known
/// default.
pub(crate) fn prefix<'a>(workspace: &'a Workspace, request: &Request<'_>) -> Option<&'a str> {
    workspace.settings.tool_prefix().or(request.traits.prefix)
}

/// Returns the tool that a request names, if it is switched on. A client with a prefix may omit it.
pub(crate) fn tool(workspace: &Workspace, request: &Request<'_>, name: &str) -> Option<Arc<Tool>> {
    let bare = || name.strip_prefix(prefix(workspace, request)?);
    workspace.tool(name).or_else(|| workspace.tool(bare()?))
}
