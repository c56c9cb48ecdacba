//! `[access]`: tools that a principal may call.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::{NamePattern, Source, Sourced, shorten};

use crate::access::principal::Principal;
use crate::access::who::Who;

/// A rule for tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    /// Principals that the rule applies to.
    pub who: Who,
    /// Allowed tools.
    pub allow: Option<Vec<Sourced<NamePattern>>>,
    /// Source of the `allow` list.
    pub allow_origin: Source,
    /// Denied tools; `deny` wins over any `allow`.
    pub deny: Vec<Sourced<NamePattern>>,
    /// Source of the `deny` list.
    pub deny_origin: Source,
    /// Source of the table.
    pub source: Source,
}

/// All rules for tools. If no rule has `allow`, all tools are allowed except those that a rule denies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Rules by name.
    pub rules: BTreeMap<String, AccessRule>,
    /// Managed rules that these narrow. They are checked first.
    pub outer: Option<Box<AccessPolicy>>,
}

/// Reason why a principal may not call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDenial {
    /// Sentence that names the deciding line.
    pub why: String,
    /// Source of the deciding rule.
    pub decided_by: Source,
    /// Scopes that might allow the call; empty if none would.
    pub scopes: BTreeSet<String>,
}

fn about<'a>(rules: &'a [Sourced<NamePattern>], names: &[&str]) -> Option<&'a Sourced<NamePattern>> {
    rules.iter().find(|rule| names.iter().any(|name| rule.value.covers(name)))
}

