//! The tools of approved plugins, for as long as they are what was approved.
//!
//! No lock is held while files of plugins are read but that of the one plugin they belong to: a
//! large component that changed delays who needs it, and lists, which must say whether it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use scorpiox_audit::APPROVAL;
use scorpiox_paths::Stamp;
use scorpiox_plugin::{
    Approval, Decision, Decisions, Fingerprint, Hashes, Origin, PluginFolder, PluginName, Status,
};
use scorpiox_policy::{Candidate, Refusal, Signed, SignedFile};

use super::entry::{Entry, Made, Offering};
use crate::Tool;
use scorpiox_operator::Operator;
use scorpiox_runtime::CodeCache;

/// The plugins of a server. Nothing is read before the first look.
pub struct Plugins {
    /// Has the operator's policy, and knows where this program's own folder is.
    operator: Arc<Operator>,
    plugin_folder: PluginFolder,
    cache: CodeCache,
    state: Mutex<State>,
    /// Tools of a plugin that is tried.
    tried: OnceLock<Vec<Arc<Tool>>>,
}

/// Why a tool of a plugin is not there.
pub struct NotThere {
    /// The plugin.
    pub plugin: PluginName,
    /// A sentence without its end.
    pub why: String,
    /// The rule: a line of the policy, or that it was not approved as it is.
    pub rule: String,
    /// The operator's policy keeps it closed.
    pub is_by_policy: bool,
}

#[derive(Default)]
struct State {
    /// Of the decisions, when they were read last, if a later change would show by it.
    decisions: Option<Stamp>,
    entries: BTreeMap<PluginName, Arc<Entry>>,
    /// What was complained about already.
    said: BTreeSet<String>,
}

impl Plugins {
    /// The plugins in a program's own folder.
    pub fn new(operator: Arc<Operator>) -> Self {
        let own_home = &operator.site().own_home;
        let (plugin_folder, cache) = (PluginFolder::new(own_home), CodeCache::new(own_home));
        Self { plugin_folder, cache, state: Mutex::default(), tried: OnceLock::new(), operator }
    }

    fn own_home(&self) -> &Path {
        &self.operator.site().own_home
    }

    /// Lets the tools of a plugin be called that is not installed, in this process alone, in the place of any of
    /// their names: a person tries it. Whether it may run is for who calls this to find out. The first trial stays.
    pub fn try_out(&self, tools: Vec<Arc<Tool>>) {
        let _ = self.tried.set(tools);
    }

    /// The tool of that name, if it is of a plugin that is tried.
    pub fn tried(&self, tool: &str) -> Option<&Arc<Tool>> {
        self.tried.get()?.iter().find(|tried| tried.name == tool)
    }

    /// All tools, in the order of the plugins' names.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.entries().iter().flat_map(|entry| self.offered(entry).tools).collect()
    }

    /// What plugins offer beside tools, in the order of their names.
    pub fn offerings(&self) -> Vec<Arc<Offering>> {
        self.entries().iter().filter_map(|entry| self.offered(entry).offering).collect()
    }

    /// The tools that are to be known by their names without the plugin's: those names, and the tools. Of several
    /// with one name it is the one whose plugin was approved first. A name with a dot could be another plugin's.
    pub fn plain_tools(&self) -> BTreeMap<String, Arc<Tool>> {
        let mut plain: Vec<_> =
            self.entries().into_iter().filter_map(|entry| Some((entry.plain_since()?, entry))).collect();
        // Those of one second stay in the order of their names.
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

    /// The tool of that name.
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

    /// The tools of the plugins that were approved with this very component.
    pub fn tools_of(&self, component: &Fingerprint) -> Vec<Arc<Tool>> {
        let entries = self.entries();
        entries
            .iter()
            .filter(|entry| entry.is_for(component))
            .flat_map(|entry| self.offered(entry).tools)
            .collect()
    }

    /// What keeps a plugin that was approved from offering its tools.
    pub fn fault(&self, plugin: &PluginName) -> Option<String> {
        let entry = self.with_state(|state| state.entries.get(plugin).cloned())?;
        entry.made(&self.plugin_folder, &self.cache, &self.operator).err()
    }

    /// Why a tool of a plugin that is installed is not there.
    pub fn why_not(&self, tool: &str) -> Option<NotThere> {
        let (plugin, _) = tool.split_once('.')?;
        let name = PluginName::try_from(plugin.to_owned()).ok()?;
        let installed = self.plugin_folder.find(&name).ok()?;
        let decisions = Decisions::read(self.own_home()).ok()?;
        let why = match Status::of(&installed, decisions.get(&name)) {
            Status::Approved(approval) => {
                let refusal = self.standing(&name, approval).err()?;
                let rule = refusal.decided_by.to_string();
                return Some(NotThere { plugin: name, why: refusal.why, rule, is_by_policy: true });
            }
            Status::Waiting => format!(
                "plugin {name} waits for approval, which the user can give with scorpiox-code plugin approve {name}"
            ),
            Status::Denied => format!("plugin {name} was denied by the user"),
            Status::Changed(change) => format!(
                "plugin {name} is disabled, since {change}; the user can look with scorpiox-code plugin show {name}"
            ),
        };
        Some(NotThere { plugin: name, why, rule: APPROVAL.to_owned(), is_by_policy: false })
    }

    /// The plugin of a tool, and the rule by which it runs: a line of the policy, or a person's approval.
    pub fn runs_by(&self, tool: &str) -> Option<(PluginName, String)> {
        let (plugin, _) = tool.split_once('.').filter(|_| self.tried(tool).is_none())?;
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let rule = self.rule_of(&plugin)?;
        Some((plugin, rule))
    }

    /// The rule by which a plugin runs.
    pub fn rule_of(&self, plugin: &PluginName) -> Option<String> {
        let entry = self.with_state(|state| state.entries.get(plugin).cloned())?;
        self.standing_of(&entry).clone().ok()
    }

    /// What the author of a plugin calls a tool, where the plugin is installed under another name.
    pub fn authors_name(&self, tool: &str) -> Option<String> {
        let (plugin, inner) = tool.split_once('.').filter(|_| self.tried(tool).is_none())?;
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let entry = self.with_state(|state| state.entries.get(&plugin).cloned())?;
        Some(format!("{}.{inner}", entry.authors_name()?))
    }

    /// The rule by which a plugin runs that a person approved, or why the operator wants it not to, whatever a
    /// person approved.
    fn standing(&self, name: &PluginName, approval: &Approval) -> Result<String, Refusal> {
        // Of a policy that cannot be used every call is told.
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

    /// What one plugin has, if it may run.
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

    /// Does something with the decisions as they are on disk.
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

/// What was approved, as the policy is asked about it.
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

/// What vouches for a plugin: a signature of its hash, or one of the file that it came in.
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
            // Most people have no plugins.
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

    /// Takes other decisions; plugins about which the same was decided go on as they are.
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

    /// Tells the operator once.
    fn say(&mut self, what: String) {
        if !self.said.contains(&what) {
            tracing::warn!("{what}");
            self.said.insert(what);
        }
    }
}
