//! The tool's description with the catalogue in it. Clients cut descriptions at
//! 2 KiB, so it stays below that: descriptions are shortened evenly, names never.

use scorpiox_tool_kit::Client;

use crate::catalogue::Skill;

/// The description is shorter than this many bytes.
pub const MAX_BYTES: usize = 2048;
/// Descriptions are left out when they would have to be shorter than this, in
/// characters.
pub const MIN_CHARS: usize = 20;
const BASE: &str = "Invoke a skill by name for reusable workflows";
/// The tool that finds skills.
pub(crate) const SEARCH: &str = "SearchSkills";
const NONE: &str = "\n\nNo skills are installed. A skill is a file ./.scorpiox/skills/<name>/SKILL.md.";

/// A description, and whether it tells what every skill is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The text.
    pub text: String,
    /// Every skill is listed with a description.
    pub complete: bool,
}

/// Describes InvokeSkill with these skills.
pub fn describe(client: &impl Client, skills: &[Skill]) -> Listing {
    if skills.is_empty() {
        return Listing { text: format!("{BASE}{NONE}"), complete: true };
    }
    match longest_that_fits(skills) {
        Some(text) => Listing { text, complete: true },
        None => Listing { text: names(&client.tool_name(SEARCH), skills), complete: false },
    }
}

fn longest_that_fits(skills: &[Skill]) -> Option<String> {
    // A longer description than the limit never fits, so this one is unshortened.
    if let Some(text) = with_descriptions(skills, MAX_BYTES) {
        return Some(text);
    }
    let mut best = with_descriptions(skills, MIN_CHARS)?;
    let (mut fits, mut too_long) = (MIN_CHARS, MAX_BYTES);
    while too_long - fits > 1 {
        let middle = usize::midpoint(fits, too_long);
        match with_descriptions(skills, middle) {
            Some(text) => (best, fits) = (text, middle),
            None => too_long = middle,
        }
    }
    Some(best)
}

/// The text with descriptions of at most `max` characters, if it fits.
fn with_descriptions(skills: &[Skill], max: usize) -> Option<String> {
    let mut text = format!("{BASE}\n\nSkills:");
    for skill in skills {
        text.push_str("\n- ");
        text.push_str(&skill.name);
        text.push_str(": ");
        text.push_str(&shortened(&skill.description, max));
        if text.len() >= MAX_BYTES {
            return None;
        }
    }
    Some(text)
}

/// The names in order as far as they fit, and how many do not.
fn names(search: &str, skills: &[Skill]) -> String {
    let use_search = format!("Use {search} to find the one that fits.");
    let mut text = format!("{BASE}\n\nSkills:");
    for (listed, skill) in skills.iter().enumerate() {
        let left = skills.len() - listed;
        let more = format!("\n{left} more: use {search}");
        // Room for the last line is kept while something may still be left out.
        let reserved = more.len().max(use_search.len() + 1);
        if text.len() + "\n- ".len() + skill.name.len() + reserved >= MAX_BYTES {
            return text + &more;
        }
        text.push_str("\n- ");
        text.push_str(&skill.name);
    }
    text + "\n" + &use_search
}

/// At most `max` characters, cut after a word where one ends in the second half, and
/// not after punctuation that leads on.
pub fn shortened(text: &str, max: usize) -> String {
    if text.char_indices().nth(max).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
    let kept = &text[..end];
    let word = if text[end..].starts_with(' ') { Some(end) } else { kept.rfind(' ') };
    let cut = word.filter(|at| *at >= end / 2).unwrap_or(end);
    format!("{}…", kept[..cut].trim_end_matches([' ', ',', ';', ':', '-', '–', '—']))
}
