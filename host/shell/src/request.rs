//! Command requests and the audit records of what a command accessed.

use std::sync::Arc;
use std::time::Duration;

use crate::untold::Command;
use scorpiox_audit::{BUILT_IN, Uses};
use scorpiox_egress_proxy::{Reached, Refusal};
use scorpiox_sandbox::Outcome;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// Argument of `bash -c`, run in the workspace.
    pub command: String,
    /// Owner on whose behalf the command runs.
    pub run_as: As,
    /// Time after which the command is ended.
    pub timeout: Option<Duration>,
    /// Audit record of the call. Receives the sandbox decision and refused hosts.
    pub uses: Uses,
}

impl Request {
    /// Returns the description shown in the list of active commands.
    pub(super) fn described(&self) -> Command<'_> {
        let principal = self.principal();
        Command { component: self.run_as.owner_name(), principal, text: &self.command }
    }

    /// Returns the unique key of the principal who calls over HTTP.
    pub(super) fn principal(&self) -> Option<&str> {
        self.uses.client().and_then(|client| client.principal.as_deref())
    }
}

/// Owner of a command. It determines the profile and the owner of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum As {
    /// The MCP client.
    Client {
        /// `true` if commands must not change anything at present.
        read_only: bool,
    },
    /// A component, with the permissions that the policy grants it.
    Component {
        /// Name of the component.
        name: Arc<str>,
        /// Alternative name under which the policy may refer to the component.
        also: Option<String>,
        /// Profile approved for the component, if it comes from a third party.
        profile: Option<String>,
        /// `true` if commands must not change anything at present.
        read_only: bool,
    },
}

impl As {
    fn owner_name(&self) -> Option<&str> {
        match self {
            Self::Client { .. } => None,
            Self::Component { name, .. } => Some(name),
        }
    }

    /// Returns the component's name, or `None` for the client.
    pub(super) fn owner(&self) -> Option<Arc<str>> {
        match self {
            Self::Client { .. } => None,
            Self::Component { name, .. } => Some(Arc::clone(name)),
        }
    }
}

/// Records the hosts that the command was refused.
pub(super) fn note_hosts(uses: &Uses, refusals: &[Refusal]) {
    for refusal in refusals {
        let Refusal { host, port, why, rule, times } = refusal;
        for _ in 0..*times {
            uses.denied("network", format_args!("{host}:{port}"), why, rule);
        }
    }
}

/// Records the hosts that the command reached.
pub(super) fn note_reached(uses: &Uses, reached: &[Reached]) {
    for Reached { host, port, rule } in reached {
        // A Unix socket has no port.
        match port {
            0 => uses.allowed("network", format_args!("{host}"), rule),
            _ => uses.allowed("network", format_args!("{host}:{port}"), rule),
        }
    }
}

/// Records the names that the command was not allowed to create, and the sockets that it did not reach.
pub(super) fn note_names(uses: &Uses, outcome: &Outcome) {
    for path in &outcome.names.refused {
        uses.denied("shell", path.as_path().display(), "commands cannot make this name", BUILT_IN);
    }
    for path in &outcome.names.sockets {
        uses.denied("shell", path.as_path().display(), "no command listens at this socket", BUILT_IN);
    }
    let others = [(outcome.names.refused_others, "names"), (outcome.names.sockets_others, "sockets")];
    for (count, kind) in others.into_iter().filter(|(count, _)| *count > 0) {
        let target = format_args!("{count} more attempts with {kind}");
        uses.denied("shell", target, "like those that are listed", BUILT_IN);
    }
}
