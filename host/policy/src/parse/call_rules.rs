//! Parses `[[rules]]`.

use std::time::Duration;

use crate::call_rules::{
    Argument, CallRule, CallRules, Channel, DEFAULT_WITHIN, MAX_PATTERNS, Remember, TextPattern, Then,
    parse_within,
};
use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NamePattern, Place, Source, shorten};

const KEYS: &[&str] = &[
    "name",
    "tools",
    "arguments",
    "workspaces",
    "then",
    "self",
    "channel",
    "who",
    "within",
    "remember",
    "reason",
];
/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a reason, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Adds the rules of a file.
pub(super) fn read(entry: &Entry<'_>, rules: &mut CallRules) -> Result<(), Problem> {
    let mut own: Vec<CallRule> = Vec::new();
    for entry in entry.list("write each rule as a table [[rules]]")? {
        let rule = rule(&entry)?;
        if let Some(other) = own.iter().find(|other| other.name == rule.name) {
            let what = format!("[[rules]] \"{}\" is also the name of a rule ({})", rule.name, other.source);
            return Err(entry.problem(what, "give each rule its own `name`"));
        }
        own.push(rule);
    }
    rules.0.extend(own);
    Ok(())
}

fn rule(entry: &Entry<'_>) -> Result<CallRule, Problem> {
    let section = entry.section("[[rules]]")?;
    section.only(KEYS)?;
    let fix = "write a short `name`, such as \"deploy\": messages and the audit cite it";
    let name = text(&required(entry, &section, "name", fix)?, fix, MAX_NAME_CHARS)?;
    let fix = "write `then = \"ask\"` or `then = \"deny\"`; without a rule, the other sections decide";
    let outcome = required(entry, &section, "then", fix)?;
    let then = match outcome.text(fix)? {
        "ask" => Then::Ask,
        "deny" => Then::Deny,
        other => {
            return Err(outcome.problem(format!("{} is \"{}\"", outcome.label(), shorten(other)), fix));
        }
    };
    let rule = CallRule {
        name,
        tools: patterns(&section, "tools", "write a list of tools, such as [\"Bash\"]", |text| {
            NamePattern::parse(text, "tool")
        })?,
        arguments: arguments(&section)?,
        workspaces: patterns(
            &section,
            "workspaces",
            "write a list of folders, such as [\"~/src\"]",
            |text| match Place::parse(text)? {
                place @ Place::Path(_) => Ok(place),
                place => Err(Invalid::new(
                    format!("{place} is not a folder that holds workspaces"),
                    "write an absolute path, or one that begins with ~/",
                )),
            },
        )?,
        then,
        own: asks(&section, then, "self")?.map_or(Ok(false), |entry| entry.boolean("write true or false"))?,
        channel: channel(&section, then, entry.source())?,
        who: who(&section, then)?,
        within: within(&section, then)?,
        remember: remember(&section, then)?,
        reason: section
            .get("reason")
            .map(|entry| text(&entry, "write a sentence for the person who is asked", MAX_REASON_CHARS))
            .transpose()?,
        source: entry.source(),
    };
    if rule.tools.is_empty() && rule.arguments.is_empty() && rule.workspaces.is_empty() {
        let what = format!("[[rules]] \"{}\" has no condition", rule.name);
        return Err(entry
            .problem(what, "write `tools`, `arguments` or `workspaces`; `tools = [\"*\"]` is every tool"));
    }
    Ok(rule)
}

/// Parses `channel`. Without it, the administrator's rules and those with `who` need a proof of who answers.
fn channel(section: &Section<'_>, then: Then, source: Source) -> Result<Channel, Problem> {
    let has_who = section.get("who").is_some();
    let Some(entry) = asks(section, then, "channel")? else {
        let is_strong = then == Then::Ask && (has_who || matches!(source, Source::Managed(_)));
        return Ok(if is_strong { Channel::Strong } else { Channel::Weak });
    };
    let fix = "write \"strong\", for the signature of an approver, or \"weak\": the client's form, a terminal or a \
               dialog, without a proof of identity";
    match entry.text(fix)? {
        "strong" => Ok(Channel::Strong),
        "weak" if has_who => {
            let what = format!("{} is \"weak\", which does not prove who answers", entry.label());
            Err(entry.problem(what, "remove it or `who`"))
        }
        "weak" => Ok(Channel::Weak),
        other => Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(other)), fix)),
    }
}

