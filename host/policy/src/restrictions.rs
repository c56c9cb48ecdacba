//! `[[narrow]]`: restrictions that hold in some workspaces, for some accounts, clients or callers.
//!
//! A restriction is written as keys of a policy and parsed on top of the policy of its file. A request runs under the
//! intersection with all restrictions whose conditions hold.
//!
//! Invariant: a restriction only narrows, so one that cannot be judged holds.

use std::fmt;
use std::sync::Arc;

use crate::circumstances::{Circumstances, Conditions};
use crate::rule::{File, NamePattern, Places, Source, Sourced};

use crate::Policy;

/// A table `[[narrow]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// Name in messages.
    pub name: String,
    /// Conditions, all of which have to hold.
    pub conditions: Conditions,
    /// Keys as they are written.
    pub(crate) written: Vec<Written>,
    /// Policy of the file with these keys.
    pub(crate) by: Arc<Policy>,
    /// Source of the table.
    pub source: Source,
}

/// A key with its value, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Dotted key.
    pub key: String,
    /// Value in the syntax of TOML.
    pub value: String,
    /// Source of the value.
    pub source: Source,
}

impl Restriction {
    /// Returns the rules about tools that are written here.
    pub fn tools(&self) -> impl Iterator<Item = &Sourced<NamePattern>> {
        let has = |key: &str| self.written.iter().any(|line| line.key == key);
        let allow = has("tools.allow").then_some(&self.by.tools.allow).into_iter().flatten();
        allow.chain(has("tools.deny").then_some(&self.by.tools.deny).into_iter().flatten())
    }

    /// Returns `true` if another restriction says the same on any line.
    fn says_the_same(&self, other: &Self) -> bool {
        let written = |restriction: &Self| -> Vec<_> {
            restriction.written.iter().map(|line| (line.key.clone(), line.value.clone())).collect()
        };
        (&self.name, &self.conditions, written(self)) == (&other.name, &other.conditions, written(other))
    }
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[[narrow]] \"{}\" ({})", self.name, self.source)
    }
}

/// Returns the union of two lists.
pub(crate) fn union(own: &[Restriction], by: &[Restriction]) -> Vec<Restriction> {
    let is_new = |restriction: &&Restriction| !own.iter().any(|known| known.says_the_same(restriction));
    own.iter().chain(by.iter().filter(is_new)).cloned().collect()
}

impl Policy {
    /// Returns the numbers of the restrictions that hold. `places` resolves the folders of conditions; without it, those
    /// conditions hold.
    pub fn restrictions_for(&self, circumstances: &Circumstances, places: Option<&Places>) -> Vec<usize> {
        let holds = |restriction: &Restriction| {
            if let Some(places) = places {
                return restriction.conditions.hold(circumstances, places);
            }
            let without = Conditions { workspaces: Vec::new(), ..restriction.conditions.clone() };
            let usual = Places::standard(circumstances.workspace.to_path_buf(), None, "/".as_ref());
            without.hold(circumstances, &usual)
        };
        let all = self.restrictions.iter().enumerate();
        all.filter(|(_, restriction)| holds(restriction)).map(|(number, _)| number).collect()
    }

    /// Returns the policy under restrictions, by their numbers.
    #[must_use]
    pub fn restricted(&self, numbers: &[usize], places: &Places) -> Self {
        let held = numbers.iter().filter_map(|&number| self.restrictions.get(number));
        held.fold(self.clone(), |policy, restriction| {
            policy.narrowed_as(&restriction.by, places, File::Restriction)
        })
    }
}

#[cfg(test)]
mod tests;
