//! Strict parser for the policy file: unknown keys are errors, every value is checked, and every message
//! names its line.

mod audit;
mod call_rules;
mod idle;
mod mistakes;
mod plugins;
mod profile;
mod registries;
mod repository;
mod restrictions;
mod secrets;
mod shell;
mod store;
mod tools;
mod unit;
mod variable;
mod web;

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;

use crate::access::{AccessPolicy, LimitsPolicy, read_access, read_http, read_limits, read_workspace};
use crate::call_rules::Then;
use crate::document::{Document, Entry, Problem, Section};
use crate::rule::{Layer, MANAGED_FILE, Source, Sourced};
use crate::{approved, approvers};

use crate::shell::{Grant, ShellGrant};
use crate::{DEFAULT_PROFILE, Policy};

pub use idle::Idle;
pub(crate) use idle::idle;
pub(crate) use mistakes::mistakes;

/// The only supported version of the file format.
const VERSION: i64 = 1;
/// Maximum length of a skill's name in a grant, in characters.
const MAX_GRANT_CHARS: usize = 128;

/// Known top-level keys.
const KEYS: &[&str] = &[
    "version",
    "min_version",
    "last_good",
    "shell",
    "web",
    "files",
    "search",
    "tools",
    "rules",
    "narrow",
    "approvers",
    "approved",
    "plugins",
    "workspaces",
    "audit",
    "store",
    "http",
    "access",
    "limits",
    "workspace",
    "grant",
];

/// Parses a text on top of a base policy.
pub(crate) fn policy(text: &str, path: &Path, layer: Layer, policy: Policy) -> Result<Policy, Problem> {
    let document = Document::new(text, path, layer);
    let table = document.parse()?;
    versions(&document, table.get_ref())?;
    tables(&document, table.get_ref(), policy)
}

/// Checks the version keys first, because another version may have other keys.
fn versions(document: &Document<'_>, table: &DeTable<'_>) -> Result<(), Problem> {
    let top = Section::top(document, table);
    version(document, &top)?;
    top.get("min_version").map_or(Ok(()), |entry| tools::min_version(&entry))
}

/// Parses all other top-level keys.
fn tables(document: &Document<'_>, table: &DeTable<'_>, mut policy: Policy) -> Result<Policy, Problem> {
    if document.layer() == Layer::Repository {
        repository::check(document, table, &policy)?;
    }
    let top = Section::top(document, table);
    top.only(KEYS)?;
    if let Some(entry) = top.get("last_good") {
        policy.last_good = last_good(&entry, document.layer())?;
    }
    // A list of the repository adds to those before it.
    let lists = if document.layer() == Layer::Repository { Lists::Added } else { Lists::Replaced };
    access_of(&top, &mut policy, lists)?;
    if let Some(entry) = top.get("search") {
        web::read_search(&entry.section("[search]")?, &mut policy.search)?;
    }
    if let Some(entry) = top.get("rules") {
        call_rules::read(&entry, &mut policy.calls)?;
    }
    if let Some(entry) = top.get("approvers") {
        approvers::read(&entry.section("[approvers]")?, &mut policy.approvers)?;
    }
    if let Some(entry) = top.get("approved") {
        approved::read(&entry.section("[approved]")?, &mut policy.approved)?;
    }
    if let Some((rule, why)) = approvers::unanswerable(&policy.calls, &policy.approvers) {
        let line = match rule.source {
            Source::Managed(line) | Source::Line(line) | Source::Repository(line) => Some(line),
            Source::Builtin => None,
        };
        let what = format!("[[rules]] \"{}\" asks, and {why}", rule.name);
        let instead = if rule.then == Then::Deny { ", or `unknown = \"deny\"`" } else { "" };
        let fix = format!(
            "add an approver (`scorpiox-code approvals keygen`); `channel = \"weak\"` accepts answers of the client's own \
             programs{instead}"
        );
        return Err(document.problem(line, what, fix));
    }
    if let Some(entry) = top.get("plugins") {
        plugins::read(&entry.section("[plugins]")?, &mut policy.plugins)?;
    }
    if let Some(entry) = top.get("workspaces") {
        tools::read_workspaces(&entry.section("[workspaces]")?, &mut policy.workspaces)?;
    }
    if let Some(entry) = top.get("audit") {
        audit::read(&entry.section("[audit]")?, &mut policy.audit)?;
    }
    if let Some(entry) = top.get("store") {
        store::read(&entry, &mut policy.store)?;
    }
    if let Some(entry) = top.get("http") {
        read_http(&entry, &mut policy.http)?;
    }
    if let Some(entry) = top.get("access") {
        // Managed rules stay separate and are checked in addition to the user's.
        let mut rules = BTreeMap::new();
        for (name, entry) in entry.section("[access]")?.entries() {
            rules.insert(name.to_owned(), read_access(name, &entry)?);
        }
        policy.access = AccessPolicy { rules, outer: None };
    }
    if let Some(entry) = top.get("limits") {
        let mut rules = BTreeMap::new();
        for (name, entry) in entry.section("[limits]")?.entries() {
            rules.insert(name.to_owned(), read_limits(name, &entry)?);
        }
        policy.limits = LimitsPolicy { rules, outer: None };
    }
    if let Some(entry) = top.get("workspace") {
        for (name, entry) in entry.section("[workspace]")?.entries() {
            policy.served.insert(name.to_owned(), read_workspace(name, &entry)?);
        }
    }
    if let Some(entry) = top.get("grant") {
        let grants = entry.section("[grant]")?;
        for (name, entry) in grants.entries() {
            let grant = grant(name, &entry, &policy)?;
            policy.grants.insert(name.to_owned(), grant);
        }
    }
    // Last, because restrictions are parsed on top of everything else.
    if let Some(entry) = top.get("narrow") {
        restrictions::read(&entry, &mut policy)?;
    }
    Ok(policy)
}

