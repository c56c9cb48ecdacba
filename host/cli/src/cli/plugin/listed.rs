//! `plugin list --json` and `plugin show --json`, in the form that docs/json.md defines.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use scorpiox_plugin::{Decisions, PluginFolder, PluginName, Record, Status};
use scorpiox_plugin_manager::install::{Look, closed};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_workspace_config::Operator;
use serde_json::{Value, json};

use crate::cli::environment::Environment;

pub(super) fn list(environment: &Environment) -> Result<ExitCode> {
    let own_home = &environment.own_home;
    let decisions = Decisions::read(own_home)?;
    let operator = Operator::new(environment.site());
    let mut plugins = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in PluginFolder::new(own_home).scan() {
        match entry {
            Ok(plugin) => {
                let status = Status::of(&plugin, decisions.get(&plugin.name));
                let (state, why) = state(&operator, &plugin.name, &status);
                let version = &plugin.manifest.version;
                plugins.push(entry_of(plugin.name.as_str(), Some(version), state, why.as_deref()));
                seen.insert(plugin.name);
            }
            Err((entry, why)) => {
                let stem = entry.strip_suffix(".wasm").unwrap_or(&entry).to_owned();
                plugins.push(entry_of(&entry, None, "broken", Some(&why)));
                seen.extend(PluginName::try_from(stem));
            }
        }
    }
    for (name, _) in decisions.iter().filter(|(name, _)| !seen.contains(*name)) {
        plugins.push(entry_of(name.as_str(), None, "gone", None));
    }
    terminal::print(&Shown::json(&json!({ "plugins": plugins }).to_string()));
    Ok(ExitCode::SUCCESS)
}

fn entry_of(name: &str, version: Option<&String>, state: &str, why: Option<&str>) -> Value {
    json!({ "name": name, "version": version, "state": state, "why": why })
}

pub(super) fn show(environment: &Environment, name: &PluginName) -> Result<ExitCode> {
    let site = environment.site();
    let decisions = Decisions::read(&site.own_home)?;
    let installed = PluginFolder::new(&site.own_home)
        .find(name)
        .map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))?;
    let status = Status::of(&installed, decisions.get(name));
    let approved = if let Status::Approved(approval) = &status { Some(*approval) } else { None };
    let (state, why) = state(&Operator::new(site.clone()), name, &status);
    let mut look = Look::at(&site, installed.clone(), None).with_context(|| name.to_string())?;
    look.plain_names = decisions.get(name).is_some_and(Record::has_plain_names);
    let manifest = &look.installed.manifest;
    let hashes = look.hashes();
    let tools = look
        .described
        .tools
        .iter()
        .map(|tool| json!({ "name": tool["name"], "description": tool["description"] }));
    let shown = json!({
        "name": name.as_str(),
        "version": manifest.version,
        "description": manifest.description,
        "state": state,
        "why": why,
        "hash": hashes.plugin.as_str(),
        "approval_hash": hashes.approval.as_str(),
        "component_sha256": hashes.component.as_str(),
        "signed": look.is_signed(),
        "from": look.origin.as_ref().map(|origin| &origin.address),
        "requests": manifest.capabilities,
        "approved": approved.map(|approval| &approval.capabilities),
        "limits": manifest.limits,
        "secrets": manifest.secrets.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
    });
    terminal::print(&Shown::json(&shown.to_string()));
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of a plugin's state, and the reason why it does not run.
fn state(operator: &Operator, name: &PluginName, status: &Status<'_>) -> (&'static str, Option<String>) {
    match status {
        Status::Waiting => ("waiting", None),
        Status::Denied => ("denied", None),
        Status::Changed(change) => ("changed", Some(change.to_string())),
        Status::Approved(approval) => match closed(operator, name, approval) {
            Some(why) => ("closed", Some(why)),
            None => ("approved", None),
        },
    }
}
