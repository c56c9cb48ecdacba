//! `[workspace.NAME]`: folders that are served beside the one that the server was started for.

use scorpiox_rules::{NamePattern, Source};

use crate::principal::Principal;

/// What the folder is called that the server was started for.
pub const DEFAULT_WORKSPACE: &str = "default";

/// A folder that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedWorkspace {
    /// Where it is; none for the one that the server was started for.
    pub path: Option<String>,
    /// Only these may work in it, if some are named.
    pub principals: Option<Vec<NamePattern>>,
    /// Only members of one of these may, if some are named.
    pub groups: Option<Vec<String>>,
    /// Where the table stands.
    pub source: Source,
}

impl ServedWorkspace {
    /// Whether somebody may work in it: who fits every line of it.
    pub fn admits(&self, principal: &Principal) -> bool {
        let is_named = |names: &Vec<NamePattern>| names.iter().any(|pattern| pattern.covers(&principal.name));
        let is_member = |groups: &Vec<String>| groups.iter().any(|group| principal.groups.contains(group));
        self.principals.as_ref().is_none_or(is_named) && self.groups.as_ref().is_none_or(is_member)
    }
}
