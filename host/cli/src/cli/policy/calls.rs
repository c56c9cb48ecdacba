//! Verdicts about single calls with their arguments: allowed, asked about, or denied.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use scorpiox_approvals::{Always, Wanted, always};
use scorpiox_policy::access::Principal;
use scorpiox_policy::{
    Approvers, CallDecision, CallFacts, CallRule, Channel, Circumstances, Covering, Policy, ReadBefore,
    Remotes, Then, Verdict, exact_arguments,
};
use scorpiox_server::because_read;
use scorpiox_tools::plugins::Plugins;
use scorpiox_workspace_config::Operator;
use serde_json::Value;

use super::judge::{Judge, NO_APPROVER};
use super::{Caller, What, reads};

/// Circumstances of a call that differ from those of this process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Name of the client.
    pub client: Option<String>,
    /// Addresses of the workspace's remotes, instead of those of its repository.
    pub remotes: Vec<String>,
    /// Users and groups, instead of those of the account.
    pub users: BTreeSet<String>,
    pub groups: BTreeSet<String>,
    /// Globs whose files were read before, in addition to those that were in fact.
    pub after: Vec<String>,
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Allow,
    Ask,
    Deny,
}

impl Outcome {
    /// Parses the word of a case.
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }

    /// Returns the word of a case.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allowed",
            Self::Ask => "asked about",
            Self::Deny => "denied",
        })
    }
}

/// Outcome of a call, with what decides.
#[derive(Debug)]
pub(super) struct CallVerdict {
    pub outcome: Outcome,
    pub because: String,
}

impl CallVerdict {
    fn denied(because: String) -> Self {
        Self { outcome: Outcome::Deny, because }
    }
}

impl Given {
    fn applied(&self, mut circumstances: Circumstances) -> Circumstances {
        if !self.remotes.is_empty() {
            circumstances.remotes = Arc::new(Remotes::of(self.remotes.iter().map(String::as_str)));
        }
        let mut account = (*circumstances.account).clone();
        if !self.users.is_empty() {
            account.users = Some(self.users.clone());
        }
        if !self.groups.is_empty() {
            account.groups = Some(self.groups.clone());
        }
        circumstances.account = Arc::new(account);
        reads::add_given(&self.after, &mut circumstances.read_before);
        circumstances
    }
}

impl Judge<'_> {
    /// Returns the verdict about a call.
    pub(super) fn call(&self, tool: &str, arguments: &Value, given: &Given) -> Result<CallVerdict> {
        if let Some(Verdict { because, .. }) = self.closed(What::Tool) {
            return Ok(CallVerdict::denied(because));
        }
        let because = match self.open_tool(tool)? {
            Ok(because) => because,
            Err(denied) => return Ok(CallVerdict::denied(denied.because)),
        };
        let operator = self.operator();
        let circumstances = given.applied(self.circumstances(tool, given.client.as_deref())?);
        let (original, arguments) = (self.authors_name(tool), arguments.to_string());
        let call = CallFacts {
            tool,
            original: original.as_deref(),
            arguments: &arguments,
            circumstances: &circumstances,
        };
        let policy = &operator.loaded()?.policy;
        let covering = policy.calls.covering(&call, &operator.places()?);
        let answering = Answering { approvers: &policy.approvers, principal: self.principal.as_ref() };
        let verdict = ruled(&covering, &because, answering, &circumstances.read_before);
        Ok(match self.approved_always(&call, covering) {
            Some(always) if verdict.outcome == Outcome::Ask => {
                CallVerdict { outcome: Outcome::Allow, because: format!("{}; {always}", verdict.because) }
            }
            _ => verdict,
        })
    }
}

impl Judge<'_> {
    /// Returns the approval of a call that holds always, as a clause.
    fn approved_always(&self, call: &CallFacts<'_>, covering: Vec<Covering<'_>>) -> Option<String> {
        let CallDecision::Ask(rules) = CallDecision::from(covering) else { return None };
        let operator = self.operator();
        let mut wanted = Wanted {
            workspace: operator.site().workspace.to_string_lossy().into_owned(),
            principal: self.principal.as_ref().map(Principal::key),
            caller: self.principal.as_ref().map(|principal| principal.name.clone()),
            client: String::new(),
            tool: call.tool.to_owned(),
            component: self.component(call.tool),
            arguments: exact_arguments(call.arguments)?.to_string(),
            rules: Vec::new(),
            is_strong: false,
            within_ms: 0,
            remember: Vec::new(),
        };
        wanted.ask_like(&rules);
        let Always { number, proof, source } = always(&wanted, &rules, &operator.loaded().ok()?.policy)?;
        Some(format!("approval {number} by {} holds always ({source})", proof.by))
    }
}

