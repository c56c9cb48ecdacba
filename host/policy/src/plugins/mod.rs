//! `[plugins]`: what may be installed and run, and who approves it.

mod pattern;
mod signer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use scorpiox_rules::{Sourced, shorten};

use crate::rules::{Closed, Refusal, Rules};

pub use pattern::PluginPattern;
pub use signer::{Signed, Signer};

/// Which plugins may be installed and run, and who approves what they ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsPolicy {
    /// By name, content and signer.
    pub rules: Rules<PluginPattern>,
    /// Who approves.
    pub approve: Sourced<Approve>,
    /// Whose signatures rules may speak of, by name.
    pub signers: BTreeMap<String, Sourced<Arc<Signer>>>,
}

/// Who may approve what a plugin asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approve {
    /// A person, at a terminal.
    Person,
    /// Nobody but this policy: what it lists by its hash or its signer is approved by that. What it lists by its hash
    /// is so either way.
    Policy,
}

impl Approve {
    /// Its words in the file.
    pub(crate) const WORDS: &'static [&'static str] = &["person", "policy"];
}

impl fmt::Display for Approve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Person => "person",
            Self::Policy => "policy",
        })
    }
}

/// A plugin that rules are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// The SHA-256 of all of it, as `plugin hash` prints it; empty where it is not known.
    pub hash: &'a str,
    /// What vouches for the hash.
    pub signature: Signed<'a>,
}

/// The same, with those who vouch for it.
struct Vouched<'a> {
    name: &'a str,
    hash: &'a str,
    by: Vec<&'a Signer>,
}

impl<'a> Candidate<'a> {
    /// By its name alone.
    pub const fn named(name: &'a str) -> Self {
        Self { name, hash: "", signature: Signed::Not }
    }
}

impl PluginsPolicy {
    pub(crate) fn builtin() -> Self {
        Self {
            rules: Rules::all(PluginPattern::any()),
            approve: Sourced::builtin(Approve::Person),
            signers: BTreeMap::new(),
        }
    }

    /// The rule that lets a plugin be, or a sentence that names what keeps it out.
    pub fn check(&self, plugin: &Candidate<'_>) -> Result<&Sourced<PluginPattern>, Refusal> {
        self.permits(plugin, &self.vouched(plugin))
    }

    /// A plugin with the signers who vouch for it. Rules only compare: each signature is verified once.
    fn vouched<'a>(&'a self, plugin: &Candidate<'a>) -> Vouched<'a> {
        let signers = self.signers.values().map(|signer| &*signer.value);
        let by = signers.filter(|signer| signer.signed(plugin).is_ok()).collect();
        Vouched { name: plugin.name, hash: plugin.hash, by }
    }

    fn permits(
        &self,
        plugin: &Candidate<'_>,
        vouched: &Vouched<'_>,
    ) -> Result<&Sourced<PluginPattern>, Refusal> {
        self.rules.check(|pattern| pattern.covers(vouched)).map_err(|closed| {
            let refusal = closed.refusal(&format!("plugin {}", shorten(plugin.name)), "plugins");
            match closed {
                Closed::By(_) => refusal,
                Closed::NotListed(_) => {
                    let unsigned = self.unsigned(plugin).unwrap_or_default();
                    Refusal { why: refusal.why + &unsigned, ..refusal }
                }
            }
        })
    }

    /// Why a plugin is not one that a signer vouches for, where the name alone would do for a rule that wants one.
    fn unsigned(&self, plugin: &Candidate<'_>) -> Option<String> {
        let lists = std::iter::successors(Some(&self.rules), |rules| rules.outer.as_deref());
        let mut wanted =
            lists.flat_map(|rules| &rules.allow).filter(|rule| rule.value.name.covers(plugin.name));
        wanted.find_map(|rule| {
            let why = rule.value.signer.as_ref()?.signed(plugin).err()?;
            Some(format!("; for \"{}\" ({}): {why}", rule.value, rule.source))
        })
    }

    /// As [`check`](Self::check), of a plugin that a person approved: where nobody but the policy approves, that is
    /// not enough. The rule that approves it in a person's place, if there is one.
    pub fn check_run(&self, plugin: &Candidate<'_>) -> Result<Option<&Sourced<PluginPattern>>, Refusal> {
        let vouched = self.vouched(plugin);
        self.permits(plugin, &vouched)?;
        let approves = self.approving(&vouched);
        if self.approve.value == Approve::Person || approves.is_some() {
            return Ok(approves);
        }
        let why = format!(
            "plugin {} is not listed with its hash or a signer in `allow` of [plugins], and `approve` ({}) leaves approving to the policy{}",
            shorten(plugin.name),
            self.approve.source,
            self.unsigned(plugin).unwrap_or_default()
        );
        Err(Refusal { why, decided_by: self.approve.source })
    }

    /// The rule of `allow` that stands in a person's place, of a plugin that may be.
    fn approving(&self, vouched: &Vouched<'_>) -> Option<&Sourced<PluginPattern>> {
        // Who signs decides of what comes later, too. Where a person approves, that is told them, and no more.
        let approves = |rule: &PluginPattern| {
            rule.hash.is_some() || rule.signer.is_some() && self.approve.value == Approve::Policy
        };
        self.rules.allow.iter().find(|rule| approves(&rule.value) && rule.value.covers(vouched))
    }

    /// The rules of `allow` that let a plugin of this name run by its content or its signer.
    pub fn listed<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sourced<PluginPattern>> {
        let runs = |rule: &PluginPattern| {
            let signature =
                rule.signer.as_ref().map_or(Signed::Not, |signer| Signed::Supposedly(&signer.name));
            let candidate = Candidate { name, hash: rule.hash.as_deref().unwrap_or_default(), signature };
            rule.is_by_content()
                && rule.covers(&self.vouched(&candidate))
                && self.check_run(&candidate).is_ok()
        };
        self.rules.allow.iter().filter(move |rule| runs(&rule.value))
    }

    /// The rule that approves a plugin in a person's place.
    pub fn approves(&self, plugin: &Candidate<'_>) -> Option<&Sourced<PluginPattern>> {
        let vouched = self.vouched(plugin);
        self.permits(plugin, &vouched).ok()?;
        self.approving(&vouched)
    }

    /// Who of the signers vouches for a plugin, whatever the rules say.
    pub fn signed_by(&self, plugin: &Candidate<'_>) -> Option<&Sourced<Arc<Signer>>> {
        self.signers.values().find(|signer| signer.value.signed(plugin).is_ok())
    }
}

#[cfg(test)]
mod tests;
