//! Parses `[[rules]]`.

use std::time::Duration;

use scorpiox_programs::ProgramPattern;

use crate::call_rules::{
    Argument, COMMAND_TOOLS, CallRule, CallRules, Channel, DEFAULT_WITHIN, MAX_RULES, Programs, Remember,
    Then, Unknown, parse_within,
};
use crate::circumstances::{self, TextPattern, patterns, some};
use crate::document::{Entry, Problem, Section};
use crate::rule::{Invalid, NamePattern, Source, shorten};

const KEYS: &[&str] = &[
    "name",
    "tools",
    "arguments",
    "programs",
    "unknown",
    "then",
    "mode",
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
    let entries = entry.list_of("write each rule as a table [[rules]]", MAX_RULES)?;
    for entry in entries {
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
    let programs = programs(&section)?;
    let reports = reports(&section)?;
    let may_ask = then == Then::Ask || !programs.is_empty() && programs.unknown == Unknown::Ask;
    let rule = CallRule {
        name,
        tools: patterns(&section, "tools", "write a list of tools, such as [\"Bash\"]", |text| {
            NamePattern::parse(text, "tool")
        })?,
        arguments: arguments(&section)?,
        programs,
        conditions: circumstances::read(&section)?,
        then,
        own: asks(&section, may_ask, "self")?
            .map_or(Ok(false), |entry| entry.boolean("write true or false"))?,
        channel: channel(&section, may_ask, entry.source())?,
        who: who(&section, may_ask)?,
        within: within(&section, may_ask)?,
        remember: remember(&section, may_ask, entry.source())?,
        reports,
        reason: section
            .get("reason")
            .map(|entry| text(&entry, "write a sentence for the person who is asked", MAX_REASON_CHARS))
            .transpose()?,
        source: entry.source(),
    };
    if rule.tools.is_empty() && rule.covers_every_call() && rule.conditions.is_empty() {
        let what = format!("[[rules]] \"{}\" has no condition", rule.name);
        return Err(entry.problem(
            what,
            "write `tools`, `arguments` or `workspaces`, for example; `tools = [\"*\"]` is every tool",
        ));
    }
    if !rule.programs.is_empty()
        && !rule.tools.is_empty()
        && !COMMAND_TOOLS.iter().any(|name| rule.tools.iter().any(|pattern| pattern.covers(name)))
    {
        let what =
            format!("`programs` in [[rules]] \"{}\" covers no call: its tools run no commands", rule.name);
        return Err(entry.problem(what, "leave `tools` out, or name \"Bash\" or \"BackgroundBash\""));
    }
    Ok(rule)
}

/// Parses `programs` and `unknown`.
fn programs(section: &Section<'_>) -> Result<Programs, Problem> {
    let fix = "write a list of programs with arguments, such as [\"git push *\"]";
    let patterns = patterns(section, "programs", fix, |text| {
        ProgramPattern::parse(text).map_err(|unusable| {
            Invalid::new(format!("program \"{}\" {}", shorten(text), unusable.what), unusable.fix)
        })
    })?;
    let Some(entry) = section.get("unknown") else { return Ok(Programs { patterns, ..Programs::default() }) };
    if patterns.is_empty() {
        return Err(entry.problem(format!("{} has no effect", entry.label()), "it belongs to `programs`"));
    }
    let fix =
        "write \"ask\", \"deny\" or \"allow\", for commands whose programs cannot be known before they run";
    let unknown = match entry.text(fix)? {
        "ask" => Unknown::Ask,
        "deny" => Unknown::Deny,
        "allow" => Unknown::Allow,
        other => return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(other)), fix)),
    };
    Ok(Programs { patterns, unknown })
}

/// Parses `mode`.
fn reports(section: &Section<'_>) -> Result<bool, Problem> {
    let Some(entry) = section.get("mode") else { return Ok(false) };
    let fix = "write \"report\": the audit records the outcome, and nothing else happens; or leave it out";
    match entry.text(fix)? {
        "report" => Ok(true),
        other => Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(other)), fix)),
    }
}

/// Parses `channel`. Without it, the administrator's rules and those with `who` need a proof of who answers.
fn channel(section: &Section<'_>, may_ask: bool, source: Source) -> Result<Channel, Problem> {
    let has_who = section.get("who").is_some();
    let Some(entry) = asks(section, may_ask, "channel")? else {
        let is_strong = may_ask && (has_who || matches!(source, Source::Managed(_)));
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
fn who(section: &Section<'_>, may_ask: bool) -> Result<Vec<String>, Problem> {
    asks(section, may_ask, "who")?.map_or(Ok(Vec::new()), |entry| {
        some(&entry, "write names of approvers, such as [\"ann\"]", |text| Ok(text.to_owned()))
    })
}

/// Parses `within`.
fn within(section: &Section<'_>, may_ask: bool) -> Result<Duration, Problem> {
    let Some(entry) = asks(section, may_ask, "within")? else { return Ok(DEFAULT_WITHIN) };
    let fix = "write a time from 10 seconds to a day, such as \"10m\"";
    let text = entry.text(fix)?;
    parse_within(text)
        .ok_or_else(|| entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix))
}

/// Parses `remember`.
fn remember(section: &Section<'_>, may_ask: bool, source: Source) -> Result<Vec<Remember>, Problem> {
    let Some(entry) = asks(section, may_ask, "remember")? else { return Ok(Vec::new()) };
    let fix = "write a list of \"session\", \"workspace\" and \"always\"";
    let mut extents = some(&entry, fix, |text| {
        let invalid = || Invalid::new(format!("`remember` has \"{}\"", shorten(text)), fix);
        Remember::parse(text).ok_or_else(invalid)
    })?;
    if extents.contains(&Remember::Always) && channel(section, may_ask, source)? == Channel::Weak {
        let what = format!("{} has \"always\", and nothing proves who answers", entry.label());
        return Err(entry.problem(what, "write `channel = \"strong\"`, or leave \"always\" out"));
    }
    extents.sort_unstable();
    extents.dedup();
    Ok(extents)
}

/// Returns a key that only rules that ask may have.
fn asks<'a>(section: &Section<'a>, may_ask: bool, key: &str) -> Result<Option<Entry<'a>>, Problem> {
    match section.get(key) {
        Some(entry) if !may_ask => {
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
