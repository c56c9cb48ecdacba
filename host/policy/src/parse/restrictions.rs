//! Parses `[[narrow]]`.

use std::sync::Arc;

use crate::Policy;
use crate::circumstances;
use crate::document::{Entry, Problem, Section};
use crate::restrictions::{Restriction, Written};
use crate::rule::shorten;

/// Tables of a restriction.
const TABLES: [&str; 4] = ["shell", "web", "files", "tools"];
/// Maximum number of restrictions in a file; each has a policy of its own.
const MAX_RESTRICTIONS: usize = 64;
/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Adds the restrictions of a file, which is otherwise parsed.
pub(super) fn read(entry: &Entry<'_>, policy: &mut Policy) -> Result<(), Problem> {
    let entries = entry.list("write each restriction as a table [[narrow]]")?;
    if let Some(entry) = entries.get(MAX_RESTRICTIONS) {
        let what = format!("[[narrow]] is there {} times", entries.len());
        return Err(entry.problem(what, format!("write at most {MAX_RESTRICTIONS}")));
    }
    let mut own: Vec<Restriction> = Vec::new();
    for entry in entries {
        let restriction = restriction(&entry, policy)?;
        if let Some(other) = own.iter().find(|other| other.name == restriction.name) {
            let what =
                format!("[[narrow]] \"{}\" is also the name of another ({})", restriction.name, other.source);
            return Err(entry.problem(what, "give each its own `name`"));
        }
        own.push(restriction);
    }
    policy.restrictions.extend(own);
    Ok(())
}

fn restriction(entry: &Entry<'_>, policy: &Policy) -> Result<Restriction, Problem> {
    let section = entry.section("[[narrow]]")?;
    if let Some(limits) = section.get("limits") {
        // They are counted from the start of a server on, for all workspaces.
        return Err(limits.problem(
            "`limits` is no table of [[narrow]]",
            "write [limits.NAME] with `principals` or `groups` for calls over HTTP, or \
             [narrow.shell.profile.workspace.limits] for commands",
        ));
    }
    section.only(&[&["name"][..], &TABLES, &circumstances::KEYS].concat())?;
    let fix = "write a short `name`, such as \"contractors\": messages cite it";
    let Some(name) = section.get("name") else {
        return Err(entry.problem("[[narrow]] has no `name`", fix));
    };
    let text = name.text(fix)?;
    if text.is_empty() || text.chars().count() > MAX_NAME_CHARS || text.contains(char::is_control) {
        let what = format!("{} is \"{}\"", name.label(), shorten(text));
        return Err(name.problem(what, format!("write 1 to {MAX_NAME_CHARS} characters on a line")));
    }
    let conditions = circumstances::read(&section)?;
    if conditions.is_empty() {
        let what = format!("[[narrow]] \"{text}\" has no condition");
        let fix = "write `unix_groups`, `principals` or `workspaces`, for example; tables for all calls stand by themselves";
        return Err(entry.problem(what, fix));
    }
    let written = written(&section)?;
    if written.is_empty() {
        let what = format!("[[narrow]] \"{text}\" narrows nothing");
        return Err(entry.problem(
            what,
            "write [narrow.shell.profile.workspace], [narrow.web], [narrow.files] or [narrow.tools]",
        ));
    }
    let by = Arc::new(fragment(&section, policy)?);
    Ok(Restriction { name: text.to_owned(), conditions, written, by, source: entry.source() })
}

/// Returns the keys of the tables as they are written.
fn written(section: &Section<'_>) -> Result<Vec<Written>, Problem> {
    let mut written = Vec::new();
    for table in TABLES {
        let Some(entry) = section.get(table) else { continue };
        let below = entry.section(&section.child(table))?;
        written.extend(below.written(table).into_iter().map(|(key, value, source)| Written {
            key,
            value,
            source,
        }));
    }
    Ok(written)
}

/// Parses the tables on top of a policy.
fn fragment(section: &Section<'_>, policy: &Policy) -> Result<Policy, Problem> {
    if let Some(web) = section.get("web").map(|entry| entry.section("[narrow.web]")).transpose()?
        && let Some(entry) = web.get("browser_path")
    {
        let what = format!("{} has no effect", entry.label());
        return Err(entry.problem(what, "write it in [web]: all browsers are the same program"));
    }
    if let Some(shell) = section.get("shell").map(|entry| entry.section("[narrow.shell]")).transpose()?
        && let Some(entry) = shell.get("profile")
    {
        for (name, entry) in entry.section("[narrow.shell.profile]")?.entries() {
            // A plugin whose profile is missing runs no command.
            if !policy.shell.profiles.contains_key(name) {
                let known: Vec<_> = policy.shell.profiles.keys().map(String::as_str).collect();
                let what = format!("unknown profile \"{}\" in [[narrow]]", shorten(name));
                return Err(entry.problem(what, crate::rule::suggest(name, "profiles", &known)));
            }
        }
    }
    let (restrictions, before) = Default::default();
    let mut policy = Policy { restrictions, before, ..policy.clone() };
    super::access_of(section, &mut policy, super::Lists::Added)?;
    Ok(policy)
}
