//! Lists of what is allowed and what is denied, by name.

use std::fmt;

use scorpiox_rules::{Source, Sourced};

/// Rules that allow and rules that deny; what is denied is so whatever is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules<T> {
    /// What may be.
    pub allow: Vec<Sourced<T>>,
    /// Where `allow` stands.
    pub allow_origin: Source,
    /// What may not be.
    pub deny: Vec<Sourced<T>>,
    /// Where `deny` stands.
    pub deny_origin: Source,
    /// What holds for all users, where this narrows it: asked first, so that a refusal of its own names its line.
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

    /// The rule that keeps something closed, or that there is none which opens it; `about` says whether a
    /// rule is about it.
    pub(crate) fn check(&self, about: impl Fn(&T) -> bool + Copy) -> Result<&Sourced<T>, Closed<'_, T>> {
        self.check_by(about, about)
    }

    /// The same of what has two names: `denies` and `allows` say whether a rule of the one list or the other is about
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

/// Why something stays closed.
pub(crate) enum Closed<'a, T> {
    /// By this rule.
    By(&'a Sourced<T>),
    /// Nothing in `allow`, which stands there, opens it.
    NotListed(Source),
}

impl<T: fmt::Display> Closed<'_, T> {
    /// A sentence about `what`, which `table` keeps closed.
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

/// That something stays closed: a sentence, and the line that decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// The sentence, which names the line.
    pub why: String,
    /// The line.
    pub decided_by: Source,
}