/// Parses `who`.
fn who(section: &Section<'_>, then: Then) -> Result<Vec<String>, Problem> {
    asks(section, then, "who")?.map_or(Ok(Vec::new()), |entry| {
        some(&entry, "write names of approvers, such as [\"ann\"]", |text| Ok(text.to_owned()))
    })
}

/// Parses `within`.
fn within(section: &Section<'_>, then: Then) -> Result<Duration, Problem> {
    let Some(entry) = asks(section, then, "within")? else { return Ok(DEFAULT_WITHIN) };
    let fix = "write a time from 10 seconds to a day, such as \"10m\"";
    let text = entry.text(fix)?;
    parse_within(text)
        .ok_or_else(|| entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}

/// Parses `remember`.
fn remember(section: &Section<'_>, then: Then) -> Result<Vec<Remember>, Problem> {
    let Some(entry) = asks(section, then, "remember")? else { return Ok(Vec::new()) };
    let fix = "write a list of \"session\" and \"workspace\"";
    let mut extents = some(&entry, fix, |text| {
        let invalid = || Invalid::new(format!("`remember` has \"{}\"", shorten(text)), fix);
        Remember::parse(text).ok_or_else(invalid)
    })?;
    extents.sort_unstable();
    extents.dedup();
    Ok(extents)
}

/// Returns a key that only rules that ask may have.
fn asks<'a>(section: &Section<'a>, then: Then, key: &str) -> Result<Option<Entry<'a>>, Problem> {
    match section.get(key) {
        Some(entry) if then != Then::Ask => {
            Err(entry.problem(format!("{} has no effect", entry.label()), "it belongs to `then = \"ask\"`"))
        }
        entry => Ok(entry),
    }
}

fn required<'a>(rule: &Entry<'_>, section: &Section<'a>, key: &str, fix: &str) -> Result<Entry<'a>, Problem> {
    section.get(key).ok_or_else(|| rule.problem(format!("[[rules]] has no `{key}`"), fix))
}

fn text(entry: &Entry<'_>, fix: &str, most: usize) -> Result<String, Problem> {
    let text = entry.text(fix)?;
    if text.is_empty() || text.chars().count() > most || text.contains(char::is_control) {
        let what = format!("{} is \"{}\"", entry.label(), shorten(text));
        return Err(entry.problem(what, format!("write 1 to {most} characters on a line")));
    }
    Ok(text.to_owned())
}

/// Parses a list of patterns, which may be absent but not empty.
fn patterns<T>(
    section: &Section<'_>,
    key: &str,
    fix: &str,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<T>, Problem> {
    section.get(key).map_or(Ok(Vec::new()), |entry| some(&entry, fix, parse))
}

fn some<T>(
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

/// Parses `arguments`: a pattern, or a list of them, for each JSON pointer.
fn arguments(section: &Section<'_>) -> Result<Vec<Argument>, Problem> {
    let Some(entry) = section.get("arguments") else { return Ok(Vec::new()) };
    let mut arguments = Vec::new();
    for (pointer, entry) in entry.section("[rules.arguments]")?.entries() {
        let is_escaped = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        let fix = "write a pattern, such as \"*git push*\", or a list of them";
        let what = format!("\"{}\" in `arguments` of [[rules]] is no JSON pointer", shorten(pointer));
        if !pointer.starts_with('/') {
            return Err(entry.problem(what, format!("write \"/{}\"", shorten(pointer))));
        }
        if !is_escaped {
            return Err(entry.problem(what, "write ~0 for `~` and ~1 for `/` in a name"));
        }
        let patterns = match entry.as_text() {
            Some(text) => vec![TextPattern::parse(text).map_err(|invalid| entry.invalid(&invalid))?],
            None => some(&entry, fix, TextPattern::parse)?,
        };
        arguments.push(Argument { pointer: pointer.to_owned(), patterns });
    }
    if arguments.is_empty() {
        return Err(entry.problem(format!("{} is empty", entry.label()), "name an argument, or leave it out"));
    }
    Ok(arguments)
}
