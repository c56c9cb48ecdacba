//! All plugins.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_plugin::{Ledger, PluginName, Shelf, Status};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, visible, width, wrapped};

use super::look::standing;
use crate::capabilities::shell::Shell;
use crate::cli::environment::Environment;
use crate::cli::policy;

pub(super) fn run(environment: &Environment) -> Result<ExitCode> {
    let ledger = Ledger::read(&environment.own_home)?;
    let shell = Shell::new(policy::setup(environment));
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for entry in Shelf::new(&environment.own_home).scan() {
        match entry {
            Ok(plugin) => {
                let version = one_line(&plugin.manifest.version, columns() / 2);
                let name = format!("{} {version}", plugin.name);
                let status = standing(&shell, &plugin.name, &Status::of(&plugin, ledger.get(&plugin.name)));
                push(&mut text, name.trim_end(), &status);
                seen.insert(plugin.name);
            }
            Err((entry, why)) => {
                let stem = entry.strip_suffix(".wasm").unwrap_or(&entry).to_owned();
                seen.extend(PluginName::try_from(stem));
                push(&mut text, &one_line(&entry, columns() / 2), &format!("no plugin: {why}"));
            }
        }
    }
    for (name, _) in ledger.iter().filter(|(name, _)| !seen.contains(*name)) {
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
