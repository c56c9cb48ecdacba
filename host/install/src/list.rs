//! All plugins.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_plugin::{Decisions, PluginFolder, PluginName, Status};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, visible, width, wrapped};

use crate::look::standing;
use scorpiox_operator::{Operator, Site};

/// Lists what is installed.
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

/// A row; what does not fit on it follows below.
fn push(text: &mut String, name: &str, what: &str) {
    // Errors of a manifest have lines of it.
    let what = what.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    if width(name) + 2 + width(&what) <= columns() {
        let _ = writeln!(text, "{name}  {}", visible(&what));
    } else {
        let _ = writeln!(text, "{name}");
        // A manifest's errors quote it, and a long word of it would be broken without a mark.
        for piece in wrapped(&what, columns() - 4) {
            let _ = writeln!(text, "    {}", one_line(&piece, columns() - 4));
        }
    }
}