impl Judge<'_> {
    /// Returns the verdict about a call whose arguments are unknown; `None` if they decide.
    pub(super) fn call_without_arguments(&self, tool: &str, given: &Given) -> Result<Option<CallVerdict>> {
        let call = self.call(tool, &serde_json::json!({}), given)?;
        let circumstances = given.applied(self.circumstances(tool, given.client.as_deref())?);
        let (operator, original) = (self.operator(), self.authors_name(tool));
        let places = operator.places()?;
        let calls = &operator.loaded()?.policy.calls;
        let about: Vec<_> = calls
            .about(tool, original.as_deref(), &circumstances, &places)
            .filter(|rule| !rule.reports)
            .map(|rule| (rule, rule.covers_every_call()))
            .collect();
        // A rule for every call may deny it, whatever its arguments.
        let is_denied = about.iter().any(|(rule, is_every)| *is_every && rule.then == Then::Deny);
        let is_told = is_denied || about.iter().all(|(_, is_every)| *is_every);
        let is_closed = self.closed(What::Tool).is_some() || self.open_tool(tool)?.is_err();
        Ok(Some(call).filter(|_| is_closed || is_told))
    }
}

/// A caller, and the people who may answer for its calls.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Answering<'a> {
    /// The approvers of the policy.
    pub approvers: &'a Approvers,
    /// The caller over HTTP.
    pub principal: Option<&'a Principal>,
}

impl Answering<'_> {
    /// Returns `true` if only an approver answers a rule that asks about calls of this caller.
    fn needs_approver(self, rule: &CallRule) -> bool {
        rule.channel_for(self.principal.is_some()) == Channel::Strong
    }

    /// Returns `true` if somebody may answer.
    pub(super) fn is_answered(self, rule: &CallRule) -> bool {
        let name = self.principal.map(|principal| principal.name.as_str());
        !self.needs_approver(rule) || rule.answered_by(self.approvers, name).next().is_some()
    }
}

/// Returns the verdict of the rules that cover a call; without any, the tool is open for the reason `because`.
fn ruled(
    covering: &[Covering<'_>],
    because: &str,
    answering: Answering<'_>,
    known: &ReadBefore,
) -> CallVerdict {
    let (reporting, deciding): (Vec<_>, Vec<_>) = covering.iter().partition(|covering| covering.rule.reports);
    let outcome = |covering: &Covering<'_>| match covering.then {
        Then::Ask if answering.is_answered(covering.rule) => Outcome::Ask,
        Then::Ask | Then::Deny => Outcome::Deny,
    };
    let strictest = if deciding.iter().any(|covering| outcome(covering) == Outcome::Deny) {
        Outcome::Deny
    } else if deciding.is_empty() {
        Outcome::Allow
    } else {
        Outcome::Ask
    };
    let mut said: Vec<_> = deciding
        .into_iter()
        .filter(|covering| outcome(covering) == strictest)
        .map(|covering| {
            let &Covering { rule, then, .. } = covering;
            let does = match (then, outcome(covering)) {
                (Then::Ask, Outcome::Ask) if answering.needs_approver(rule) => {
                    "asks an approver first".to_owned()
                }
                (Then::Ask, Outcome::Ask) => "asks first".to_owned(),
                (Then::Ask, _) => format!("requires an approval, and {NO_APPROVER}"),
                (Then::Deny, _) => "denies it".to_owned(),
            };
            let doubt = covering.because();
            let after = because_read(&rule.conditions, known).unwrap_or_default();
            format!("{rule} {does}{doubt}{after}")
        })
        .collect();
    if said.is_empty() {
        said.push(format!("no rule covers it; {because}"));
    }
    said.extend(
        reporting.iter().map(|Covering { rule, then, .. }| format!("{rule} only reports: it would {then}")),
    );
    CallVerdict { outcome: strictest, because: said.join("; ") }
}

/// Describes what a rule does to calls of a tool that it is about.
pub(in crate::cli) fn effect(rule: &CallRule, answering: Answering<'_>) -> String {
    let every = rule.covers_every_call();
    match rule.then {
        _ if rule.reports => format!("only reports what it would {}", rule.then),
        Then::Ask if !answering.is_answered(rule) && every => {
            format!("requires an approval, and {NO_APPROVER}")
        }
        Then::Ask if !answering.is_answered(rule) => {
            format!(
                "denies calls with its arguments or programs, because it requires an approval, and {NO_APPROVER}"
            )
        }
        Then::Ask if every && answering.needs_approver(rule) => {
            "asks an approver before each call".to_owned()
        }
        Then::Ask if answering.needs_approver(rule) => {
            "asks an approver before calls with its arguments or programs".to_owned()
        }
        Then::Ask if every => "asks before each call".to_owned(),
        Then::Ask => "asks before calls with its arguments or programs".to_owned(),
        Then::Deny if every => "denies it".to_owned(),
        Then::Deny => "denies calls with its arguments or programs".to_owned(),
    }
}

