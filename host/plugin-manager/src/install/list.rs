//! Listing of all plugins.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_plugin::{Decisions, PluginFolder, PluginName, Status};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, visible, width, wrapped};

use crate::install::look::standing;
use scorpiox_workspace_config::{Operator, Site};

/// Prints the installed plugins with their status.
pub fn list(site: &Site) -> Result<ExitCode> {
    let decisions = Decisions::read(&site.own_home)?;
    let operator = Operator::new(site.clone());
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for entry in PluginFolder::new(&site.own_home).scan() {
        match entry {
            Ok(plugin) => {
                let version = one_line(&plugin.manifest.version, columns() / 2);
                let name = format!("{} {version}", plugin.name);
                let status =
                    standing(&operator, &plugin.name, &Status::of(&plugin, decisions.get(&plugin.name)));
                push(&mut text, name.trim_end(), &status);
                seen.insert(plugin.name);
            }
            Err((entry, why)) => {
                let stem = entry.strip_suffix(".wasm").unwrap_or(&entry).to_owned();
                seen.extend(PluginName::try_from(stem));
                push(&mut text, &one_line(&entry, columns() / 2), &format!("not a plugin: {why}"));
            }
        }
    }
    for (name, _) in decisions.iter().filter(|(name, _)| !seen.contains(*name)) {
        push(
            &mut text,
            name.as_str(),
            &format!("its files are gone; `scorpiox-code plugin remove {name}` forgets it"),
        );
    }
    if text.is_empty() {
        text.push_str("no plugins; `scorpiox-code plugin add FILE` installs one\n");
    }
    terminal::print(&Shown::text(&text));
    Ok(ExitCode::SUCCESS)
}

/// Appends a row, and wraps a long description below it.
fn push(text: &mut String, name: &str, what: &str) {
    // Errors of a manifest span several lines, since they quote it.
    let what = what.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    if width(name) + 2 + width(&what) <= columns() {
        let _ = writeln!(text, "{name}  {}", visible(&what));
    } else {
        let _ = writeln!(text, "{name}");
        // A word quoted from a manifest can be longer than a row. `one_line` cuts it with a visible mark.
        for piece in wrapped(&what, columns() - 4) {
            let _ = writeln!(text, "    {}", one_line(&piece, columns() - 4));
        }
    }
}
