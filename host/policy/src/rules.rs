//! Allow and deny lists for named items.

use std::fmt;

use crate::rule::{Source, Sourced};

/// Allow rules and deny rules; a deny rule wins over any allow rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules<T> {
    /// Allowed items.
    pub allow: Vec<Sourced<T>>,
    /// Source of the `allow` list.
    pub allow_origin: Source,
    /// Denied items.
    pub deny: Vec<Sourced<T>>,
    /// Source of the `deny` list.
    pub deny_origin: Source,
    /// Managed rules that these narrow. They are checked first, so that their refusals cite their own line.
    pub outer: Option<Box<Rules<T>>>,
}

impl<T> Rules<T> {
    pub(crate) fn all(any: T) -> Self {
        Self {
            allow: vec![Sourced::builtin(any)],
            allow_origin: Source::Builtin,
            deny: Vec::new(),
            deny_origin: Source::Builtin,
            outer: None,
        }
    }

    /// Returns the rule that allows an item, or the reason why it is denied. `about` tells if a rule matches
    /// the item.
    pub(crate) fn check(&self, about: impl Fn(&T) -> bool + Copy) -> Result<&Sourced<T>, Closed<'_, T>> {
        self.check_by(about, about)
    }

    /// Checks an item that has two names: `denies` and `allows` tell if a rule of the respective list matches
    /// it.
    pub(crate) fn check_by(
        &self,
        denies: impl Fn(&T) -> bool + Copy,
        allows: impl Fn(&T) -> bool + Copy,
    ) -> Result<&Sourced<T>, Closed<'_, T>> {
        if let Some(outer) = &self.outer {
            outer.check_by(denies, allows)?;
        }
        if let Some(rule) = self.deny.iter().find(|rule| denies(&rule.value)) {
            return Err(Closed::By(rule));
        }
        self.allow.iter().find(|rule| allows(&rule.value)).ok_or(Closed::NotListed(self.allow_origin))
    }
}

/// Reason why an item is denied.
pub(crate) enum Closed<'a, T> {
    /// This rule denies it.
    By(&'a Sourced<T>),
    /// No entry of `allow`, which has this source, matches it.
    NotListed(Source),
}

impl<T: fmt::Display> Closed<'_, T> {
    /// Returns a refusal of `what` that cites `table`.
    pub(crate) fn refusal(&self, what: &str, table: &str) -> Refusal {
        match self {
            Self::By(rule) => Refusal {
                why: format!(
                    "{what} is denied by \"{}\" in `deny` of [{table}] ({})",
                    rule.value, rule.source
                ),
                decided_by: rule.source,
            },
            Self::NotListed(origin) => Refusal {
                why: format!("{what} is not in `allow` of [{table}] ({origin})"),
                decided_by: *origin,
            },
        }
    }
}

/// A refusal, with the rule that decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// Sentence that names the deciding line.
    pub why: String,
    /// Source of the deciding rule.
    pub decided_by: Source,
}
