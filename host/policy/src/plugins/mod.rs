//! `[plugins]`: what may be installed and run, and who approves it.

mod pattern;
mod registry;
mod secret;
mod signer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use scorpiox_rules::{Source, Sourced, shorten};

use crate::rules::{Closed, Refusal, Rules};

pub use pattern::PluginPattern;
pub use registry::{CredentialsFrom, RegistryLogin};
pub use secret::SecretFrom;
use signer::NotSigned;
pub use signer::{Signed, SignedFile, Signer, Updates};

/// Which plugins may be installed and run, and who approves what they ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsPolicy {
    /// By name, content and signer.
    pub rules: Rules<PluginPattern>,
    /// Who approves.
    pub approve: Sourced<Approve>,
    /// Whose signatures rules may speak of, by name.
    pub signers: BTreeMap<String, Sourced<Arc<Signer>>>,
    /// Who has to have signed each plugin: one of each.
    pub required: Vec<Required>,
    /// Where the list is of plugins that can be had.
    pub index: Option<Sourced<String>>,
    /// Who somebody is to registries, by their hosts as addresses have them.
    pub registries: BTreeMap<String, Sourced<RegistryLogin>>,
    /// Where secrets of plugins are, by the names of both: in the place of those that a person set.
    pub secrets: BTreeMap<(String, String), Sourced<SecretFrom>>,
}

/// That each plugin has to be signed, by one of those who were signers where that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    /// Where it is written.
    pub source: Source,
    /// Whose signature will do.
    pub signers: Vec<Arc<Signer>>,
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
    /// Other hashes that somebody can have seen of it, such as its component's: they close it, and never open it.
    pub also: [&'a str; 3],
    /// What vouches for it.
    pub signature: Signed<'a>,
    /// Its author's name for it, where it was installed under another one.
    pub original: Option<&'a str>,
    /// The key of the signer by whom it was signed when a person approved it.
    pub relied_on: Option<&'a str>,
}

/// The same, with those who vouch for it.
struct Vouched<'a> {
    name: &'a str,
    hash: &'a str,
    also: [&'a str; 3],
    original: Option<&'a str>,
    by: Vec<&'a Signer>,
}

impl<'a> Candidate<'a> {
    /// By its name alone.
    pub const fn named(name: &'a str) -> Self {
        Self::new(name, "", Signed::Not)
    }

    /// By its name, its hash, and what vouches for it.
    pub const fn new(name: &'a str, hash: &'a str, signature: Signed<'a>) -> Self {
        Self { name, hash, also: [""; 3], signature, original: None, relied_on: None }
    }
}

