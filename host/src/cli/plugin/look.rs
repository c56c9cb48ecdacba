//! A plugin as a person has to see it before they decide.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use scorpiox_plugin::{Asks, Fingerprint, Installed, Ledger, Limits, PluginName, Shelf, Stamps, Status};
use wasmtime::Engine;

use crate::cli::environment::Environment;
use crate::cli::terminal;
use crate::plugins::{Described, describe};
use crate::runtime::Kept;

/// A plugin that was looked into.
pub(super) struct Look {
    pub(super) installed: Installed,
    pub(super) component: Fingerprint,
    /// Of the files before they were read, where they were old enough.
    pub(super) stamps: Option<Stamps>,
    pub(super) described: Described,
}

impl Look {
    /// Looks into a plugin, without giving it anything.
    pub(super) fn at(environment: &Environment, installed: Installed) -> Result<Self> {
        let stamps = installed.settled_stamps().cloned();
        let bytes = installed.read_component().with_context(|| installed.component.display().to_string())?;
        // As the server's, so that the code can be kept for it.
        let engine = Engine::new(&scorpiox_engine::pooled_config())?;
        let kept = Kept::new(&environment.own_home);
        let described = describe(&engine, &bytes, &installed.manifest, &kept)
            .with_context(|| format!("{} can be no plugin", installed.manifest.name))?;
        Ok(Self { component: Fingerprint::of(&bytes), stamps, installed, described })
    }

    /// Of everything that is approved together.
    pub(super) fn hash(&self) -> Fingerprint {
        let Self { installed, component, described, .. } = self;
        let parts =
            [installed.manifest_fingerprint.as_str(), component.as_str(), described.fingerprint().as_str()]
                .join(" ");
        Fingerprint::of(parts.as_bytes())
    }

    /// All of it, for people.
    pub(super) fn text(&self) -> String {
        let manifest = &self.installed.manifest;
        let mut text = String::new();
        let version =
            if manifest.version.is_empty() { String::new() } else { format!(" {}", manifest.version) };
        let _ = writeln!(text, "{}{version}", manifest.name);
        if !manifest.description.is_empty() {
            for line in manifest.description.lines().filter(|line| !line.trim().is_empty()) {
                let _ = writeln!(text, "  | {line}");
            }
        }
        let _ = writeln!(text, "  component {}\n", self.component);
        text.push_str("Its tools\n");
        for tool in &self.described.tools {
            let name = tool["name"].as_str().unwrap_or_default();
            let title = tool["title"].as_str().filter(|title| *title != name);
            let title = title.map_or_else(String::new, |title| format!(" ({title})"));
            let _ = writeln!(text, "  {}.{name}{title}: {}", manifest.name, hints(tool));
            let description = tool["description"].as_str().unwrap_or_default();
            // Marked, so that no description looks like a part of this.
            for line in description.lines().filter(|line| !line.trim().is_empty()) {
                let _ = writeln!(text, "    | {line}");
            }
        }
        for (name, why) in &self.described.refused {
            let _ = writeln!(text, "  {name} is no tool: {why}");
        }
        // Last, right above the question.
        text.push('\n');
        text.push_str(&asks(&manifest.capabilities, &manifest.limits));
        text
    }
}

/// What clients are told of a tool, by which some of them do not ask before each call.
fn hints(tool: &serde_json::Value) -> String {
    let hints = &tool["hints"];
    let says = |name: &str, yes, no| if hints[name] == true { yes } else { no };
    [
        says("read_only", "says that it changes nothing", "may change something"),
        says("destructive", "and destroy something", ""),
    ]
    .join(" ")
    .trim_end()
    .to_owned()
}

/// What a plugin may touch, or asks to.
pub(super) fn asks(asks: &Asks, limits: &Limits) -> String {
    let mut text = String::from("It asks for\n");
    let lines = asks.lines();
    if lines.is_empty() {
        text.push_str("  nothing: it can compute, and say what it found\n");
    }
    for (name, details, why) in lines {
        let details = if details.is_empty() { String::new() } else { format!(" ({details})") };
        let _ = writeln!(text, "  {name}{details}: {}", why.replace('\n', " "));
    }
    let Limits { cpu_seconds, wait_seconds, memory_mib, output_kib, store_mib, calls } = limits;
    let _ = writeln!(
        text,
        "  a call may use {cpu_seconds} s, wait {wait_seconds} s, use {memory_mib} MiB, {output_kib} KiB of output; {calls} at once; \
         {store_mib} MiB stored"
    );
    text
}

pub(super) fn show(environment: &Environment, name: &PluginName) -> Result<ExitCode> {
    let shelf = Shelf::new(&environment.own_home);
    let ledger = Ledger::read(&environment.own_home)?;
    let installed =
        shelf.find(name).map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))?;
    let status = standing(&Status::of(&installed, ledger.get(name)));
    let look = Look::at(environment, installed)?;
    let mut text = look.text();
    let _ = writeln!(text, "\nNow: {status}");
    let _ = writeln!(text, "Hash of all of it: {}", look.hash());
    terminal::print(&text);
    Ok(ExitCode::SUCCESS)
}

/// Where a plugin stands, for people.
pub(super) fn standing(status: &Status<'_>) -> String {
    match status {
        Status::Waiting => "waits for approval".to_owned(),
        Status::Approved(_) => "approved".to_owned(),
        Status::Denied => "denied".to_owned(),
        Status::Changed(change) => format!("disabled: {change}"),
    }
}
