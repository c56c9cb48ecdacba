//! Parses `[web]`, `[files]` and `[search]`.

use crate::document::{Entry, Problem, Section, list};
use crate::rule::{DenyRule, Place, Sourced, shorten, suggest};

use super::profile::{networks, paths};
use crate::files::FilesPolicy;
use crate::search::{EnginePolicy, SearchPolicy};
use crate::web::{Redirects, WebPolicy, WebRule};

const SWITCH: &str = "write true or false";

/// Applies `[web]` to the defaults.
pub(super) fn read(section: &Section<'_>, web: &mut WebPolicy) -> Result<(), Problem> {
    section.only(&["enabled", "allow", "deny", "allow_private", "redirects", "browser", "browser_path"])?;
    let rules = |entry: &Entry<'_>| {
        let rule = |item: &Entry<'_>, text: &str| WebRule::parse(text, item.source());
        list(
            entry,
            "write a list of hosts and networks, such as [\"*.example.com\", \"198.51.100.0/24\"]",
            rule,
        )
    };
    if let Some(entry) = section.get("enabled") {
        web.enabled = Sourced::new(entry.boolean(SWITCH)?, entry.source());
    }
    if let Some(entry) = section.get("allow") {
        (web.allow, web.allow_origin) = (rules(&entry)?, entry.source());
    }
    if let Some(entry) = section.get("deny") {
        (web.deny, web.deny_origin) = (rules(&entry)?, entry.source());
    }
    if let Some(entry) = section.get("allow_private") {
        web.allow_private = networks(&entry)?;
        web.private_origin = entry.source();
    }
    if let Some(entry) = section.get("redirects") {
        let word = entry.text("write \"same-host\" or \"any\"")?;
        let redirects = match word {
            "same-host" => Redirects::SameHost,
            "any" => Redirects::Any,
            _ => {
                let what = format!("unknown word \"{}\" for {}", shorten(word), entry.label());
                return Err(entry.problem(what, suggest(word, "words", &["same-host", "any"])));
            }
        };
        web.redirects = Sourced::new(redirects, entry.source());
    }
    if let Some(entry) = section.get("browser") {
        web.browser = Sourced::new(entry.boolean(SWITCH)?, entry.source());
    }
    if let Some(entry) = section.get("browser_path") {
        let fix = "write the absolute path of Chromium or Chrome, such as \"/usr/bin/chromium\"";
        let path = entry.text(fix)?;
        if !path.starts_with('/') || path.contains(char::is_control) {
            return Err(entry.problem(format!("{} is not an absolute path", entry.label()), fix));
        }
        web.browser_path = Some(Sourced::new(path.to_owned(), entry.source()));
    }
    Ok(())
}

/// Applies `[files]` to the defaults.
pub(super) fn read_files(section: &Section<'_>, files: &mut FilesPolicy) -> Result<(), Problem> {
    section.only(&["read", "deny"])?;
    if let Some(entry) = section.get("read") {
        (files.read, files.read_origin) = (paths(&entry, Place::parse)?, entry.source());
    }
    if let Some(entry) = section.get("deny") {
        let rule = |item: &Entry<'_>, text: &str| DenyRule::parse(text, item.source());
        files.deny = list(&entry, "write a list of globs, such as [\"**/.env*\"]", rule)?;
        files.deny_origin = entry.source();
    }
    Ok(())
}

/// Parses `[search]`.
pub(super) fn read_search(section: &Section<'_>, search: &mut SearchPolicy) -> Result<(), Problem> {
    section.only(&["engine"])?;
    let Some(entry) = section.get("engine") else { return Ok(()) };
    let engines = entry.section(&section.child("engine"))?;
    for (name, entry) in engines.entries() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            let what = format!("\"{}\" is not the name of an engine", shorten(name));
            return Err(
                entry.problem(what, "write it in lower case, such as \"duckduckgo\" or \"brave-api\"")
            );
        }
        search.engines.insert(name.to_owned(), engine(&entry.section(&engines.child(name))?, &entry)?);
    }
    Ok(())
}

fn engine(section: &Section<'_>, entry: &Entry<'_>) -> Result<EnginePolicy, Problem> {
    section.only(&["enabled", "base_url", "key"])?;
    let enabled = section.get("enabled");
    let enabled =
        enabled.map(|entry| Ok(Sourced::new(entry.boolean(SWITCH)?, entry.source()))).transpose()?;
    let base_url = section.get("base_url").map(|entry| base_url(&entry)).transpose()?;
    let key = section.get("key").map(|entry| {
        let key = entry.text("write the key that the engine's operator gave you")?;
        if key.is_empty() || key.len() > 512 || !key.bytes().all(|b| b.is_ascii_graphic()) {
            // The message omits the value, because it is secret.
            let fix = "write 1 to 512 ASCII characters without spaces";
            return Err(entry.problem(format!("{} is not a valid key", entry.label()), fix));
        }
        Ok(Sourced::new(key.to_owned(), entry.source()))
    });
    Ok(EnginePolicy { enabled, base_url, key: key.transpose()?, source: entry.key_source() })
}

fn base_url(entry: &Entry<'_>) -> Result<Sourced<String>, Problem> {
    let fix = "write where the engine is, such as \"https://search.example.com\"";
    let text = entry.text(fix)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && rest.bytes().all(|b| b.is_ascii_graphic() && b != b'?' && b != b'#')
    });
    if !fits {
        return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix));
    }
    Ok(Sourced::new(text.trim_end_matches('/').to_owned(), entry.source()))
}
