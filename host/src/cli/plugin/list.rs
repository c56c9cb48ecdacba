//! All plugins.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_plugin::{Ledger, PluginName, Shelf, Status};

use super::look::standing;
use crate::cli::environment::Environment;
use crate::cli::terminal;

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    let ledger = Ledger::read(&environment.own_home)?;
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for entry in Shelf::new(&environment.own_home).scan() {
        match entry {
            Ok(plugin) => {
                let version = &plugin.manifest.version;
                let name = if version.is_empty() {
                    plugin.name.to_string()
                } else {
                    format!("{} {version}", plugin.name)
                };
                let status = standing(&Status::of(&plugin, ledger.get(&plugin.name)));
                let _ = writeln!(text, "{name}  {status}");
                seen.insert(plugin.name);
            }
            Err((entry, why)) => {
                let stem = entry.strip_suffix(".wasm").unwrap_or(&entry).to_owned();
                seen.extend(PluginName::try_from(stem));
                let _ = writeln!(text, "{entry:?}  no plugin: {why}");
            }
        }
    }
    for (name, _) in ledger.iter().filter(|(name, _)| !seen.contains(*name)) {
        let _ = writeln!(text, "{name}  its files are gone; `scorpiox-code plugin remove {name}` forgets it");
    }
    if text.is_empty() {
        text.push_str("no plugins; `scorpiox-code plugin add FILE` installs one\n");
    }
    terminal::print(&text);
    Ok(ExitCode::SUCCESS)
}
