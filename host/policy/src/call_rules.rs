//! `[[rules]]`: decisions about single calls, by tool, arguments, programs and circumstances.
//!
//! Rules only narrow: a call that no rule covers is decided by the other sections alone. Of all rules that
//! cover a call, in both files and in any order, the strictest outcome wins.

use std::cell::LazyCell;
use std::fmt;
use std::time::Duration;

use self::judging::Given;
pub(crate) use self::programs::TOOLS as COMMAND_TOOLS;
pub use self::programs::{Programs, Unknown};
use crate::approvers::{Approver, Approvers};
use crate::circumstances::{Circumstances, Conditions, TextPattern};
use crate::rule::{NamePattern, Places, Source, Sourced};

mod asking;
mod given;
mod hosts;
mod judging;
mod programs;
mod spellings;
mod texts;

pub use asking::{Channel, Remember};
pub(crate) use asking::{DEFAULT_WITHIN, parse_within, show_within};
pub use given::exact_arguments;
pub use hosts::CONNECTION;

/// Maximum number of rules in a file.
pub(crate) const MAX_RULES: usize = 500;

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// A person is asked before the call runs.
    Ask,
    /// The call is refused.
    Deny,
}

impl Then {
    /// Returns the word for the outcome in a policy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A rule. All its conditions have to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRule {
    /// Name in messages and in the audit.
    pub name: String,
    /// Tools; empty for all.
    pub tools: Vec<NamePattern>,
    /// Conditions on arguments.
    pub arguments: Vec<Argument>,
    /// Programs that a command starts.
    pub programs: Programs,
    /// Conditions on the workspace, the account, the client and the caller.
    pub conditions: Conditions,
    /// Outcome.
    pub then: Then,
    /// `true` if a caller over HTTP approves its own calls.
    pub own: bool,
    /// Channel that an answer has to come through.
    pub channel: Channel,
    /// Names of the approvers who may answer; empty for all.
    pub who: Vec<String>,
    /// Time for an answer, and then for the call that it allows.
    pub within: Duration,
    /// Longer approvals that are offered to the person.
    pub remember: Vec<Remember>,
    /// `true` if the rule does nothing except that the audit records its outcome.
    pub reports: bool,
    /// Reason to show.
    pub reason: Option<String>,
    /// Source of the rule.
    pub source: Source,
}

/// A condition on an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// JSON pointer (RFC 6901) to the argument.
    pub pointer: String,
    /// Patterns, one of which has to match.
    pub patterns: Vec<TextPattern>,
}

/// A call that rules decide about.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// Name of the tool here.
    pub tool: &'a str,
    /// Name that the tool's author gave it, if it was renamed.
    pub original: Option<&'a str>,
    /// Arguments as JSON text.
    pub arguments: &'a str,
    /// Workspace, account, client and caller.
    pub circumstances: &'a Circumstances,
}

/// Rules that decide about a call.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum CallDecision<'a> {
    /// No rule covers the call.
    #[default]
    Unruled,
    /// All of these ask.
    Ask(Vec<&'a CallRule>),
    /// This one refuses the call.
    Deny(Covering<'a>),
}

/// All rules of a policy.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CallRules(pub Vec<CallRule>);

/// A rule that covers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covering<'a> {
    /// The rule.
    pub rule: &'a CallRule,
    /// Outcome for the call.
    pub then: Then,
    /// Reason why the arguments or the programs of the command count as covered without being known, as a clause.
    pub doubt: Option<String>,
}

impl Covering<'_> {
    /// Returns the doubt as the end of a sentence about the rule. Empty without one.
    pub fn because(&self) -> String {
        self.doubt.as_ref().map_or_else(String::new, |doubt| format!(", because {doubt}"))
    }
}

impl<'a> From<Vec<Covering<'a>>> for CallDecision<'a> {
    /// Decides by all rules that cover a call, except those that only report.
    fn from(mut covering: Vec<Covering<'a>>) -> Self {
        covering.retain(|covering| !covering.rule.reports);
        if let Some(at) = covering.iter().position(|covering| covering.then == Then::Deny) {
            return Self::Deny(covering.swap_remove(at));
        }
        let asking: Vec<_> = covering.into_iter().map(|covering| covering.rule).collect();
        if asking.is_empty() { Self::Unruled } else { Self::Ask(asking) }
    }
}

