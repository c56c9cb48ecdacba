//! Parses `[[rules]]`.

use crate::call_rules::{Argument, CallRule, CallRules, Then};
use crate::circumstances::{self, TextPattern, patterns, some};
use crate::document::{Entry, Problem, Section};
use crate::rule::{NamePattern, Source, shorten};

const KEYS: &[&str] = &["name", "tools", "arguments", "then", "self", "channel", "reason"];
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
    section.only(&[KEYS, &circumstances::KEYS].concat())?;
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
        conditions: circumstances::read(&section)?,
        then,
        own: asks(&section, then, "self")?.map_or(Ok(false), |entry| entry.boolean("write true or false"))?,
        weak: weak(&section, then)?,
        reason: section
            .get("reason")
            .map(|entry| text(&entry, "write a sentence for the person who is asked", MAX_REASON_CHARS))
            .transpose()?,
        source: entry.source(),
    };
    if rule.tools.is_empty() && rule.arguments.is_empty() && rule.conditions.is_empty() {
        let what = format!("[[rules]] \"{}\" has no condition", rule.name);
        return Err(entry.problem(
            what,
            "write `tools`, `arguments` or `workspaces`, for example; `tools = [\"*\"]` is every tool",
        ));
    }
    if rule.then == Then::Ask && matches!(rule.source, Source::Managed(_)) && !rule.weak {
        let what = format!(
            "[[rules]] \"{}\" asks, and the client's own programs may be able to answer for the person",
            rule.name
        );
        return Err(entry.problem(what, "write `channel = \"weak\"` to accept that, or `then = \"deny\"`"));
    }
    Ok(rule)
}

/// Parses `channel`.
fn weak(section: &Section<'_>, then: Then) -> Result<bool, Problem> {
    let Some(entry) = asks(section, then, "channel")? else { return Ok(false) };
    let fix = "write \"weak\": the client's form, a terminal or a dialog, without a proof of identity";
    match entry.text(fix)? {
        "weak" => Ok(true),
        other => Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(other)), fix)),
    }
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
