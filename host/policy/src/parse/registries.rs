//! Parses `[plugins.registries."HOST"]`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::document::{Entry, Problem, Section};
use crate::rule::{Sourced, shorten};

use crate::plugins::{CredentialsFrom, RegistryLogin};

/// Maximum length of a host with its port, in bytes: at most 253 for the name, and five digits for the port.
const MAX_HOST_BYTES: usize = 260;
/// Maximum length of a user name, a path or an argument, in bytes; sufficient for paths on most systems.
const MAX_TEXT_BYTES: usize = 4096;
/// Maximum number of arguments; programs that print a password need only a few.
const MAX_ARGUMENTS: usize = 64;

/// Adds the tables to the existing ones. A later table replaces an earlier one for the same registry;
/// precedence between the two files is decided when the policies are combined.
pub(super) fn read(
    section: &Section<'_>,
    registries: &mut BTreeMap<String, Sourced<RegistryLogin>>,
) -> Result<(), Problem> {
    for (name, entry) in section.entries() {
        let host = name.to_ascii_lowercase();
        if !is_host(&host) {
            let what = format!("registry \"{}\" is not a host", shorten(name));
            return Err(entry.problem(what, "write [plugins.registries.\"registry.example.com\"], with `:PORT` if the address of plugins has one"));
        }
        let login = login(&entry.section(&section.child(&format!("\"{}\"", shorten(name))))?, &entry)?;
        registries.insert(host, Sourced::new(login, entry.key_source()));
    }
    Ok(())
}

/// Returns `true` for a host name or an address, with or without a port. The name is only compared, never
/// resolved here.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (None, rest),
        Some(_) => return false,
        None => match text.split_once(':') {
            Some((host, _)) => (Some(host), &text[host.len()..]),
            None => (Some(text), ""),
        },
    };
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_');
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.parse().is_ok_and(|port: u16| port > 0));
    text.len() <= MAX_HOST_BYTES
        && is_port
        && host.is_none_or(|host| !host.is_empty() && host.bytes().all(plain))
}

fn login(section: &Section<'_>, entry: &Entry<'_>) -> Result<RegistryLogin, Problem> {
    section.only(&["user", "password_file", "command", "credentials", "token_host"])?;
    let ways = ["password_file", "command", "credentials"].map(|key| section.get(key));
    let fix = "write one of `password_file = \"~/FILE\"`, `command = [\"/PROGRAM\", …]` and `credentials = \"docker\"`";
    let user = section.get("user");
    let credentials = match ways {
        [Some(path), None, None] => {
            CredentialsFrom::File { user: user_of(user.as_ref(), section, entry)?, path: path_in(&path)? }
        }
        [None, Some(command), None] => CredentialsFrom::Command {
            user: user_of(user.as_ref(), section, entry)?,
            command: command_in(&command)?,
        },
        [None, None, Some(word)] => {
            if let Some(user) = user {
                let what =
                    format!("{} stands beside `credentials`, which have a user of their own", user.label());
                return Err(user.problem(what, "take one of them out"));
            }
            docker(&word)?
        }
        [None, None, None] => {
            return Err(entry.problem(format!("{} says nothing of a password", section.name()), fix));
        }
        _ => {
            return Err(
                entry.problem(format!("{} has more than one place for a password", section.name()), fix)
            );
        }
    };
    let token_host = section.get("token_host").map(|host| token_host(&host)).transpose()?;
    Ok(RegistryLogin { credentials, token_host })
}

fn user_of(user: Option<&Entry<'_>>, section: &Section<'_>, entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write `user = \"NAME\"`, as the registry knows you";
    let Some(user) = user else {
        return Err(entry.problem(format!("{} has no `user`", section.name()), fix));
    };
    let name = text(user, fix)?;
    if name.contains(':') {
        return Err(user.problem(format!("{} has a colon, which ends a user's name", user.label()), fix));
    }
    Ok(name)
}

/// Parses a path that does not depend on the working directory.
fn path_in(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write a path that begins with / or ~/";
    let path = text(entry, fix)?;
    if is_path(&path) {
        Ok(path)
    } else {
        Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(&path)), fix))
    }
}

fn command_in(entry: &Entry<'_>) -> Result<Vec<String>, Problem> {
    let fix = "write the program by its path and its arguments, such as [\"/usr/bin/pass\", \"show\", \"registry\"]";
    let parts: Result<Vec<_>, _> = entry.list(fix)?.iter().map(|part| text(part, fix)).collect();
    let parts = parts?;
    if parts.first().is_some_and(|program| is_path(program)) && parts.len() <= MAX_ARGUMENTS {
        return Ok(parts);
    }
    let what = match parts.first() {
        None => format!("{} is empty", entry.label()),
        Some(_) if parts.len() > MAX_ARGUMENTS => format!("{} has {} parts", entry.label(), parts.len()),
        // A bare name could resolve to another program through `PATH`.
        Some(program) => {
            format!("{} begins with \"{}\", which is no whole path", entry.label(), shorten(program))
        }
    };
    Err(entry.problem(what, fix))
}

fn docker(word: &Entry<'_>) -> Result<CredentialsFrom, Problem> {
    let fix = "write `credentials = \"docker\"`, or name a `password_file` or a `command`";
    match word.text(fix)? {
        "docker" => Ok(CredentialsFrom::Docker),
        other => Err(word.problem(format!("unknown word \"{}\" for {}", shorten(other), word.label()), fix)),
    }
}

fn token_host(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write the one host that gives tokens for the registry, such as \"auth.example.com\"";
    let host = entry.text(fix)?.to_ascii_lowercase();
    if is_host(&host) {
        Ok(host)
    } else {
        Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(&host)), fix))
    }
}

fn is_path(text: &str) -> bool {
    Path::new(text).is_absolute() || text.starts_with('/') || text.starts_with("~/")
}

/// Parses a non-empty line of limited length.
fn text(entry: &Entry<'_>, fix: &str) -> Result<String, Problem> {
    let text = entry.text(fix)?;
    if text.is_empty() || text.len() > MAX_TEXT_BYTES || text.contains(char::is_control) {
        return Err(
            entry.problem(format!("{} is empty, too long, or has a control character", entry.label()), fix)
        );
    }
    Ok(text.to_owned())
}
