//! Checks a repository's own file, which anybody who writes the repository can change.
//!
//! Its keys can only narrow. None of them makes this program read another file, look up a name or start a program:
//! places are those with names, and globs are relative. Its texts are short and plain, because refusals quote them to
//! the model.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Policy;
use crate::document::{Document, Problem, Section};
use crate::rule::shorten;

const KEYS: &[&str] = &["version", "min_version", "shell", "web", "files", "tools", "rules"];
const WEB: &[&str] = &["enabled", "allow", "deny", "allow_private", "redirects", "browser"];
const PROFILE: &[&str] = &["read", "write", "deny", "network", "unknown_hosts", "env", "limits"];
const RULE: &[&str] = &["name", "tools", "arguments", "programs", "unknown", "then", "reason"];
/// Maximum length of a text, in characters. No host name is longer.
const MAX_CHARS: usize = 256;
/// Characters that could end the quotation of a text in a message.
const QUOTES: [char; 2] = ['"', '`'];

/// Checks that a file has only keys and values that a repository may write. Their syntax is checked later.
pub(super) fn check(document: &Document<'_>, table: &DeTable<'_>, policy: &Policy) -> Result<(), Problem> {
    texts(document, table)?;
    let top = Section::top(document, table);
    only(&top, KEYS)?;
    if let Some(entry) = top.get("shell") {
        shell(&entry.section("[shell]")?, policy)?;
    }
    if let Some(entry) = top.get("web") {
        only(&entry.section("[web]")?, WEB)?;
    }
    if let Some(entry) = top.get("files") {
        let files = entry.section("[files]")?;
        places(&files, "read")?;
        globs(&files)?;
    }
    if let Some(entry) = top.get("rules") {
        for entry in entry.list("write each rule as a table [[rules]]")? {
            only(&entry.section("[[rules]]")?, RULE)?;
        }
    }
    Ok(())
}

fn shell(shell: &Section<'_>, policy: &Policy) -> Result<(), Problem> {
    only(shell, &["profile"])?;
    let Some(entry) = shell.get("profile") else { return Ok(()) };
    let profiles = entry.section("[shell.profile]")?;
    for (name, entry) in profiles.entries() {
        // A plugin whose profile is missing runs no command.
        if !policy.shell.profiles.contains_key(name) {
            let known: Vec<_> = policy.shell.profiles.keys().map(|name| format!("`{name}`")).collect();
            let what = format!("unknown profile \"{}\" in a repository's file", shorten(name));
            return Err(entry.problem(what, format!("narrow one of {}", known.join(", "))));
        }
        let profile = entry.section(&profiles.child(name))?;
        only(&profile, PROFILE)?;
        places(&profile, "read")?;
        places(&profile, "write")?;
        globs(&profile)?;
        if let Some(entry) = profile.get("env") {
            // A value would replace that of a variable which the profile passes through.
            only(&entry.section(&profile.child("env"))?, &["pass"])?;
        }
    }
    Ok(())
}

/// Fails for the first key that a repository cannot write.
fn only(section: &Section<'_>, known: &[&str]) -> Result<(), Problem> {
    let Some((key, entry)) = section.entries().find(|(key, _)| !known.contains(key)) else { return Ok(()) };
    let place = if section.name().is_empty() { String::new() } else { format!(" in {}", section.name()) };
    let known: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
    let what = format!("key `{}`{place} cannot be in a repository's file", shorten(key));
    Err(entry.problem(what, format!("remove it; the file can have {}", known.join(", "))))
}

/// Checks that a list has only places with names.
fn places(section: &Section<'_>, key: &str) -> Result<(), Problem> {
    strings(section, key, |text| {
        (!text.starts_with('@')).then_some((
            "which is a path of the machine",
            "write a place with a name, such as \"@workspace\"; `deny` closes folders of the repository",
        ))
    })
}

/// Checks that `deny` has only relative globs. The folder before the first wildcard of others is looked up.
fn globs(section: &Section<'_>) -> Result<(), Problem> {
    strings(section, "deny", |text| {
        text.starts_with(['/', '\\', '~']).then_some((
            "which is not in the repository",
            "write a glob that is relative, such as \"secrets/\" or \"**/*.pem\"",
        ))
    })
}

/// Fails for the first string of a list that `refuses` gives a reason and a fix for.
fn strings(
    section: &Section<'_>,
    key: &str,
    refuses: impl Fn(&str) -> Option<(&'static str, &'static str)>,
) -> Result<(), Problem> {
    let Some(entry) = section.get(key) else { return Ok(()) };
    for item in entry.list("write a list")? {
        let Some(text) = item.as_text() else { continue };
        if let Some((why, fix)) = refuses(text) {
            return Err(item.problem(format!("{} has \"{}\", {why}", entry.label(), shorten(text)), fix));
        }
    }
    Ok(())
}

/// Checks all keys and strings of a table.
fn texts(document: &Document<'_>, table: &DeTable<'_>) -> Result<(), Problem> {
    for (key, value) in table {
        text(document, key.get_ref(), key.span().start)?;
        texts_of(document, value)?;
    }
    Ok(())
}

fn texts_of(document: &Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<(), Problem> {
    match value.get_ref() {
        DeValue::String(string) => text(document, string, value.span().start),
        DeValue::Array(list) => list.iter().try_for_each(|value| texts_of(document, value)),
        DeValue::Table(table) => texts(document, table),
        _ => Ok(()),
    }
}

fn text(document: &Document<'_>, text: &str, at: usize) -> Result<(), Problem> {
    let is_odd = |c: char| c == '\n' || scorpiox_text::is_deceptive(c) || QUOTES.contains(&c);
    let why = if text.chars().count() > MAX_CHARS {
        format!("is longer than {MAX_CHARS} characters")
    } else if let Some(odd) = text.chars().find(|&c| is_odd(c)) {
        format!("has the character U+{:04X}", u32::from(odd))
    } else {
        return Ok(());
    };
    let what = format!("\"{}\" {why}", shorten(text));
    let fix = "write a short text without quotation marks and invisible characters: messages quote it";
    Err(document.problem(Some(document.line(at)), what, fix))
}
