//! Parses `[shell]`.

use std::time::Duration;

use crate::document::{Problem, Section, number};
use crate::rule::{Source, Sourced};

use super::profile;
use crate::shell::ShellPolicy;

const KEYS: &[&str] = &[
    "min_tier",
    "allow_unsandboxed",
    "default_timeout_ms",
    "max_timeout_ms",
    "max_background_tasks",
    "profile",
];
/// Maximum timeout of a call, in milliseconds. Clients give up not much later.
const MAX_TIMEOUT_MS: u64 = 600_000;
const MAX_BACKGROUND_TASKS: usize = 256;

/// Applies the table to the defaults in `shell`.
pub(super) fn read(section: &Section<'_>, shell: &mut ShellPolicy) -> Result<(), Problem> {
    section.only(KEYS)?;
    if let Some(entry) = section.get("min_tier") {
        let fix = "write \"T1\", \"T1b\" or \"T2\"";
        let text = entry.text(fix)?;
        let tier = text.parse().map_err(|_| entry.wrong_type(fix))?;
        shell.min_tier = Sourced::new(tier, entry.source());
    }
    if let Some(entry) = section.get("allow_unsandboxed") {
        shell.allow_unsandboxed = Sourced::new(entry.boolean("write true or false")?, entry.source());
    }
    if let Some(entry) = section.get("max_background_tasks") {
        let number = number(&entry, &(1..=MAX_BACKGROUND_TASKS))?;
        shell.max_background_tasks = Sourced::new(number, entry.source());
    }
    timeouts(section, shell)?;
    if let Some(entry) = section.get("profile") {
        profile::read_all(&entry.section("[shell.profile]")?, &mut shell.profiles)?;
    }
    Ok(())
}

fn timeouts(section: &Section<'_>, shell: &mut ShellPolicy) -> Result<(), Problem> {
    let read = |key: &str, old: &mut Sourced<Duration>| {
        let Some(entry) = section.get(key) else { return Ok(None) };
        let millis = number(&entry, &(1..=MAX_TIMEOUT_MS))?;
        *old = Sourced::new(Duration::from_millis(millis), entry.source());
        Ok(Some(entry))
    };
    let default = read("default_timeout_ms", &mut shell.default_timeout)?;
    let max = read("max_timeout_ms", &mut shell.max_timeout)?;
    let (Some(entry), true) = (default.or(max), shell.default_timeout.value > shell.max_timeout.value) else {
        return Ok(());
    };
    let shown = |key: &str, timeout: &Sourced<Duration>| {
        let at = match timeout.source {
            Source::Line(line) => format!("line {line}"),
            other => other.to_string(),
        };
        format!("`{key}` ({}, {at})", timeout.value.as_millis())
    };
    let (default, max) =
        (shown("default_timeout_ms", &shell.default_timeout), shown("max_timeout_ms", &shell.max_timeout));
    let fix = format!("write `default_timeout_ms = {}` or less", shell.max_timeout.value.as_millis());
    Err(entry.problem(format!("{default} is longer than {max} in [shell]"), fix))
}