impl PluginsPolicy {
    pub(crate) fn builtin() -> Self {
        Self {
            rules: Rules::all(PluginPattern::any()),
            approve: Sourced::builtin(Approve::Person),
            signers: BTreeMap::new(),
            required: Vec::new(),
            index: None,
            registries: BTreeMap::new(),
            secrets: BTreeMap::new(),
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
        let Candidate { name, hash, also, original, .. } = *plugin;
        Vouched { name, hash, also, original, by }
    }

    fn permits(
        &self,
        plugin: &Candidate<'_>,
        vouched: &Vouched<'_>,
    ) -> Result<&Sourced<PluginPattern>, Refusal> {
        let denies = |pattern: &PluginPattern| pattern.covers_any_way(vouched);
        let allows = |pattern: &PluginPattern| pattern.covers_each_name(vouched);
        let rule = self.rules.check_by(denies, allows).map_err(|closed| {
            let refusal = closed.refusal(&format!("plugin {}", shorten(plugin.name)), "plugins");
            let more = match closed {
                Closed::By(rule) if plugin.original.is_none() || rule.value.covers(vouched) => String::new(),
                Closed::NotListed(_) if plugin.original.is_none() => {
                    self.unsigned(plugin).unwrap_or_default()
                }
                Closed::By(_) | Closed::NotListed(_) => {
                    format!("; its own name is {}", shorten(plugin.original.unwrap_or_default()))
                }
            };
            Refusal { why: refusal.why + &more, ..refusal }
        })?;
        self.check_signed(plugin)?;
        Ok(rule)
    }

    /// Whether a plugin is signed, if it has to be.
    fn check_signed(&self, plugin: &Candidate<'_>) -> Result<(), Refusal> {
        let Some(unmet) = self
            .required
            .iter()
            .find(|required| !required.signers.iter().any(|signer| signer.signed(plugin).is_ok()))
        else {
            return Ok(());
        };
        let reasons = unmet.signers.iter().filter_map(|signer| Some((signer, signer.signed(plugin).err()?)));
        // What is nearest to a signature says most.
        let nearest = reasons.max_by_key(|(_, why)| !matches!(why, NotSigned::Name | NotSigned::ByAnother));
        let detail = nearest.map_or_else(
            || "[plugins.signers] names nobody who could".to_owned(),
            |(signer, why)| format!("for signer {}: {why}", signer.name),
        );
        let why = format!(
            "plugin {} has to be signed (`require_signature` of [plugins], {}); {detail}",
            shorten(plugin.name),
            unmet.source
        );
        Err(Refusal { why, decided_by: unmet.source })
    }

    /// Whether the signer still vouches for a plugin by whom it was signed when a person approved it.
    fn check_relied_on(&self, plugin: &Candidate<'_>) -> Result<(), Refusal> {
        let Some(key) = plugin.relied_on else { return Ok(()) };
        let vouches =
            |signer: &Sourced<Arc<Signer>>| signer.value.key() == key && signer.value.signed(plugin).is_ok();
        if self.signers.values().any(vouches) {
            return Ok(());
        }
        let name = shorten(plugin.name);
        let why = format!(
            "plugin {name} was approved as signed with the key {}, and no signer of [plugins.signers] has that for it \
             any more; it waits for approval again (scorpiox-code plugin approve {name})",
            shorten(key)
        );
        Err(Refusal { why, decided_by: self.approve.source })
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
        if approves.is_some() {
            return Ok(approves);
        }
        if self.approve.value == Approve::Person {
            self.check_relied_on(plugin)?;
            return Ok(None);
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
        let covers =
            |rule: &&Sourced<PluginPattern>| approves(&rule.value) && rule.value.covers_each_name(vouched);
        // A hash means this very version; a signature, whatever is signed. Their order in the file says nothing.
        self.rules.allow.iter().filter(covers).min_by_key(|rule| rule.value.hash().is_none())
    }

    /// The rules of `allow` that let a plugin of this name run by its content or its signer.
    pub fn listed<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sourced<PluginPattern>> {
        let runs = |rule: &PluginPattern| {
            let signature =
                rule.signer.as_ref().map_or(Signed::Not, |signer| Signed::Supposedly(&signer.name));
            let candidate = Candidate::new(name, rule.hash.as_deref().unwrap_or_default(), signature);
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

    /// The signer who lets a new version take the place of an approved one without a question, where that asks for no
    /// more: one who signed both, and is trusted with that. Only where a person approves: where the policy does, its
    /// list says all.
    pub fn takes_update(
        &self,
        new: &Candidate<'_>,
        approved: &Candidate<'_>,
    ) -> Option<&Sourced<Arc<Signer>>> {
        if self.approve.value != Approve::Person
            || self.check(new).is_err()
            || self.check_run(approved).is_err()
        {
            return None;
        }
        self.signers.values().find(|signer| {
            let signer = &signer.value;
            signer.updates == Updates::Signed && signer.signed(new).is_ok() && signer.signed(approved).is_ok()
        })
    }

    /// Who of the signers vouches for a plugin, whatever the rules say.
    pub fn signed_by(&self, plugin: &Candidate<'_>) -> Option<&Sourced<Arc<Signer>>> {
        self.signers.values().find(|signer| signer.value.signed(plugin).is_ok())
    }
}

#[cfg(test)]
mod tests;
