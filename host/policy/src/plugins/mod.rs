//! `[plugins]`: plugins that may be installed and run, and who approves them.

mod pattern;
mod registry;
mod secret;
mod signer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::rule::{Source, Sourced, shorten};

use crate::rules::{Closed, Refusal, Rules};

pub use pattern::PluginPattern;
pub use registry::{CredentialsFrom, RegistryLogin};
pub use secret::SecretFrom;
use signer::NotSigned;
pub use signer::{Signed, SignedFile, Signer, Updates};

/// Rules for installing and running plugins, and for approving their requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsPolicy {
    /// Rules by name, hash and signer.
    pub rules: Rules<PluginPattern>,
    /// Approver of plugins.
    pub approve: Sourced<Approve>,
    /// Signers that rules can refer to, by name.
    pub signers: BTreeMap<String, Sourced<Arc<Signer>>>,
    /// Signature requirements. A plugin has to be signed by one signer of each.
    pub required: Vec<Required>,
    /// Location of the plugin index.
    pub index: Option<Sourced<String>>,
    /// Credentials for registries, by host as spelled in addresses.
    pub registries: BTreeMap<String, Sourced<RegistryLogin>>,
    /// Locations of plugin secrets, by plugin name and secret name. They replace secrets that the user sets.
    pub secrets: BTreeMap<(String, String), Sourced<SecretFrom>>,
}

/// Requirement that each plugin is signed by one of the signers known at the time of parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    /// Source of the requirement.
    pub source: Source,
    /// Signers, one of which has to have signed the plugin.
    pub signers: Vec<Arc<Signer>>,
}

/// Approver of the permissions that a plugin requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approve {
    /// The user, at a terminal. A rule with the plugin's hash also approves it.
    Person,
    /// Only this policy: an allow rule with the plugin's hash or signer approves it.
    Policy,
}

impl Approve {
    /// Values in the file.
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

/// A plugin to check against the rules.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Name of the plugin.
    pub name: &'a str,
    /// SHA-256 of the complete plugin, as `plugin hash` prints it; empty if unknown.
    pub hash: &'a str,
    /// Other hashes under which the plugin may be known, such as its component's. They match only deny rules.
    pub also: [&'a str; 3],
    /// Signature of the plugin, if there is one.
    pub signature: Signed<'a>,
    /// Name given by the author, if the plugin is installed under another name.
    pub original: Option<&'a str>,
    /// Key of the signer of the plugin at the time the user approved it.
    pub relied_on: Option<&'a str>,
}

/// A candidate with the signers that have signed it.
struct Vouched<'a> {
    name: &'a str,
    hash: &'a str,
    also: [&'a str; 3],
    original: Option<&'a str>,
    by: Vec<&'a Signer>,
}

impl<'a> Candidate<'a> {
    /// Creates a candidate with only a name.
    pub const fn named(name: &'a str) -> Self {
        Self::new(name, "", Signed::Not)
    }

    /// Creates a candidate from its name, its hash, and its signature.
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

    /// Returns the rule that allows a plugin, or a refusal that names the deciding rule.
    pub fn check(&self, plugin: &Candidate<'_>) -> Result<&Sourced<PluginPattern>, Refusal> {
        self.permits(plugin, &self.vouched(plugin))
    }

    /// Adds the signers that have signed a plugin. Each signature is verified only here; rules just compare.
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

    /// Checks the signature requirements.
    fn check_signed(&self, plugin: &Candidate<'_>) -> Result<(), Refusal> {
        let Some(unmet) = self
            .required
            .iter()
            .find(|required| !required.signers.iter().any(|signer| signer.signed(plugin).is_ok()))
        else {
            return Ok(());
        };
        let reasons = unmet.signers.iter().filter_map(|signer| Some((signer, signer.signed(plugin).err()?)));
        // The reason that comes closest to a valid signature is the most helpful one.
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

    /// Checks that the signer that the user relied on when approving the plugin still vouches for it.
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

    /// Returns why a plugin lacks the signature that an allow rule requires, if the rule matches its name.
    fn unsigned(&self, plugin: &Candidate<'_>) -> Option<String> {
        let lists = std::iter::successors(Some(&self.rules), |rules| rules.outer.as_deref());
        let mut wanted =
            lists.flat_map(|rules| &rules.allow).filter(|rule| rule.value.name.covers(plugin.name));
        wanted.find_map(|rule| {
            let why = rule.value.signer.as_ref()?.signed(plugin).err()?;
            Some(format!("; for \"{}\" ({}): {why}", rule.value, rule.source))
        })
    }

    /// Checks if a plugin that the user approved may run. Returns the rule that approves it in the user's
    /// place, if there is one.
    ///
    /// In addition to [`check`](Self::check): with [`Approve::Policy`], the user's approval is not enough.
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

    /// Returns the `allow` rule that approves a permitted plugin in the user's place.
    fn approving(&self, vouched: &Vouched<'_>) -> Option<&Sourced<PluginPattern>> {
        // A signer also vouches for future versions. With [`Approve::Person`], a signature is therefore shown
        // to the user but does not approve the plugin.
        let approves = |rule: &PluginPattern| {
            rule.hash.is_some() || rule.signer.is_some() && self.approve.value == Approve::Policy
        };
        let covers =
            |rule: &&Sourced<PluginPattern>| approves(&rule.value) && rule.value.covers_each_name(vouched);
        // A hash identifies this exact version, a signer any signed version, so the hash is preferred. The
        // order in the file does not matter.
        self.rules.allow.iter().filter(covers).min_by_key(|rule| rule.value.hash().is_none())
    }

    /// Returns the `allow` rules that let a plugin of this name run because of its hash or its signer.
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

    /// Returns the rule that approves a plugin in the user's place.
    pub fn approves(&self, plugin: &Candidate<'_>) -> Option<&Sourced<PluginPattern>> {
        let vouched = self.vouched(plugin);
        self.permits(plugin, &vouched).ok()?;
        self.approving(&vouched)
    }

    /// Returns the signer that lets a new version replace an approved one without asking the user. The new
    /// version must not request more permissions. The signer has to have signed both versions and be trusted
    /// with updates. Applies only with [`Approve::Person`]; with [`Approve::Policy`], the allow list decides.
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

    /// Returns the signer that signed a plugin, regardless of the rules.
    pub fn signed_by(&self, plugin: &Candidate<'_>) -> Option<&Sourced<Arc<Signer>>> {
        self.signers.values().find(|signer| signer.value.signed(plugin).is_ok())
    }
}

#[cfg(test)]
mod tests;