impl CallRules {
    /// Returns all rules that cover a call, also those that only report.
    pub fn covering<'a>(&'a self, call: &CallFacts<'_>, places: &Places) -> Vec<Covering<'a>> {
        let about = self.0.iter().filter(|rule| rule.is_about(call.tool, call.original));
        let mut about = about.filter(|rule| rule.conditions.hold(call.circumstances, places)).peekable();
        if about.peek().is_none() {
            return Vec::new();
        }
        let arguments = exact_arguments(call.arguments);
        let command = LazyCell::new(|| programs::of_command(arguments.as_ref()));
        let given: Vec<_> = match &arguments {
            Some(arguments) => judging::given(about, arguments, places).collect(),
            // Arguments that cannot be parsed, or not in one way alone, are covered by every rule.
            None => about.map(Given::without_arguments).collect(),
        };
        given
            .into_iter()
            .filter_map(|Given { rule, doubt }| {
                // The command is read only for rules about programs.
                let command = if rule.programs.is_empty() { None } else { command.as_ref() };
                let (then, unknown) = rule.programs.outcome(rule.then, command)?;
                Some(Covering { rule, then, doubt: unknown.as_deref().map(any_program).or(doubt) })
            })
            .collect()
    }

    /// Returns the rules that cover calls of a tool under some circumstances, depending on their arguments.
    pub fn about<'a>(
        &'a self,
        tool: &'a str,
        original: Option<&'a str>,
        circumstances: &'a Circumstances,
        places: &'a Places,
    ) -> impl Iterator<Item = &'a CallRule> {
        let about = self.0.iter().filter(move |rule| rule.is_about(tool, original));
        about.filter(move |rule| rule.conditions.hold(circumstances, places))
    }

    /// Returns the rules without those that only report.
    pub(crate) fn enforced(&self) -> Self {
        Self(self.0.iter().filter(|rule| !rule.reports).cloned().collect())
    }

    /// Returns the union with the rules of another policy.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let is_new = |rule: &&CallRule| !self.0.iter().any(|known| known.says_the_same(rule));
        Self(self.0.iter().chain(other.0.iter().filter(is_new)).cloned().collect())
    }
}

impl CallRule {
    /// Returns the channel for calls of a principal over HTTP, or of the person at this machine. Principals do not
    /// approve their own calls without a proof of who answers, unless the rule says so.
    pub fn channel_for(&self, is_principal: bool) -> Channel {
        if is_principal && !self.own { Channel::Strong } else { self.channel }
    }

    /// Returns the approvers whose answers the rule accepts for calls of a principal. The administrator's rules
    /// accept the administrator's approvers, and nobody approves their own calls unless the rule says so.
    pub fn answered_by<'a>(
        &'a self,
        approvers: &'a Approvers,
        principal: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a Sourced<Approver>)> {
        let is_managed = matches!(self.source, Source::Managed(_));
        approvers.iter().filter(move |(name, approver)| {
            let is_listed = self.who.is_empty() || self.who.iter().any(|who| who == name);
            let is_managed_too = !is_managed || matches!(approver.source, Source::Managed(_));
            let is_caller = principal.is_some() && approver.value.principal.as_deref() == principal;
            is_listed && is_managed_too && (self.own || !is_caller)
        })
    }

    /// Returns why the programs of a call's command are unknown, as the end of a sentence about the rule. Empty if the
    /// rule does not depend on that.
    pub fn doubt(&self, arguments: &str) -> String {
        let arguments = exact_arguments(arguments);
        let command = programs::of_command(arguments.as_ref());
        let outcome = self.programs.outcome(self.then, command.as_ref());
        let (then, unknown) = outcome.unwrap_or((self.then, None));
        Covering { rule: self, then, doubt: unknown.as_deref().map(any_program) }.because()
    }

    /// Returns `true` if a person may be asked because of the rule.
    pub fn may_ask(&self) -> bool {
        !self.reports && (self.then == Then::Ask || self.programs.may_ask())
    }

    /// Returns `true` if the rule covers each call of its tools, under its circumstances.
    pub fn covers_every_call(&self) -> bool {
        self.arguments.is_empty() && self.programs.is_empty()
    }

    fn is_about(&self, tool: &str, original: Option<&str>) -> bool {
        if !self.programs.is_empty() && !programs::has_command(tool) {
            return false;
        }
        let covers = |name: &str| self.tools.iter().any(|pattern| pattern.covers(name));
        self.tools.is_empty() || covers(tool) || original.is_some_and(covers)
    }

    fn says_the_same(&self, other: &Self) -> bool {
        *self == Self { source: self.source, ..other.clone() }
    }
}

/// Returns the doubt about a command whose programs are unknown.
fn any_program(why: &str) -> String {
    format!("the command may start any program: it has {why}")
}

impl fmt::Display for CallRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule \"{}\" ({})", self.name, self.source)
    }
}

#[cfg(test)]
mod tests;
