//! The tools of approved plugins, as long as they match the approval.
//!
//! While a plugin's files are read, only the lock of that plugin is held. A large component that changed
//! therefore only delays its own callers and list requests, which must know whether it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use scorpiox_audit::APPROVAL;
use scorpiox_fs::Stamp;
use scorpiox_plugin::{
    Approval, Decision, Decisions, Fingerprint, Hashes, Installed, Origin, PluginFolder, PluginName, Status,
};
use scorpiox_policy::{Candidate, Refusal, Signed, SignedFile};

use super::entry::{Entry, Made, Offering, identity};
use crate::Tool;
use scorpiox_runtime::{CodeCache, PluginIdentity};
use scorpiox_workspace_config::Operator;

/// Plugins of a server. Reads nothing until first use.
pub struct Plugins {
    /// Has the operator's policy, and the path of this program's own directory.
    operator: Arc<Operator>,
    plugin_folder: PluginFolder,
    cache: CodeCache,
    state: Mutex<State>,
    /// Tools of a plugin in a trial run.
    tried: OnceLock<Vec<Arc<Tool>>>,
}

/// Reason why a plugin's tool is unavailable.
pub struct NotThere {
    /// Name of the plugin.
    pub plugin: PluginName,
    /// Explanation, without a period.
    pub why: String,
    /// The rule: a policy line, or the missing approval.
    pub rule: String,
    /// `true` if the operator's policy closes the tool.
    pub is_by_policy: bool,
    /// Identity of the plugin, if it is approved.
    pub identity: Option<Box<PluginIdentity>>,
}

#[derive(Default)]
struct State {
    /// Stamp of the decisions at the last read, if it detects later changes.
    decisions: Option<Stamp>,
    entries: BTreeMap<PluginName, Arc<Entry>>,
    /// Warnings that were already logged.
    said: BTreeSet<String>,
}

impl Plugins {
    /// Creates the plugins in the program's own directory.
    pub fn new(operator: Arc<Operator>) -> Self {
        let own_home = &operator.site().own_home;
        let (plugin_folder, cache) = (PluginFolder::new(own_home), CodeCache::new(own_home));
        Self { plugin_folder, cache, state: Mutex::default(), tried: OnceLock::new(), operator }
    }

    /// Creates the plugins under a changed policy. Plugins in a trial stay.
    #[must_use]
    pub fn renewed(&self, operator: Arc<Operator>) -> Self {
        Self { tried: self.tried.clone(), ..Self::new(operator) }
    }

    fn own_home(&self) -> &Path {
        &self.operator.site().own_home
    }

    /// Adds the tools of an uninstalled plugin for a trial in this process, which replace tools of the same
    /// names. The caller decides whether the plugin may run. Only the first call has an effect.
    pub fn try_out(&self, tools: Vec<Arc<Tool>>) {
        let _ = self.tried.set(tools);
    }

    /// Returns the tool of that name, if its plugin is in a trial.
    pub fn tried(&self, tool: &str) -> Option<&Arc<Tool>> {
        self.tried.get()?.iter().find(|tried| tried.name == tool)
    }