/// Returns what the rules do to calls of a tool by a nameless client of this process.
pub(in crate::cli) fn effects(operator: &Operator, plugins: &Plugins, tool: &str) -> Vec<String> {
    let Ok(Policy { calls, approvers, .. }) = operator.policy() else { return Vec::new() };
    let (Ok(circumstances), Ok(places)) = (operator.circumstances(None, None), operator.places()) else {
        return Vec::new();
    };
    let original = plugins.authors_name(tool);
    let about = calls.about(tool, original.as_deref(), &circumstances, &places);
    about.map(|rule| format!("{rule} {}", effect(rule, Answering { approvers, principal: None }))).collect()
}

/// Parses the words of a case after `call`: the tool, its arguments, and circumstances.
pub(super) fn parse_case(text: &str) -> Result<(String, Value, Option<Caller>, Given), String> {
    let mut words = words(text)?.into_iter().peekable();
    let tool = words.next().ok_or("names no tool after `call`")?;
    let mut arguments = Vec::new();
    while let Some(word) = words.next_if(|word| word.contains('=') || word.starts_with('{')) {
        arguments.push(word);
    }
    let arguments = crate::cli::call::parsed_for(&tool, &arguments).map_err(|error| format!("{error:#}"))?;
    if !arguments.is_object() {
        return Err("has arguments that are no JSON object".to_owned());
    }
    let (mut caller, mut given) = (Caller::default(), Given::default());
    while let Some(kind) = words.next() {
        let word = words.next().ok_or_else(|| format!("names no {kind} after `{kind}`"))?;
        match kind.as_str() {
            "as" => caller.name = Some(word),
            "group" => caller.group.push(word),
            "scope" => caller.scope.push(word),
            "client" => given.client = Some(word),
            "remote" => given.remotes.push(word),
            "unix_user" => _ = given.users.insert(word),
            "unix_group" => _ = given.groups.insert(word),
            "after" => given.after.push(word),
            other => {
                return Err(format!(
                    "{other:?} is neither NAME=TEXT nor one of as, group, scope, client, remote, unix_user, unix_group, \
                     after"
                ));
            }
        }
    }
    if caller.name.is_none() && caller != Caller::default() {
        return Err("has a `group` or `scope` without `as PRINCIPAL`".to_owned());
    }
    let caller = caller.name.is_some().then_some(caller);
    Ok((tool, arguments, caller, given))
}

/// Splits a text at blanks that are not in single or double quotes, and removes the quotes.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            Some(_) | None => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("has a quote that does not end".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_case_has_a_tool_its_arguments_and_circumstances() {
        let (tool, arguments, caller, given) = parse_case(
            "Bash command='git push origin \"x\"' timeout:=5 as ann group ops client cursor remote github.com/acme/x \
             unix_user ann unix_group contractors after finance/",
        )
        .expect("a case");
        assert_eq!(
            (tool.as_str(), arguments),
            ("Bash", json!({"command": "git push origin \"x\"", "timeout": 5}))
        );
        let who = Caller { name: Some("ann".to_owned()), group: vec!["ops".to_owned()], scope: Vec::new() };
        assert_eq!(caller, Some(who));
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let expected = Given {
            client: Some("cursor".to_owned()),
            remotes: vec!["github.com/acme/x".to_owned()],
            users: set("ann"),
            groups: set("contractors"),
            after: vec!["finance/".to_owned()],
        };
        assert_eq!(given, expected);
        let (_, arguments, ..) = parse_case("Bash '{\"command\": \"a b\"}'").expect("a case");
        assert_eq!(arguments, json!({"command": "a b"}));
        assert_eq!(parse_case("TaskManager").expect("a case").1, json!({}));
        for (text, why) in [
            ("", "names no tool"),
            ("Bash command='x", "does not end"),
            ("Bash x:=y", "not JSON"),
            ("Bash x=1 x=2", "given twice"),
            ("Bash remote", "names no remote"),
            ("Bash of x", "\"of\" is neither"),
            ("Bash group x", "without `as PRINCIPAL`"),
        ] {
            let said = parse_case(text).expect_err("refused");
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