impl AccessPolicy {
    /// Returns `true` if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.outer.as_ref().is_none_or(|outer| outer.is_empty())
    }

    /// Checks if a principal may call a tool. `original` is the name that the tool's author gave it, if that
    /// differs. Returns a description of the rule that allows the call.
    pub fn check(
        &self,
        principal: &Principal,
        tool: &str,
        original: Option<&str>,
    ) -> Result<String, AccessDenial> {
        if let Some(outer) = &self.outer {
            outer.check(principal, tool, original)?;
        }
        let who = shorten(&principal.name);
        let shown = shorten(tool);
        let names: Vec<_> = std::iter::once(tool).chain(original).collect();
        for (name, rule) in self.rules.iter().filter(|(_, rule)| rule.who.admits(principal)) {
            if let Some(denied) = about(&rule.deny, &names) {
                let why = format!(
                    "{who} may not call {shown}: \"{}\" in `deny` of [access.{name}] ({})",
                    denied.value, denied.source
                );
                return Err(AccessDenial { why, decided_by: denied.source, scopes: BTreeSet::new() });
            }
        }
        let opening =
            || self.rules.iter().filter_map(|(name, rule)| Some((name, rule, rule.allow.as_ref()?)));
        if opening().next().is_none() {
            return Ok(format!("no rule of [access] opens some tools alone, so that {who} may call {shown}"));
        }
        for (name, rule, allow) in opening() {
            // Renaming a tool must not allow a tool whose original name is not allowed.
            let opened = rule.who.admits(principal).then(|| about(allow, &[tool])).flatten();
            if let Some(opened) = opened
                && original.is_none_or(|original| self.opens(principal, original))
            {
                return Ok(format!("\"{}\" in `allow` of [access.{name}] ({})", opened.value, opened.source));
            }
        }
        Err(self.not_opened(principal, tool))
    }

    fn opens(&self, principal: &Principal, tool: &str) -> bool {
        let rules = self.rules.values().filter(|rule| rule.who.admits(principal));
        rules.filter_map(|rule| rule.allow.as_ref()).any(|allow| about(allow, &[tool]).is_some())
    }

    fn not_opened(&self, principal: &Principal, tool: &str) -> AccessDenial {
        let with_scopes = self.rules.iter().find(|(_, rule)| {
            let opens = rule.allow.as_ref().is_some_and(|allow| about(allow, &[tool]).is_some());
            opens && !rule.who.scopes.is_empty() && rule.who.names(principal)
        });
        let (who, shown) = (shorten(&principal.name), shorten(tool));
        if let Some((name, rule)) = with_scopes {
            let scopes: Vec<_> = rule.who.scopes.iter().map(String::as_str).collect();
            let why = format!(
                "{who} may not call {shown}: [access.{name}] ({}) opens it for tokens with the scopes {}",
                rule.source,
                scopes.join(" ")
            );
            // Includes the scopes of the current token, which other calls still require.
            let scopes = principal.scopes.union(&rule.who.scopes).cloned().collect();
            return AccessDenial { why, decided_by: rule.source, scopes };
        }
        let opening = self.rules.values().filter(|rule| rule.allow.is_some());
        AccessDenial {
            why: format!("{who} may not call {shown}: no `allow` of [access] that is for {who} opens it"),
            decided_by: opening.map(|rule| rule.allow_origin).min().unwrap_or(Source::Builtin),
            scopes: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(names: &[&str]) -> Vec<Sourced<NamePattern>> {
        let read = |name: &&str| Sourced::new(NamePattern::parse(name, "tool").unwrap(), Source::Line(3));
        names.iter().map(read).collect()
    }

    fn rule(allow: Option<&[&str]>, deny: &[&str]) -> AccessRule {
        AccessRule {
            who: Who::default(),
            allow: allow.map(patterns),
            allow_origin: Source::Line(3),
            deny: patterns(deny),
            deny_origin: Source::Line(4),
            source: Source::Line(2),
        }
    }

    fn policy(rules: Vec<(&str, AccessRule)>) -> AccessPolicy {
        let rules = rules.into_iter().map(|(name, rule)| (name.to_owned(), rule)).collect();
        AccessPolicy { rules, outer: None }
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn without_rules_all_tools_are_open_and_a_rule_that_opens_some_closes_the_rest() {
        let ann = Principal::named("ann");
        assert!(AccessPolicy::default().check(&ann, "Bash", None).is_ok());
        let policy = policy(vec![("readers", rule(Some(&["Read*"]), &[]))]);
        assert!(policy.check(&ann, "ReadDocs", None).is_ok());
        let denial = policy.check(&ann, "Bash", None).unwrap_err();
        assert!(denial.why.contains("ann may not call Bash") && denial.scopes.is_empty(), "{denial:?}");
    }

    #[test]
    fn what_is_denied_stays_closed_whatever_opens_it() {
        let ann = Principal::named("ann");
        let policy = policy(vec![("all", rule(Some(&["*"]), &[])), ("no", rule(None, &["Bash"]))]);
        let denial = policy.check(&ann, "Bash", None).unwrap_err();
        assert!(denial.why.contains("`deny` of [access.no] (policy.toml line 3)"), "{denial:?}");
        assert!(policy.check(&ann, "shell.run", Some("Bash")).is_err());
        assert!(policy.check(&ann, "ReadDocs", None).is_ok());
    }

    #[test]
    fn another_name_opens_nothing() {
        let ann = Principal::named("ann");
        let policy = policy(vec![("some", rule(Some(&["sky.*"]), &[]))]);
        assert!(policy.check(&ann, "sky.map", None).is_ok());
        assert!(policy.check(&ann, "sky.map", Some("weather.map")).is_err());
    }

    #[test]
    fn a_rule_is_for_whoever_fits_every_line_of_it() {
        let both = AccessRule {
            who: Who {
                principals: Some(vec![NamePattern::parse("ann*", "principal").unwrap()]),
                groups: Some(vec!["ops".to_owned()]),
                scopes: set(&["run", "read"]),
            },
            ..rule(Some(&["*"]), &[])
        };
        let policy = policy(vec![("both", both)]);
        let fits =
            Principal { groups: set(&["ops"]), scopes: set(&["run", "read"]), ..Principal::named("anna") };
        assert!(policy.check(&fits, "Bash", None).is_ok());
        for other in [
            Principal { name: "bob".to_owned(), ..fits.clone() },
            Principal { groups: set(&["dev"]), ..fits.clone() },
            Principal { scopes: set(&["read"]), ..fits.clone() },
        ] {
            assert!(policy.check(&other, "Bash", None).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_refusal_names_all_scopes_that_are_needed_and_only_where_they_would_help() {
        let run = AccessRule {
            who: Who { scopes: set(&["tools:run"]), ..Who::default() },
            ..rule(Some(&["Bash"]), &[])
        };
        let groups = Some(vec!["ops".to_owned()]);
        let ops = AccessRule { who: Who { groups, ..run.who.clone() }, ..run.clone() };
        let reader = Principal { scopes: set(&["tools:read"]), ..Principal::named("ann") };
        let denial = policy(vec![("run", run)]).check(&reader, "Bash", None).unwrap_err();
        assert_eq!(denial.scopes, set(&["tools:read", "tools:run"]));
        let denial = policy(vec![("ops", ops)]).check(&reader, "Bash", None).unwrap_err();
        assert!(denial.scopes.is_empty(), "{denial:?}");
    }

    #[test]
    fn what_holds_for_all_users_is_asked_first() {
        let ann = Principal::named("ann");
        let outer = policy(vec![("no", rule(None, &["Bash"]))]);
        let inner =
            AccessPolicy { outer: Some(Box::new(outer)), ..policy(vec![("all", rule(Some(&["*"]), &[]))]) };
        assert!(inner.check(&ann, "Bash", None).is_err() && inner.check(&ann, "ReadDocs", None).is_ok());
    }
}
