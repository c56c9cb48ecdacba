//! Calls that need an approval.

use std::time::Duration;

use scorpiox_policy::{CallRule, Channel};
use scorpiox_text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::request::Extent;

/// A rule that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Name of the rule.
    pub name: String,
    /// File and line of the rule, for people.
    pub source: String,
    /// Text of the rule without its position in the file.
    pub definition: String,
    /// Reason that the rule gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Asking {
    /// Describes a rule.
    pub fn of(rule: &CallRule) -> Self {
        Self {
            name: rule.name.clone(),
            source: rule.source.to_string(),
            definition: rule.definition(),
            reason: rule.reason.clone(),
        }
    }
}

/// A call that needs an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Path of the workspace.
    pub workspace: String,
    /// Unique key of the principal who calls over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Name of that principal in the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Name that the client gives itself, for people; not part of the binding.
    pub client: String,
    /// Name of the tool.
    pub tool: String,
    /// Hash of the component that runs; empty for a tool of the program itself.
    pub component: String,
    /// Arguments as JSON with sorted keys.
    pub arguments: String,
    /// Deciding rules.
    pub rules: Vec<Asking>,
    /// `true` if the answer needs a signature.
    pub is_strong: bool,
    /// Time for the answer, and then for the call, in milliseconds.
    pub within_ms: u64,
    /// Longest approval that all rules offer.
    pub remember: Vec<String>,
}

impl Wanted {
    /// Combines rules into how they ask: the strictest channel, the shortest time, and what all of them remember.
    pub fn ask_like(&mut self, rules: &[&CallRule]) {
        let is_principal = self.principal.is_some();
        self.is_strong = rules.iter().any(|rule| rule.channel_for(is_principal) == Channel::Strong);
        let within = rules.iter().map(|rule| rule.within).min().unwrap_or(Duration::ZERO);
        self.within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let offered = rules.first().map_or(&[][..], |rule| &rule.remember);
        let in_all = |extent: &&_| rules.iter().all(|rule| rule.remember.contains(extent));
        self.remember = offered.iter().filter(in_all).map(ToString::to_string).collect();
        self.rules = rules.iter().map(|rule| Asking::of(rule)).collect();
    }

    /// Returns `true` if an approval of this extent is remembered in the store. One that holds always is an entry of the
    /// policy for the person at the machine.
    pub fn keeps(&self, extent: Extent) -> bool {
        extent == Extent::Workspace || extent == Extent::Always && self.principal.is_some()
    }

    /// Returns the hash of everything that an approval of this extent is bound to: one that holds always is not bound to a
    /// workspace.
    pub fn binding_for(&self, extent: Extent) -> String {
        match extent {
            Extent::Once | Extent::Session | Extent::Workspace => self.binding(),
            Extent::Always => Self { workspace: String::new(), ..self.clone() }.binding(),
        }
    }

    /// Returns the hash of everything that an approval is bound to.
    pub fn binding(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        };
        add(&self.workspace);
        add(if self.principal.is_some() { "principal" } else { "" });
        add(self.principal.as_deref().unwrap_or_default());
        add(self.caller.as_deref().unwrap_or_default());
        add(&self.tool);
        add(&self.component);
        add(&self.arguments);
        for rule in &self.rules {
            add(&rule.definition);
        }
        hex(&hash.finalize())
    }
}
