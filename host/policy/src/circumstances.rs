//! Conditions on the workspace, the account, the client and the caller, which are known before a call is judged.
//!
//! [`Circumstances`] describes a session in a workspace, and [`Conditions`] selects such sessions. The keys are the
//! same in each table that has them.
//!
//! Invariant: conditions that cannot be judged hold. Tables with conditions only narrow, so an unreadable
//! configuration of git cannot open anything.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::access::{Principal, Who};
use crate::rule::{DenyRule, Place, Places};

pub use self::after::{FirstRead, ReadBefore, Unobserved};
pub use self::glob::TextPattern;
pub use self::remote::RemotePattern;

mod after;
mod glob;
mod parse;
mod remote;
mod render;

pub(crate) use self::parse::{KEYS, patterns, read, some};
pub(crate) use self::render::lists;

/// Maximum number of patterns in a condition.
pub(crate) const MAX_PATTERNS: usize = 64;

/// Facts about a session in a workspace. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circumstances {
    /// Workspace; absolute and resolved.
    pub workspace: Arc<PathBuf>,
    /// Addresses of the workspace's remotes.
    pub remotes: Arc<Remotes>,
    /// Account of this process.
    pub account: Arc<Account>,
    /// Name that the client gives itself, if any.
    pub client: Option<Arc<str>>,
    /// Caller over HTTP.
    pub principal: Option<Arc<Principal>>,
    /// Files that were read before.
    pub read_before: ReadBefore,
}

#[cfg(test)]
impl Circumstances {
    /// Returns the circumstances in a workspace without remotes, of a nameless client.
    pub(crate) fn in_workspace(workspace: &std::path::Path) -> Self {
        Self {
            workspace: Arc::new(workspace.to_owned()),
            remotes: Arc::new(Remotes::of([])),
            account: Arc::default(),
            client: None,
            principal: None,
            read_before: ReadBefore::default(),
        }
    }
}

/// Addresses of the remotes of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remotes {
    /// All addresses as [`Remotes::of`] normalizes them.
    Known(BTreeSet<String>),
    /// Reason why they are unknown, as the continuation of "the remotes are unknown: ".
    Unknown(String),
}

impl Remotes {
    /// Normalizes the addresses that git's configuration names. If it cannot be foreseen where one of them leads, all
    /// are unknown.
    pub fn of<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        match addresses.into_iter().map(remote::normalized).collect() {
            Ok(known) => Self::Known(known),
            // The address may have a password.
            Err(remote::Unclear(why)) => Self::Unknown(format!("an address of a remote {why}")),
        }
    }
}

/// Account of a process, with the names and numbers of its user and of all its groups. `None` if the system does not
/// tell them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Names and numbers of the effective user.
    pub users: Option<BTreeSet<String>>,
    /// Names and numbers of the groups.
    pub groups: Option<BTreeSet<String>>,
}

/// Conditions, all of which have to hold. An empty list is no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Folders that contain the workspace.
    pub workspaces: Vec<Place>,
    /// Patterns for addresses of the workspace's remotes.
    pub remotes: Vec<RemotePattern>,
    /// Patterns for the names and numbers of the account's user.
    pub unix_users: Vec<TextPattern>,
    /// Patterns for the names and numbers of the account's groups.
    pub unix_groups: Vec<TextPattern>,
    /// Patterns for the name of the client.
    pub clients: Vec<TextPattern>,
    /// Callers over HTTP. Without HTTP, there are none.
    pub callers: Who,
    /// Globs for files, one of which was read before.
    pub read_before: Vec<DenyRule>,
}

impl Conditions {
    /// Returns `true` if there is no condition.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if all conditions hold.
    pub fn hold(&self, circumstances: &Circumstances, places: &Places) -> bool {
        self.hold_in(circumstances, places)
            && self.hold_for_account(&circumstances.account)
            && self.hold_for_client(circumstances.client.as_deref())
            && self.hold_for_caller(circumstances.principal.as_deref())
            && (self.read_before.is_empty() || self.first_read(&circumstances.read_before).is_some())
    }

    /// Returns the first glob of the condition on files whose files were read before, with the call that did.
    pub fn first_read<'a>(&self, known: &'a ReadBefore) -> Option<(&'a str, &'a FirstRead)> {
        let read = |rule: &DenyRule| known.0.iter().find(|(glob, _)| after::is_same(glob, rule.glob()));
        self.read_before.iter().find_map(read).map(|(glob, first)| (glob.as_str(), first))
    }

    fn hold_in(&self, circumstances: &Circumstances, places: &Places) -> bool {
        let mut folders = self.workspaces.iter().flat_map(|place| places.folders(place));
        let is_inside =
            self.workspaces.is_empty() || folders.any(|folder| circumstances.workspace.starts_with(folder));
        is_inside && (self.remotes.is_empty() || self.name_a_remote(&circumstances.remotes))
    }

    fn name_a_remote(&self, remotes: &Remotes) -> bool {
        match remotes {
            Remotes::Known(addresses) => {
                addresses.iter().any(|address| self.remotes.iter().any(|pattern| pattern.matches(address)))
            }
            Remotes::Unknown(_) => true,
        }
    }

    fn hold_for_account(&self, account: &Account) -> bool {
        any(&self.unix_users, account.users.as_ref()) && any(&self.unix_groups, account.groups.as_ref())
    }

    fn hold_for_client(&self, client: Option<&str>) -> bool {
        let is_named = |name: &str| self.clients.iter().any(|pattern| pattern.matches(name));
        self.clients.is_empty() || client.is_some_and(is_named)
    }

    fn hold_for_caller(&self, principal: Option<&Principal>) -> bool {
        self.callers.is_everybody() || principal.is_some_and(|principal| self.callers.admits(principal))
    }
}

/// Returns `true` if a pattern matches a name, if there are no patterns, or if the names are unknown.
fn any(patterns: &[TextPattern], names: Option<&BTreeSet<String>>) -> bool {
    let matches = |name: &String| patterns.iter().any(|pattern| pattern.matches(name));
    patterns.is_empty() || names.is_none_or(|names| names.iter().any(matches))
}

#[cfg(test)]
mod tests;
