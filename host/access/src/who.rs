//! For whom something is.

use std::collections::BTreeSet;

use scorpiox_rules::NamePattern;

use crate::principal::Principal;

/// For whom something is: who fits every line of it. Everybody does, where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// These alone, if some are named. A list without names is for nobody.
    pub principals: Option<Vec<NamePattern>>,
    /// Members of one of these alone, if some are named.
    pub groups: Option<Vec<String>>,
    /// Those whose tokens are good for all of these.
    pub scopes: BTreeSet<String>,
}

impl Who {
    /// Whether it is for somebody.
    pub fn admits(&self, principal: &Principal) -> bool {
        self.names(principal) && self.scopes.is_subset(&principal.scopes)
    }

    /// Whether it would be with a token that is good for more.
    pub fn names(&self, principal: &Principal) -> bool {
        let is_named = |names: &Vec<NamePattern>| names.iter().any(|pattern| pattern.covers(&principal.name));
        let is_member = |groups: &Vec<String>| groups.iter().any(|group| principal.groups.contains(group));
        self.principals.as_ref().is_none_or(is_named) && self.groups.as_ref().is_none_or(is_member)
    }

    /// Whether no line of it is there.
    pub fn is_everybody(&self) -> bool {
        *self == Self::default()
    }
}
