//! `[limits]`: limits on a principal's use of shared resources.

use std::collections::BTreeMap;

use crate::rule::{NamePattern, Source, Sourced};

use crate::access::principal::Principal;
use crate::access::who::Who;

/// Limits for each principal that meets all conditions of the rule. Each rule counts separately, and for each
/// principal separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRule {
    /// Principals that the rule applies to.
    pub who: Who,
    /// Tools whose calls count; `None` counts all tools.
    pub tools: Option<Vec<Sourced<NamePattern>>>,
    /// Source of the `tools` list.
    pub tools_origin: Source,
    /// Maximum number of concurrent calls.
    pub in_flight: Option<Sourced<u32>>,
    /// Maximum number of calls in a minute.
    pub calls_per_minute: Option<Sourced<u32>>,
    /// Maximum number of calls in a day.
    pub calls_per_day: Option<Sourced<u64>>,
    /// Maximum CPU time in a day, in seconds.
    pub processor_seconds_per_day: Option<Sourced<u64>>,
    /// Maximum number of bytes stored in a day.
    pub stored_per_day: Option<Sourced<u64>>,
    /// Source of the table.
    pub source: Source,
}

/// All limits. A call has to satisfy every rule that applies to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitsPolicy {
    /// Rules by name.
    pub rules: BTreeMap<String, LimitRule>,
    /// Managed limits, which apply in addition to these.
    pub outer: Option<Box<LimitsPolicy>>,
}

impl LimitRule {
    /// Returns a rule without limits that applies to all principals.
    pub fn none(source: Source) -> Self {
        Self {
            who: Who::default(),
            tools: None,
            tools_origin: Source::Builtin,
            in_flight: None,
            calls_per_minute: None,
            calls_per_day: None,
            processor_seconds_per_day: None,
            stored_per_day: None,
            source,
        }
    }

    /// Returns `true` if the rule applies to calls of a tool by a principal.
    pub fn is_for(&self, principal: &Principal, tool: &str) -> bool {
        self.who.admits(principal) && self.counts(tool)
    }

    /// Returns `true` if calls of a tool count.
    pub fn counts(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|rule| rule.value.covers(tool)))
    }

    /// Returns `true` if the rule has a limit per day.
    pub fn has_days(&self) -> bool {
        self.calls_per_day.is_some()
            || self.processor_seconds_per_day.is_some()
            || self.stored_per_day.is_some()
    }
}

impl LimitsPolicy {
    /// Returns `true` if there are no limits.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Returns all rules with their names, the managed ones first.
    pub fn all(&self) -> impl Iterator<Item = (&str, &LimitRule)> {
        let outer = self.outer.iter().flat_map(|outer| &outer.rules);
        outer.chain(&self.rules).map(|(name, rule)| (name.as_str(), rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_for_who_fits_every_line_and_for_the_tools_that_it_names() {
        let who = Who {
            principals: Some(vec![NamePattern::parse("ci-*", "principal").unwrap()]),
            ..Who::default()
        };
        let tools = Some(vec![Sourced::builtin(NamePattern::parse("Bash", "tool").unwrap())]);
        let rule = LimitRule { who, tools, ..LimitRule::none(Source::Builtin) };
        let is_for = |name: &str, tool: &str| rule.is_for(&Principal::named(name), tool);
        assert!(is_for("ci-1", "Bash") && !is_for("ci-1", "ReadDocs") && !is_for("ann", "Bash"));
        let inner = LimitsPolicy { rules: [("a".to_owned(), rule)].into(), outer: None };
        let both = LimitsPolicy { rules: BTreeMap::new(), outer: Some(Box::new(inner)) };
        assert!(!both.is_empty() && both.all().count() == 1 && LimitsPolicy::default().is_empty());
    }
}
