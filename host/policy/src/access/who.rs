//! Selection of principals.

use std::collections::BTreeSet;

use crate::rule::NamePattern;

use crate::access::principal::Principal;

/// Selects the principals that meet all conditions. Without any condition, it selects everyone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// Accepted names; `None` accepts every name, an empty list none.
    pub principals: Option<Vec<NamePattern>>,
    /// Accepted groups, one of which the principal has to be a member of; `None` accepts every principal.
    pub groups: Option<Vec<String>>,
    /// Scopes that the principal's token has to have.
    pub scopes: BTreeSet<String>,
}

impl Who {
    /// Returns `true` if it selects the principal.
    pub fn admits(&self, principal: &Principal) -> bool {
        self.names(principal) && self.scopes.is_subset(&principal.scopes)
    }

    /// Returns `true` if it selects the principal apart from missing scopes.
    pub fn names(&self, principal: &Principal) -> bool {
        let is_named = |names: &Vec<NamePattern>| names.iter().any(|pattern| pattern.covers(&principal.name));
        let is_member = |groups: &Vec<String>| groups.iter().any(|group| principal.groups.contains(group));
        self.principals.as_ref().is_none_or(is_named) && self.groups.as_ref().is_none_or(is_member)
    }

    /// Returns `true` if it has no conditions.
    pub fn is_everybody(&self) -> bool {
        *self == Self::default()
    }
}
