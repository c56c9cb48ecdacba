//! Parses conditions.

use super::{Conditions, MAX_PATTERNS, RemotePattern, TextPattern, after};
use crate::access::{Who, read_group};
use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NamePattern, Place};

/// Keys of conditions, in each table that has them.
pub(crate) const KEYS: [&str; 8] =
    ["workspaces", "remotes", "unix_users", "unix_groups", "clients", "principals", "groups", "after"];
/// Keys about the account, which has other names on Windows.
const UNIX: [&str; 2] = ["unix_users", "unix_groups"];

/// Parses the conditions of a table. The caller checks for unknown keys.
pub(crate) fn read(section: &Section<'_>) -> Result<Conditions, Problem> {
    if cfg!(windows)
        && let Some(entry) = UNIX.into_iter().find_map(|key| section.get(key))
    {
        let what = format!("{} is not known on Windows", entry.label());
        return Err(entry.problem(what, "leave it out; `workspaces` and `remotes` are known everywhere"));
    }
    let callers = Who {
        principals: optional(
            section,
            "principals",
            "write a list of names, such as [\"ann\", \"ci-*\"]",
            |text| NamePattern::parse(text, "principal"),
        )?,
        groups: optional(section, "groups", "write a list of groups, such as [\"developers\"]", read_group)?,
        ..Who::default()
    };
    Ok(Conditions {
        workspaces: patterns(section, "workspaces", "write a list of folders, such as [\"~/src\"]", folder)?,
        remotes: patterns(
            section,
            "remotes",
            "write a list of addresses, such as [\"github.com/acme/*\"]",
            RemotePattern::parse,
        )?,
        unix_users: names(section, "unix_users", "write a list of users, such as [\"ann\", \"ext-*\"]")?,
        unix_groups: names(section, "unix_groups", "write a list of groups, such as [\"contractors\"]")?,
        clients: names(section, "clients", "write a list of clients, such as [\"claude-code\"]")?,
        callers,
        read_before: after::read(section)?,
    })
}

fn names(section: &Section<'_>, key: &str, fix: &str) -> Result<Vec<TextPattern>, Problem> {
    patterns(section, key, fix, |text| {
        if text.contains(char::is_control) {
            return Err(Invalid::new("a name has a control character", fix));
        }
        TextPattern::with(text, fix, false)
    })
}

fn folder(text: &str) -> Result<Place, Invalid> {
    match Place::parse(text)? {
        place @ Place::Path(_) => Ok(place),
        place => Err(Invalid::new(
            format!("{place} is not a folder that holds workspaces"),
            "write an absolute path, or one that begins with ~/",
        )),
    }
}

/// Parses a list of patterns, which may be absent but not empty.
pub(crate) fn patterns<T>(
    section: &Section<'_>,
    key: &str,
    fix: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<T>, Problem> {
    Ok(optional(section, key, fix, parse)?.unwrap_or_default())
}

fn optional<T>(
    section: &Section<'_>,
    key: &str,
    fix: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Option<Vec<T>>, Problem> {
    section.get(key).map(|entry| some(&entry, fix, parse)).transpose()
}

/// Parses a list of patterns, which may not be empty.
pub(crate) fn some<T>(
    entry: &Entry<'_>,
    fix: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<T>, Problem> {
    let patterns = list(entry, fix, |_, text| parse(text))?;
    if patterns.is_empty() {
        let what = format!("{} is empty, so the rule covers no call", entry.label());
        return Err(entry.problem(what, "name something, or leave it out"));
    }
    if patterns.len() > MAX_PATTERNS {
        let what = format!("{} has {} entries", entry.label(), patterns.len());
        return Err(entry.problem(what, format!("write at most {MAX_PATTERNS}")));
    }
    Ok(patterns)
}