/// Effect of a list in `deny` of `[files]` on the globs that commands are denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// It takes their place.
    Replaced,
    /// They stay.
    Added,
}

/// Parses the tables that a repository and a restriction can have, too.
fn access_of(top: &Section<'_>, policy: &mut Policy, lists: Lists) -> Result<(), Problem> {
    if let Some(entry) = top.get("shell") {
        shell::read(&entry.section("[shell]")?, &mut policy.shell)?;
    }
    if let Some(entry) = top.get("web") {
        web::read(&entry.section("[web]")?, &mut policy.web)?;
    }
    let files = top.get("files").map(|entry| entry.section("[files]")).transpose()?;
    if let Some(section) = &files {
        web::read_files(section, &mut policy.files)?;
    }
    let has_own_list = lists == Lists::Replaced && files.is_some_and(|section| section.get("deny").is_some());
    if let Some(profile) = policy.shell.profiles.get(DEFAULT_PROFILE)
        && !has_own_list
    {
        policy.files.close_like(profile);
    }
    if let Some(entry) = top.get("tools") {
        tools::read(&entry.section("[tools]")?, &mut policy.tools)?;
    }
    Ok(())
}

/// Parses `last_good`, which only the administrator can decide about: a user could keep an old policy with it.
fn last_good(entry: &Entry<'_>, layer: Layer) -> Result<Sourced<bool>, Problem> {
    if layer == Layer::Own {
        let what = format!("{} has an effect only in the administrator's file", entry.label());
        return Err(entry.problem(what, format!("remove it; it is valid in {MANAGED_FILE}")));
    }
    Ok(Sourced::new(entry.boolean("write true or false")?, entry.source()))
}

fn version(document: &Document<'_>, top: &Section<'_>) -> Result<(), Problem> {
    let fix = "write `version = 1` as its first line";
    let Some(entry) = top.get("version") else {
        return Err(document.problem(None, "has no `version`", fix));
    };
    match entry.whole() {
        Some(VERSION) => Ok(()),
        Some(other) => {
            Err(entry.problem(format!("version {other} is not known to this program"), "write `version = 1`"))
        }
        None => Err(entry.wrong_type("write `version = 1`")),
    }
}

fn grant(name: &str, entry: &Entry<'_>, policy: &Policy) -> Result<Grant, Problem> {
    let chars = name.chars().count();
    if !(1..=MAX_GRANT_CHARS).contains(&chars) || name.contains(char::is_control) {
        let what = format!("grant \"{}\" is not a skill name", crate::rule::shorten(name));
        return Err(entry.problem(what, "write 1 to 128 characters without control characters"));
    }
    let section = entry.section(&format!("[grant.\"{}\"]", crate::rule::shorten(name)))?;
    section.only(&["shell"])?;
    let shell = section.get("shell").map(|entry| shell_grant(&section, &entry, policy)).transpose()?;
    Ok(Grant { shell: shell.into_iter().collect(), source: entry.key_source() })
}

fn shell_grant(grant: &Section<'_>, entry: &Entry<'_>, policy: &Policy) -> Result<ShellGrant, Problem> {
    let section = entry.section(&grant.child("shell"))?;
    section.only(&["profile"])?;
    let Some(entry) = section.get("profile") else {
        let what = format!("{} has no `profile`", section.name());
        return Err(entry.problem(what, "write `profile = \"readonly\"`, or the name of another profile"));
    };
    let profile = entry.text("write the name of a profile, such as \"readonly\"")?;
    if !policy.shell.profiles.contains_key(profile) {
        let known: Vec<_> = policy.shell.profiles.keys().map(String::as_str).collect();
        let what = format!("unknown profile \"{}\" in {}", crate::rule::shorten(profile), section.name());
        return Err(entry.problem(what, crate::rule::suggest(profile, "profiles", &known)));
    }
    Ok(ShellGrant { profile: profile.to_owned(), source: entry.source() })
}

#[cfg(test)]
mod tests;
