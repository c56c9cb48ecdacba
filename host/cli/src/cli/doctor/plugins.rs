//! Reports the tools of running plugins, and why other plugins do not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use scorpiox_plugin::{Decision, Decisions, PluginFolder, PluginName, Record, Status};
use scorpiox_policy::Source;

use super::{Report, granted};
use scorpiox_plugin_manager::install::closed;
use scorpiox_runtime::Component;
use scorpiox_server::Workspace;
use scorpiox_tools::{Kind, Tool};

/// Tools of a plugin.
struct Offered<'a> {
    component: &'a Component,
    all: usize,
    /// Number of tools that the policy closes, by the line that does.
    closed: BTreeMap<Source, usize>,
    /// Number of tools switched off by the settings.
    off: usize,
}

/// Reports each plugin in a row, regardless of its number of tools.
pub(super) fn report(report: &mut Report, workspace: &Workspace, tools: &[Arc<Tool>]) {
    let offered = offered(workspace, tools);
    for (name, Offered { component, all, closed, off }) in &offered {
        let mut tools = if *all == 1 { "1 tool".to_owned() } else { format!("{all} tools") };
        for (line, count) in closed {
            let _ = write!(tools, ", {count} closed by [tools] of the policy ({line})");
        }
        if *off > 0 {
            let _ = write!(tools, ", {off} switched off by the settings");
        }
        match granted(workspace, component) {
            Err(why) => report.bad(format_args!("plugin {name}: {why}")),
            Ok(grants) => report.good(format_args!("plugin {name}, {tools}: {grants}")),
        }
    }
    others(report, workspace, &offered.keys().copied().collect());
}

fn offered<'a>(workspace: &Workspace, tools: &'a [Arc<Tool>]) -> BTreeMap<&'a str, Offered<'a>> {
    let mut plugins: BTreeMap<&str, Offered<'_>> = BTreeMap::new();
    for tool in tools {
        if let Kind::Plugin { component, .. } = &tool.kind {
            let name = tool.name.split_once('.').map_or(&*tool.name, |(plugin, _)| plugin);
            let new = || Offered { component, all: 0, closed: BTreeMap::new(), off: 0 };
            let offered = plugins.entry(name).or_insert_with(new);
            offered.all += 1;
            match workspace.closed_by_policy(&tool.name) {
                Some(refusal) => *offered.closed.entry(refusal.decided_by).or_default() += 1,
                None => offered.off += usize::from(!workspace.is_on(tool)),
            }
        }
    }
    plugins
}

/// Reports plugins without tools. An approved plugin that does not run is a failure; a plugin that is denied
/// or waits for a decision is not.
fn others(report: &mut Report, workspace: &Workspace, offered: &BTreeSet<&str>) {
    let own_home = &workspace.operator().site().own_home;
    let decisions = match Decisions::read(own_home) {
        Ok(decisions) => decisions,
        Err(error) => return report.bad(format_args!("no plugin runs: {error}")),
    };
    let mut seen = BTreeSet::new();
    for entry in PluginFolder::new(own_home).scan() {
        match entry {
            Ok(plugin) => {
                if !offered.contains(plugin.name.as_str()) {
                    let status = Status::of(&plugin, decisions.get(&plugin.name));
                    standing(report, workspace, &plugin.name, status);
                }
                seen.insert(plugin.name);
            }
            Err((entry, why)) => {
                report.bad(format_args!("plugin {entry} cannot be used: {why}"));
                seen.extend(PluginName::try_from(entry.strip_suffix(".wasm").unwrap_or(&entry).to_owned()));
            }
        }
    }
    for (name, record) in decisions.iter().filter(|(name, _)| !seen.contains(*name)) {
        gone(report, name, record);
    }
}

fn standing(report: &mut Report, workspace: &Workspace, name: &PluginName, status: Status<'_>) {
    let decide = format!("look at it and decide with `scorpiox-code plugin approve {name}`");
    match status {
        Status::Waiting => report.note(format_args!("plugin {name} waits for approval: {decide}")),
        Status::Denied => report.note(format_args!("plugin {name} does not run: it was denied")),
        Status::Changed(change) => report.bad(format_args!("plugin {name} is disabled: {change}; {decide}")),
        Status::Approved(approval) => {
            if let Some(why) = closed(workspace.operator(), name, approval) {
                return report.note(format_args!("plugin {name} does not run: {why}"));
            }
            let why = workspace.plugins().fault(name).unwrap_or_else(|| "it offers no tools".to_owned());
            report.bad(format_args!("plugin {name} does not run: {why}"));
        }
    }
}

/// Reports a plugin whose files are missing.
fn gone(report: &mut Report, name: &PluginName, record: &Record) {
    let remove = format!("`scorpiox-code plugin remove {name}`");
    match record.decision {
        Decision::Denied => {
            report
                .note(format_args!("plugin {name} was denied, and its files are gone; {remove} forgets it"));
        }
        Decision::Approved(_) => report.bad(format_args!(
            "plugin {name} does not run: its files are gone; install it again, or run {remove}"
        )),
    }
}
