//! SearchSkills: a regular expression search in names, descriptions and instructions.
//!
//! The time of `regex-lite` is linear in the product of text size and compiled pattern size, so this product
//! is limited: a larger pattern searches less text. Case is ignored for ASCII letters only, because
//! `regex-lite` supports no others.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use regex_lite::{Regex, RegexBuilder};
use scorpiox_tool_kit::args::shown;
use scorpiox_tool_kit::{Args, Client, Failure, Output};

use crate::catalogue::{self, Skill};
use crate::cutting::shortened;
use crate::{Caller, MAX_SKILL_BYTES, Scope, Skills, front_matter, hygiene};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512;
/// Maximum size of the compiled pattern, and the bytes of descriptions and instructions that a call searches
/// with it. In the sandbox, the worst patterns take 0.3 µs per byte and KiB of pattern, so the worst call
/// takes less than 3 s. Ordinary calls take milliseconds.
const TIERS: [(usize, usize); 4] = [
    (1024, 8 * 1024 * 1024),
    (2 * 1024, 4 * 1024 * 1024),
    (4 * 1024, 2 * 1024 * 1024),
    (8 * 1024, 1024 * 1024),
];
/// Minimum and maximum number of skills in a result.
const MATCHES: RangeInclusive<usize> = 5..=20;
/// Characters of a result that are reserved for the text around the matches.
const AROUND_CHARS: usize = 500;
/// Characters per match in a result.
const MATCH_CHARS: usize = 510;
/// Maximum length of a matching line, in characters; also of a description if there are many matches.
const SHOWN_CHARS: usize = 200;
/// Maximum length of a description if there are few matches, in characters.
const DESCRIBED_CHARS: usize = 1500;

pub(crate) fn search(skills: &impl Skills, args: &Args<'_>) -> Result<Output, Failure> {
    let pattern = args.string("pattern")?.filter(|pattern| !pattern.is_empty()).ok_or_else(|| {
        Failure::InvalidInput(
            "pattern is missing; give a regular expression such as \"test|debug\".".to_owned(),
        )
    })?;
    let mut search = compile(&pattern)?;
    let mut catalogue = catalogue::read(skills).skills;
    catalogue.retain(|skill| skill.is_for(Caller::Model));
    let room = skills.room().saturating_sub(AROUND_CHARS);
    let most = (room / MATCH_CHARS).clamp(*MATCHES.start(), *MATCHES.end());
    let found = search.find(skills, &catalogue, most);
    let each = room / found.matches.len().max(1);
    let described = each.saturating_sub(MATCH_CHARS - SHOWN_CHARS).clamp(SHOWN_CHARS, DESCRIBED_CHARS);
    Ok(Output::text(report(skills, &pattern, (catalogue.len(), described), &found)))
}

/// A pattern, and the number of bytes that it may still search.
struct Search {
    regex: Regex,
    budget: usize,
}

fn compile(pattern: &str) -> Result<Search, Failure> {
    let refused =
        |why: String| Failure::InvalidInput(format!("pattern \"{}\" cannot be used: {why}.", shown(pattern)));
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(refused(format!("it has {} bytes; the limit is {MAX_PATTERN_BYTES}", pattern.len())));
    }
    let mut reason = String::new();
    for (size, budget) in TIERS {
        match RegexBuilder::new(pattern).case_insensitive(true).size_limit(size).build() {
            Ok(regex) => return Ok(Search { regex, budget }),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(refused(reason))
}

/// A matching skill, and the first matching line of its instructions.
struct Match<'a> {
    skill: &'a Skill,
    line: Option<String>,
}

#[derive(Default)]
struct Found<'a> {
    matches: Vec<Match<'a>>,
    /// `true` if there are more matches.
    more: bool,
    /// Number of skills whose instructions were unreadable or beyond the limit.
    unsearched: usize,
}

struct Unsearched;

impl Search {
    /// Returns at most `most` skills: matches in names first, then in descriptions, then in instructions.
    fn find<'a>(&mut self, skills: &impl Skills, catalogue: &'a [Skill], most: usize) -> Found<'a> {
        let (named, others): (Vec<_>, Vec<_>) =
            catalogue.iter().partition(|skill| self.regex.is_match(&skill.name));
        let (described, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|skill| {
            self.spend(skill.description.len()) && self.regex.is_match(&skill.description)
        });
        let mut found = Found::default();
        found.matches.extend(named.into_iter().chain(described).map(|skill| Match { skill, line: None }));
        for skill in others {
            if found.matches.len() > most {
                break;
            }
            match self.matching_line(skills, skill) {
                Ok(Some(line)) => found.matches.push(Match { skill, line: Some(line) }),
                Ok(None) => {}
                Err(Unsearched) => found.unsearched += 1,
            }
        }
        found.more = found.matches.len() > most;
        found.matches.truncate(most);
        found
    }

    fn matching_line(&mut self, skills: &impl Skills, skill: &Skill) -> Result<Option<String>, Unsearched> {
        if self.budget == 0 {
            return Err(Unsearched);
        }
        let bytes = skills.read(skill.source.id, MAX_SKILL_BYTES).map_err(|_| Unsearched)?;
        let body = &bytes[front_matter::split(&bytes).map_err(|_| Unsearched)?.body..];
        if !self.spend(body.len()) {
            return Err(Unsearched);
        }
        let text = String::from_utf8_lossy(body);
        Ok(text.lines().find_map(|line| self.regex.find(line).map(|found| around(line, found.start()))))
    }

    /// Takes bytes from the budget. An insufficient budget is set to zero.
    fn spend(&mut self, bytes: usize) -> bool {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }
}

/// Returns the displayed part of a line: from its start, or from shortly before the match.
fn around(line: &str, at: usize) -> String {
    const BEFORE: usize = 60;
    let before = &line[..at];
    let skipped = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
    let cleaned = hygiene::line(&line[skipped..]).text;
    let shown = shortened(&cleaned, SHOWN_CHARS);
    if skipped == 0 { shown } else { format!("…{shown}") }
}

/// Formats the result of a search for the given number of skills and maximum length of descriptions.
fn report(
    client: &impl Client,
    pattern: &str,
    (count, described): (usize, usize),
    found: &Found<'_>,
) -> String {
    let pattern = shown(&hygiene::line(pattern).text);
    let mut text = match found.matches.len() {
        0 => format!("None of {count} skills matches \"{pattern}\"."),
        1 => format!("1 of {count} {} matches \"{pattern}\":", if count == 1 { "skill" } else { "skills" }),
        matches => format!("{matches} of {count} skills match \"{pattern}\":"),
    };
    for Match { skill, line } in &found.matches {
        let origin = if skill.source.scope == Scope::Workspace { " (from the opened project)" } else { "" };
        let description = shortened(&skill.description, described);
        let _ = write!(text, "\n- {}{origin}: {description}", skill.name);
        if let Some(line) = line {
            let _ = write!(text, "\n  line: {line}");
        }
    }
    if found.more {
        let shown = found.matches.len();
        let _ = write!(text, "\nMore skills match; only {shown} are shown. Narrow the pattern.");
    }
    if found.unsearched > 0 {
        let _ = write!(
            text,
            "\nThe instructions of {} {} were not searched.",
            found.unsearched,
            if found.unsearched == 1 { "skill" } else { "skills" }
        );
    }
    if !found.matches.is_empty() {
        let _ =
            write!(text, "\nInvoke one with {} and its name as skill_name.", client.tool_name("InvokeSkill"));
    }
    text
}
