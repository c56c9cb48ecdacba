//! What is to be run, and what its record is told of what it did.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::{BUILT_IN, Uses};
use scorpiox_cell::Outcome;
use scorpiox_proxy::{Reached, Refusal};
use scorpiox_untold::Command;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// For `bash -c`, in the workspace.
    pub command: String,
    /// On whose behalf.
    pub run_as: As,
    /// After this time it is ended.
    pub timeout: Option<Duration>,
    /// Told of where it runs, or why it does not, and of hosts that it is refused.
    pub uses: Uses,
}

impl Request {
    /// The command, for those who are told that it runs.
    pub(super) fn described(&self) -> Command<'_> {
        let principal = self.uses.client().and_then(|client| client.principal.as_deref());
        Command { component: self.run_as.owner_name(), principal, text: &self.command }
    }
}

/// On whose behalf a command runs, which decides its profile and whose task it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum As {
    /// The client's.
    Client {
        /// Whether nothing may be changed at the moment.
        read_only: bool,
    },
    /// A component's, as far as the policy grants it.
    Component {
        /// Its name.
        name: Arc<str>,
        /// Another name that it has, by which the policy may speak of it.
        also: Option<String>,
        /// The profile that was approved, of one that others ship.
        profile: Option<String>,
        /// Whether nothing may be changed at the moment.
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

    /// The component, if it is one.
    pub(super) fn owner(&self) -> Option<Arc<str>> {
        match self {
            Self::Client { .. } => None,
            Self::Component { name, .. } => Some(Arc::clone(name)),
        }
    }
}

/// Hosts that the command was refused, for its record.
pub(super) fn note_hosts(uses: &Uses, refusals: &[Refusal]) {
    for refusal in refusals {
        let Refusal { host, port, why, rule } = refusal;
        uses.denied("network", format_args!("{host}:{port}"), why, rule);
    }
}

/// Hosts that the command reached, for its record.
pub(super) fn note_reached(uses: &Uses, reached: &[Reached]) {
    for Reached { host, port, rule } in reached {
        uses.allowed("network", format_args!("{host}:{port}"), rule);
    }
}

/// Names that the command was not allowed to make, for its record.
pub(super) fn note_names(uses: &Uses, outcome: &Outcome) {
    for path in &outcome.names.refused {
        uses.denied("shell", path.as_path().display(), "commands cannot make this name", BUILT_IN);
    }
}
