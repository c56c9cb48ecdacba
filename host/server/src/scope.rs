//! What a handler works with: its request, the session that made it, and where its answer goes.

use std::borrow::Cow;
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;

use super::inflight::Ticket;
use super::progress::Progress;
use super::reply::Reply;
use super::request::Request;
use super::session::Session;
use super::workspace::Workspace;
use scorpiox_capabilities::setup::Setup;
use scorpiox_mcp::{RpcError, prefixed};
use scorpiox_tools::Tool;

/// A handler's answer: a whole line, or an error.
pub(crate) type Answer = Result<Vec<u8>, RpcError>;

/// What a handler works with.
pub struct Scope<'a> {
    pub session: &'a Session,
    pub request: &'a Request<'a>,
    pub ticket: &'a Ticket,
    /// Where its answer will go, and what is asked of the client before.
    pub reply: &'a Reply,
    pub progress: &'a Progress,
    /// Told of what the request touches, by whatever way.
    pub uses: Uses,
}

impl Scope<'_> {
    /// The workspace that the client works on.
    pub fn workspace(&self) -> &Workspace {
        &self.session.workspace
    }

    /// How a component is set up that runs for this request.
    pub fn setup(&self) -> Setup {
        self.setup_for(self.uses.clone(), Arc::new(|| {}))
    }

    /// The same, telling others of what it touches, and of waiting.
    pub fn setup_for(&self, uses: Uses, on_wait: Arc<dyn Fn() + Send + Sync>) -> Setup {
        let setup = self.workspace().setup(self.cancel().clone(), on_wait);
        let session = Some(self.session.id);
        Setup { uses, session, prefix: self.prefix().map(Arc::from), ..setup }
    }

    /// Set when the request must stop.
    pub fn cancel(&self) -> &Cancel {
        &self.ticket.cancel
    }

    /// What this client is told before the names of tools.
    pub fn prefix(&self) -> Option<&str> {
        prefix(self.workspace(), self.request)
    }

    /// A tool's name, as this client knows it.
    pub fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix(), tool)
    }
}

/// What the client of a request is told before the names of tools: what the user set, or what it
/// is known to need.
pub(crate) fn prefix<'a>(workspace: &'a Workspace, request: &Request<'_>) -> Option<&'a str> {
    workspace.settings.tool_prefix().or(request.traits.prefix)
}

/// The tool that a request means, if it is switched on. A client that is told a prefix may leave it out.
pub(crate) fn tool(workspace: &Workspace, request: &Request<'_>, name: &str) -> Option<Arc<Tool>> {
    let bare = || name.strip_prefix(prefix(workspace, request)?);
    workspace.tool(name).or_else(|| workspace.tool(bare()?))
}