    /// Returns all tools, in the order of the plugins' names.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.entries().iter().flat_map(|entry| self.offered(entry).tools).collect()
    }

    /// Returns the prompts and resources of plugins, in the order of the plugins' names.
    pub fn offerings(&self) -> Vec<Arc<Offering>> {
        self.entries().iter().filter_map(|entry| self.offered(entry).offering).collect()
    }

    /// Returns the tools with unprefixed names, by that name. The plugin that was approved first wins a
    /// contested name. A name with a dot is excluded, because it could be another plugin's.
    pub fn plain_tools(&self) -> BTreeMap<String, Arc<Tool>> {
        let mut plain: Vec<_> =
            self.entries().into_iter().filter_map(|entry| Some((entry.plain_since()?, entry))).collect();
        // The sort is stable: plugins approved in the same second stay in the order of their names.
        plain.sort_by_key(|(since, _)| *since);
        let mut found = BTreeMap::new();
        for tool in plain.iter().flat_map(|(_, entry)| self.offered(entry).tools) {
            let own = tool.name.split_once('.').map_or(&*tool.name, |(_, own)| own);
            if !own.contains('.') {
                let own = own.to_owned();
                found.entry(own).or_insert(tool);
            }
        }
        found
    }

    /// Returns the tool of that name.
    pub fn get(&self, tool: &str) -> Option<Arc<Tool>> {
        let Some((plugin, _)) = tool.split_once('.') else {
            return self.plain_tools().remove(tool);
        };
        if let Some(tried) = self.tried(tool) {
            return Some(Arc::clone(tried));
        }
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let entry = self.with_state(|state| state.entries.get(&plugin).cloned())?;
        self.offered(&entry).tools.into_iter().find(|offered| offered.name == tool)
    }

    /// Returns the tools of the plugins that were approved with exactly this component.
    pub fn tools_of(&self, component: &Fingerprint) -> Vec<Arc<Tool>> {
        let entries = self.entries();
        entries
            .iter()
            .filter(|entry| entry.is_for(component))
            .flat_map(|entry| self.offered(entry).tools)
            .collect()
    }

    /// Returns why an approved plugin does not offer its tools.
    pub fn fault(&self, plugin: &PluginName) -> Option<String> {
        let entry = self.with_state(|state| state.entries.get(plugin).cloned())?;
        entry.made(&self.plugin_folder, &self.cache, &self.operator).err()
    }

    /// Returns the identity of the approved plugin that a tool belongs to.
    pub fn identity(&self, tool: &str) -> Option<Box<PluginIdentity>> {
        let (plugin, _) = tool.split_once('.')?;
        let name = PluginName::try_from(plugin.to_owned()).ok()?;
        let installed = self.plugin_folder.find(&name).ok()?;
        match Status::of(&installed, Decisions::read(self.own_home()).ok()?.get(&name)) {
            Status::Approved(approval) => Some(Box::new(self.identity_of(&installed, approval))),
            Status::Waiting | Status::Denied | Status::Changed(_) => None,
        }
    }

    fn identity_of(&self, installed: &Installed, approval: &Approval) -> PluginIdentity {
        identity(installed, &approval.hashes(self.operator.site().home.as_deref()))
    }

    /// Returns why a tool of an installed plugin is unavailable.
    pub fn why_not(&self, tool: &str) -> Option<NotThere> {
        let (plugin, _) = tool.split_once('.')?;
        let name = PluginName::try_from(plugin.to_owned()).ok()?;
        let installed = self.plugin_folder.find(&name).ok()?;
        let decisions = Decisions::read(self.own_home()).ok()?;
        let why = match Status::of(&installed, decisions.get(&name)) {
            Status::Approved(approval) => {
                let refusal = self.standing(&name, approval).err()?;
                let rule = refusal.decided_by.to_string();
                let identity = Some(Box::new(self.identity_of(&installed, approval)));
                return Some(NotThere { plugin: name, why: refusal.why, rule, is_by_policy: true, identity });
            }
            Status::Waiting => format!(
                "plugin {name} waits for approval, which the user can give with scorpiox-code plugin approve {name}"
            ),
            Status::Denied => format!("plugin {name} was denied by the user"),
            Status::Changed(change) => format!(
                "plugin {name} is disabled, since {change}; the user can look with scorpiox-code plugin show {name}"
            ),
        };
        Some(NotThere { plugin: name, why, rule: APPROVAL.to_owned(), is_by_policy: false, identity: None })
    }

    /// Returns the plugin of a tool, and the rule by which it runs: a policy line, or the user's approval.
    pub fn runs_by(&self, tool: &str) -> Option<(PluginName, String)> {
        let (plugin, _) = tool.split_once('.').filter(|_| self.tried(tool).is_none())?;
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let rule = self.rule_of(&plugin)?;
        Some((plugin, rule))
    }

    /// Returns the rule by which a plugin runs.
    pub fn rule_of(&self, plugin: &PluginName) -> Option<String> {
        let entry = self.with_state(|state| state.entries.get(plugin).cloned())?;
        self.standing_of(&entry).clone().ok()
    }

    /// Returns the author's name for a tool, if its plugin is installed under another name.
    pub fn authors_name(&self, tool: &str) -> Option<String> {
        let (plugin, inner) = tool.split_once('.').filter(|_| self.tried(tool).is_none())?;
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let entry = self.with_state(|state| state.entries.get(&plugin).cloned())?;
        Some(format!("{}.{inner}", entry.authors_name()?))
    }

    /// Returns the rule by which an approved plugin runs, or the policy's refusal, which overrides the
    /// approval.
    fn standing(&self, name: &PluginName, approval: &Approval) -> Result<String, Refusal> {
        // Each call reports a policy that cannot be used.
        let Ok(policy) = self.operator.policy() else { return Ok(APPROVAL.to_owned()) };
        let hashes = approval.hashes(self.operator.site().home.as_deref());
        let plugin = candidate(name, &hashes, approval);
        let approves = policy.plugins.check_run(&plugin)?;
        Ok(approves.map_or_else(|| APPROVAL.to_owned(), |rule| rule.source.to_string()))
    }

    fn standing_of<'e>(&self, entry: &'e Entry) -> &'e Result<String, Refusal> {
        entry.standing.get_or_init(|| self.standing(&entry.name, entry.approval()))
    }

    fn entries(&self) -> Vec<Arc<Entry>> {
        self.with_state(|state| state.entries.values().cloned().collect())
    }

    /// Returns the tools and offering of a plugin, if it may run.
    fn offered(&self, entry: &Entry) -> Made {
        let offered = match self.standing_of(entry) {
            Ok(_) => entry.made(&self.plugin_folder, &self.cache, &self.operator),
            Err(refusal) => Err(refusal.why.clone()),
        };
        offered.unwrap_or_else(|why| {
            self.lock(|state| state.say(format!("plugin {} does not run: {why}", entry.name)));
            Made { tools: Vec::new(), offering: None }
        })
    }

    /// Runs a function with the current decisions on disk.
    fn with_state<T>(&self, with: impl FnOnce(&State) -> T) -> T {
        self.lock(|state| {
            state.refresh(self.own_home());
            with(state)
        })
    }

    fn lock<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock())
    }
}

