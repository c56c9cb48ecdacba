//! SearchSkills: a regular expression over names, descriptions and instructions.
//!
//! `regex-lite` matches in time linear in the text times the compiled pattern, so
//! both are bounded. Case is ignored for ASCII letters only, as it knows no others.

use std::fmt::Write as _;

use regex_lite::{Regex, RegexBuilder};
use scorpiox_tool_kit::args::shown;
use scorpiox_tool_kit::{Args, Failure, Output};

use crate::catalogue::{self, Skill};
use crate::description::shortened;
use crate::{MAX_SKILL_BYTES, Scope, Skills, front_matter, hygiene};

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512;
/// Largest compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 32 * 1024;
/// Most skills that are given.
const MAX_MATCHES: usize = 20;
/// Most bytes of instructions that a call searches, of all skills together.
const MAX_SEARCHED_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a line that are searched.
const MAX_LINE_BYTES: usize = 4096;
/// Longest description and line that are shown, in characters.
const SHOWN_CHARS: usize = 200;

pub(crate) fn search(skills: &impl Skills, args: &Args<'_>) -> Result<Output, Failure> {
    let pattern = args.string("pattern")?.filter(|pattern| !pattern.is_empty()).ok_or_else(|| {
        Failure::InvalidInput(
            "pattern is missing; give a regular expression such as \"test|debug\".".to_owned(),
        )
    })?;
    let regex = compile(&pattern)?;
    let catalogue = catalogue::read(skills);
    let found = find(skills, &catalogue.skills, &regex);
    Ok(Output::text(report(&pattern, catalogue.skills.len(), &found)))
}

fn compile(pattern: &str) -> Result<Regex, Failure> {
    let refused =
        |why: String| Failure::InvalidInput(format!("pattern {:?} cannot be used: {why}.", shown(pattern)));
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(refused(format!("it has {} bytes; at most {MAX_PATTERN_BYTES} fit", pattern.len())));
    }
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| refused(error.to_string()))
}

/// A skill that matches, and the line of its instructions that did.
struct Match<'a> {
    skill: &'a Skill,
    line: Option<String>,
}

#[derive(Default)]
struct Found<'a> {
    matches: Vec<Match<'a>>,
    /// More match than are given.
    more: bool,
    /// Skills whose instructions could not be read or were beyond the limit.
    unsearched: usize,
}

/// Matches of names first, then of descriptions, then of instructions.
fn find<'a>(skills: &impl Skills, catalogue: &'a [Skill], regex: &Regex) -> Found<'a> {
    let (named, others): (Vec<_>, Vec<_>) = catalogue.iter().partition(|skill| regex.is_match(&skill.name));
    let (described, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|skill| described_by(skill, regex));
    let mut found = Found::default();
    found.matches.extend(named.into_iter().chain(described).map(|skill| Match { skill, line: None }));
    let mut budget = MAX_SEARCHED_BYTES;
    for skill in others {
        if found.matches.len() > MAX_MATCHES {
            break;
        }
        match matching_line(skills, skill, regex, &mut budget) {
            Ok(Some(line)) => found.matches.push(Match { skill, line: Some(line) }),
            Ok(None) => {}
            Err(Unsearched) => found.unsearched += 1,
        }
    }
    found.more = found.matches.len() > MAX_MATCHES;
    found.matches.truncate(MAX_MATCHES);
    found
}

fn described_by(skill: &Skill, regex: &Regex) -> bool {
    regex.is_match(prefix(&skill.description, MAX_LINE_BYTES))
}

struct Unsearched;

fn matching_line(
    skills: &impl Skills,
    skill: &Skill,
    regex: &Regex,
    budget: &mut usize,
) -> Result<Option<String>, Unsearched> {
    if *budget == 0 {
        return Err(Unsearched);
    }
    let bytes = skills.read(skill.source.id, MAX_SKILL_BYTES).map_err(|_| Unsearched)?;
    *budget = budget.saturating_sub(bytes.len());
    let body = front_matter::split(&bytes).map_err(|_| Unsearched)?.body;
    let text = String::from_utf8_lossy(&bytes[body..]);
    Ok(text.lines().find_map(|line| {
        let line = prefix(line, MAX_LINE_BYTES);
        regex.find(line).map(|found| around(line, found.start()))
    }))
}

/// The line as it is shown: from its start, or from a little before the match.
fn around(line: &str, at: usize) -> String {
    const BEFORE: usize = 60;
    let before = &line[..at];
    let skipped = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
    let cleaned = hygiene::line(&line[skipped..]).text;
    let shown = shortened(&cleaned, SHOWN_CHARS);
    if skipped == 0 { shown } else { format!("…{shown}") }
}

fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn report(pattern: &str, count: usize, found: &Found<'_>) -> String {
    let pattern = shown(&hygiene::line(pattern).text);
    let mut text = match found.matches.len() {
        0 => format!("None of {count} skills matches {pattern:?}."),
        1 => format!("1 of {count} skills matches {pattern:?}:"),
        matches => format!("{matches} of {count} skills match {pattern:?}:"),
    };
    for Match { skill, line } in &found.matches {
        let origin = if skill.source.scope == Scope::Workspace { " (from the opened project)" } else { "" };
        let description = shortened(&skill.description, SHOWN_CHARS);
        let _ = write!(text, "\n- {}{origin}: {description}", skill.name);
        if let Some(line) = line {
            let _ = write!(text, "\n  line: {line}");
        }
    }
    if found.more {
        let _ = write!(text, "\nMore skills match; only {MAX_MATCHES} are shown. Narrow the pattern.");
    }
    if found.unsearched > 0 {
        let _ = write!(text, "\nThe instructions of {} skills were not searched.", found.unsearched);
    }
    if !found.matches.is_empty() {
        text.push_str("\nInvoke one with InvokeSkill and its name as skill_name.");
    }
    text
}
