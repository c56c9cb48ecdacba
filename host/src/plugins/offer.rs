//! The tools of approved plugins, for as long as they are what was approved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use scorpiox_plugin::{
    Approval, Asks, Decision, Installed, Ledger, Limits, PluginName, Record, Shelf, Stamp, Status,
};

use super::grants::{grants, limits};
use crate::runtime::{Binary, Component, Kept};
use crate::tools::{Definition, Kind, Tool};

/// The plugins of a server. Nothing is read before the first look.
pub struct Plugins {
    own_home: PathBuf,
    shelf: Shelf,
    kept: Kept,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the decisions, when they were read last.
    ledger: Option<Stamp>,
    records: BTreeMap<PluginName, Record>,
    offers: BTreeMap<PluginName, Offer>,
    /// What was complained about already.
    said: BTreeSet<String>,
}

/// A plugin that runs.
struct Offer {
    stamps: (Option<Stamp>, Stamp),
    installed: Installed,
    tools: Vec<Arc<Tool>>,
}

impl Plugins {
    /// The plugins in a program's own folder.
    pub fn new(own_home: &Path) -> Self {
        Self {
            own_home: own_home.to_owned(),
            shelf: Shelf::new(own_home),
            kept: Kept::new(own_home),
            state: Mutex::default(),
        }
    }

    /// All tools, in the order of the plugins' names.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        let mut state = self.state();
        let names: Vec<_> = state.records.keys().cloned().collect();
        names.iter().flat_map(|name| self.offered(&mut state, name)).collect()
    }

    /// The tool of that name.
    pub fn get(&self, tool: &str) -> Option<Arc<Tool>> {
        let (plugin, _) = tool.split_once('.')?;
        let plugin = PluginName::try_from(plugin.to_owned()).ok()?;
        let mut state = self.state();
        self.offered(&mut state, &plugin).into_iter().find(|offered| offered.name == tool)
    }

    /// The state, with the decisions as they are on disk.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Ledger::path(&self.own_home).symlink_metadata().ok().map(|about| Stamp::of(&about));
        if stamp.is_none() {
            // Most people have no plugins.
            *state = State::default();
        } else if stamp != state.ledger || !stamp.as_ref().is_some_and(is_settled) {
            match Ledger::read(&self.own_home) {
                Ok(ledger) => {
                    let records =
                        ledger.iter().map(|(name, record)| (name.clone(), record.clone())).collect();
                    state.adopt(records);
                    state.ledger = stamp;
                }
                Err(error) => {
                    state.adopt(BTreeMap::new());
                    state.ledger = None;
                    state.say(format!("no plugin runs: {error}"));
                }
            }
        }
        state
    }

    /// The tools of one plugin, if it may run.
    fn offered(&self, state: &mut State, name: &PluginName) -> Vec<Arc<Tool>> {
        if let Some(offer) = state.offers.get(name) {
            let is_same = offer.installed.stamps().is_ok_and(|stamps| stamps == offer.stamps);
            let (manifest, component) = &offer.stamps;
            if is_same && is_settled(component) && manifest.as_ref().is_none_or(is_settled) {
                return offer.tools.clone();
            }
        }
        let Some(record) = state.records.get(name).cloned() else { return Vec::new() };
        let known = state.offers.remove(name);
        match self.offer(name, &record, known) {
            Ok(Some(offer)) => {
                let tools = offer.tools.clone();
                state.offers.insert(name.clone(), offer);
                tools
            }
            Ok(None) => Vec::new(),
            Err(why) => {
                state.say(format!("plugin {name} does not run: {why}"));
                Vec::new()
            }
        }
    }

    /// A plugin that runs, if its files are what was approved. `known` is what it was before they were
    /// looked at, by the same decision: its component, with the calls that run, stays.
    fn offer(
        &self,
        name: &PluginName,
        record: &Record,
        known: Option<Offer>,
    ) -> Result<Option<Offer>, String> {
        let installed = self.shelf.find(name)?;
        // Before the files are read: what changes meanwhile shows the next time.
        let stamps = installed.stamps().map_err(|error| error.to_string())?;
        let approval = match Status::of(&installed, Some(record)) {
            Status::Approved(approval) => approval,
            Status::Denied | Status::Waiting => return Ok(None),
            Status::Changed(change) => {
                return Err(format!(
                    "{change}; look at it with `scorpiox-code plugin show {name}`, and approve it again"
                ));
            }
        };
        if let Some(known) = known {
            return Ok(Some(Offer { stamps, installed, ..known }));
        }
        let definitions: Vec<Definition> =
            serde_json::from_str(approval.tools.get()).map_err(|error| error.to_string())?;
        let component = Arc::new(self.component(&installed, approval)?);
        let tool = |definition: Definition| {
            let inner = definition.name.to_string();
            let full = format!("{name}.{inner}");
            let definition = Definition { name: full.clone().into(), ..definition };
            let kind = Kind::Plugin { component: Arc::clone(&component), definition, inner };
            Arc::new(Tool { name: full.into(), kind })
        };
        Ok(Some(Offer { stamps, installed, tools: definitions.into_iter().map(tool).collect() }))
    }

    fn component(&self, installed: &Installed, approval: &Approval) -> Result<Component, String> {
        let grants = grants(&approval.capabilities).map_err(|error| error.to_string())?;
        let (kept, fingerprint, source) = (self.kept.clone(), approval.component.clone(), installed.clone());
        let load =
            move |engine: &wasmtime::Engine| kept.load(engine, &fingerprint, || source.read_component());
        // Its data is its own, whatever a built-in tool is called.
        let namespace = format!("plugin/{}", installed.name);
        let mut component = Component::new(&namespace, Binary::Shipped(Box::new(load)), grants);
        component.fingerprint = Some(approval.component.as_str().into());
        component.limits = limits(&approval.limits);
        component.most_calls = approval.limits.calls;
        Ok(component)
    }
}

/// What tells one decision from another.
fn decided(record: &Record) -> (u64, Option<(String, &Asks, &Limits)>) {
    let approval = match &record.decision {
        Decision::Approved(approval) => {
            let pinned = format!("{} {} {}", approval.component, approval.manifest, approval.definitions);
            Some((pinned, &approval.capabilities, &approval.limits))
        }
        Decision::Denied => None,
    };
    (record.decided_at, approval)
}

impl State {
    /// Takes other decisions; plugins about which the same was decided go on as they are.
    fn adopt(&mut self, records: BTreeMap<PluginName, Record>) {
        let is_same =
            |name: &PluginName| self.records.get(name).map(decided) == records.get(name).map(decided);
        self.offers.retain(|name, _| is_same(name));
        self.records = records;
    }

    /// Tells the operator once.
    fn say(&mut self, what: String) {
        if !self.said.contains(&what) {
            tracing::warn!("{what}");
            self.said.insert(what);
        }
    }
}

fn is_settled(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    stamp.is_settled(i64::try_from(now).unwrap_or(i64::MAX))
}
