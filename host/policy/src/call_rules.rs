//! `[[rules]]`: decisions about single calls, by tool, arguments and workspace.
//!
//! Rules only narrow: a call that no rule covers is decided by the other sections alone. Of all rules that
//! cover a call, in both files and in any order, the strictest outcome wins.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use self::spellings::Spellings;
use crate::approvers::{Approver, Approvers};
use crate::rule::{Invalid, NamePattern, Place, Places, Source, Sourced, shorten};

mod asking;
mod spellings;

pub use asking::{Channel, Remember};
pub(crate) use asking::{DEFAULT_WITHIN, parse_within, show_within};

/// Maximum number of patterns in a condition.
pub(crate) const MAX_PATTERNS: usize = 64;
/// Maximum length of a pattern for an argument, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// A person is asked before the call runs.
    Ask,
    /// The call is refused.
    Deny,
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
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
    /// Folders that contain the workspace; empty for all.
    pub workspaces: Vec<Place>,
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

/// A glob for the text of an argument: `*` matches any characters, including `/` and line breaks.
#[derive(Debug, Clone)]
pub struct TextPattern(GlobMatcher);

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl Eq for TextPattern {}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.glob().glob())
    }
}

impl TextPattern {
    /// Returns `true` if the pattern matches only its own text.
    pub fn is_literal(&self) -> bool {
        !self.0.glob().glob().contains(['*', '?', '[', '{'])
    }

    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let shown = shorten(text);
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            let what = format!("pattern \"{shown}\" has {} bytes", text.len());
            return Err(Invalid::new(what, format!("write 1 to {MAX_PATTERN_BYTES} bytes")));
        }
        let glob = GlobBuilder::new(text).literal_separator(false).backslash_escape(true).build();
        glob.map(|glob| Self(glob.compile_matcher())).map_err(|error| {
            let what = format!("pattern \"{shown}\" is not valid: {}", error.kind());
            Invalid::new(what, "write a glob such as \"*git push*\"")
        })
    }
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
    /// Workspace; absolute and resolved.
    pub workspace: &'a Path,
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
    Deny(&'a CallRule),
}

/// All rules of a policy.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CallRules(pub Vec<CallRule>);

impl CallRules {
    /// Decides about a call.
    pub fn decide(&self, call: &CallFacts<'_>, places: &Places) -> CallDecision<'_> {
        let about = self.0.iter().filter(|rule| rule.is_about(call.tool, call.original));
        let mut about = about.filter(|rule| rule.is_in(call.workspace, places)).peekable();
        if about.peek().is_none() {
            return CallDecision::Unruled;
        }
        // Arguments that cannot be parsed are covered by every rule. The tool refuses them anyway.
        let arguments: Option<Value> = serde_json::from_str(call.arguments).ok();
        let mut asking = Vec::new();
        for rule in about.filter(|rule| arguments.as_ref().is_none_or(|given| rule.is_given(given, places))) {
            match rule.then {
                Then::Deny => return CallDecision::Deny(rule),
                Then::Ask => asking.push(rule),
            }
        }
        if asking.is_empty() { CallDecision::Unruled } else { CallDecision::Ask(asking) }
    }

    /// Returns the rules that cover calls of a tool in a workspace, depending on their arguments.
    pub fn about<'a>(
        &'a self,
        tool: &'a str,
        original: Option<&'a str>,
        workspace: &'a Path,
        places: &'a Places,
    ) -> impl Iterator<Item = &'a CallRule> {
        self.0.iter().filter(move |rule| rule.is_about(tool, original) && rule.is_in(workspace, places))
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

    fn is_about(&self, tool: &str, original: Option<&str>) -> bool {
        let covers = |name: &str| self.tools.iter().any(|pattern| pattern.covers(name));
        self.tools.is_empty() || covers(tool) || original.is_some_and(covers)
    }

    fn is_in(&self, workspace: &Path, places: &Places) -> bool {
        let mut folders = self.workspaces.iter().flat_map(|place| places.folders(place));
        self.workspaces.is_empty() || folders.any(|folder| workspace.starts_with(folder))
    }

    fn is_given(&self, arguments: &Value, places: &Places) -> bool {
        self.arguments.iter().all(|condition| {
            let Some(value) = arguments.pointer(&condition.pointer) else { return false };
            let spellings = Spellings::of(value, places);
            condition.patterns.iter().any(|pattern| spellings.any(|text| pattern.0.is_match(text)))
        })
    }

    fn says_the_same(&self, other: &Self) -> bool {
        *self == Self { source: self.source, ..other.clone() }
    }
}

impl fmt::Display for CallRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule \"{}\" ({})", self.name, self.source)
    }
}

#[cfg(test)]
mod tests;
