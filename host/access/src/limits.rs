//! `[limits]`: how much a principal may have of what there is only so much of.

use std::collections::BTreeMap;

use scorpiox_rules::{NamePattern, Source, Sourced};

use crate::principal::Principal;
use crate::who::Who;

/// Bounds, for whoever fits every line of the rule. Each rule counts by itself, for each principal by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRule {
    /// Whom it is for.
    pub who: Who,
    /// Calls of these tools alone count, if some are named.
    pub tools: Option<Vec<Sourced<NamePattern>>>,
    /// Where `tools` stands.
    pub tools_origin: Source,
    /// Calls at once.
    pub in_flight: Option<Sourced<u32>>,
    /// Calls within a minute.
    pub calls_per_minute: Option<Sourced<u32>>,
    /// Calls within a day.
    pub calls_per_day: Option<Sourced<u64>>,
    /// Seconds of processors within a day.
    pub processor_seconds_per_day: Option<Sourced<u64>>,
    /// Bytes that the store takes within a day.
    pub stored_per_day: Option<Sourced<u64>>,
    /// Where the table stands.
    pub source: Source,
}

/// All bounds. Every rule that is for a call has to leave room for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitsPolicy {
    /// By their names.
    pub rules: BTreeMap<String, LimitRule>,
    /// What holds for all users of the machine, beside this.
    pub outer: Option<Box<LimitsPolicy>>,
}

impl LimitRule {
    /// One that bounds nothing, for everybody.
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

    /// Whether it is for calls that a principal makes of a tool.
    pub fn is_for(&self, principal: &Principal, tool: &str) -> bool {
        self.who.admits(principal) && self.counts(tool)
    }

    /// Whether calls of a tool count.
    pub fn counts(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|rule| rule.value.covers(tool)))
    }

    /// Whether it bounds a day.
    pub fn has_days(&self) -> bool {
        self.calls_per_day.is_some()
            || self.processor_seconds_per_day.is_some()
            || self.stored_per_day.is_some()
    }
}

impl LimitsPolicy {
    /// Whether there is no bound at all.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// All rules with their names, those that hold for all users of the machine first.
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