/// Returns the approved plugin in the form that the policy evaluates.
pub fn candidate<'a>(name: &'a PluginName, hashes: &'a Hashes, approval: &'a Approval) -> Candidate<'a> {
    let origin = approval.origin.as_ref();
    let signature = signed(approval.signature.as_deref(), origin);
    Candidate {
        also: hashes.others(),
        original: origin.and_then(|origin| origin.other_name(name)),
        relied_on: approval.signer.as_deref(),
        ..Candidate::new(name.as_str(), hashes.plugin.as_str(), signature)
    }
}

/// Returns the signature of a plugin: of its hash, or of the file it was delivered in.
pub fn signed<'a>(signature: Option<&'a str>, origin: Option<&'a Origin>) -> Signed<'a> {
    let of_file = || {
        let Origin { name, version, file, signature, .. } = origin?;
        let (signature, sha256) = (signature.as_deref()?, file.as_ref()?.as_str());
        Some(Signed::File(SignedFile { signature, name: name.as_str(), version, sha256 }))
    };
    signature.map(Signed::With).or_else(of_file).unwrap_or(Signed::Not)
}

impl State {
    fn refresh(&mut self, own_home: &Path) {
        let now = SystemTime::now();
        let Ok(about) = Decisions::path(own_home).symlink_metadata() else {
            // The common case: no plugins.
            *self = Self::default();
            return;
        };
        let stamp = Some(Stamp::of(&about));
        if self.decisions == stamp {
            return;
        }
        match Decisions::read(own_home) {
            Ok(decisions) => {
                self.adopt(&decisions);
                self.decisions = stamp.filter(|stamp| stamp.is_settled(now));
            }
            Err(error) => {
                self.entries.clear();
                self.decisions = None;
                self.say(format!("no plugin runs: {error}"));
            }
        }
    }

    /// Applies new decisions. Plugins with an unchanged decision keep their entries.
    fn adopt(&mut self, decisions: &Decisions) {
        let old = std::mem::take(&mut self.entries);
        for (name, record) in decisions.iter() {
            let Decision::Approved(approval) = &record.decision else { continue };
            let known = old.get(name).filter(|entry| entry.is_of(record.decided_at, approval));
            let new = || Arc::new(Entry::new(name, record.decided_at, approval));
            let entry = known.cloned().unwrap_or_else(new);
            self.entries.insert(name.clone(), entry);
        }
    }

    /// Logs a warning once.
    fn say(&mut self, what: String) {
        if !self.said.contains(&what) {
            tracing::warn!("{what}");
            self.said.insert(what);
        }
    }
}
