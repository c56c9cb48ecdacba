//! The tool's description with the skill catalog. Clients cut descriptions at 2 KiB, so it stays below that.
//!
//! Skill descriptions are listed in full if they fit. Otherwise every skill keeps its name and a few words,
//! and the remaining space goes to complete sentences: first for the user's skills, then for skills that the
//! workspace requires. Lines are sorted by name, independent of the priority.

use crate::catalogue::Skill;
use crate::cutting::{distinct, first_sentence, shared};
use crate::{Caller, Scope, Skills};

/// The description is shorter than this limit, in bytes.
pub const MAX_BYTES: usize = 2048;
/// Minimum length of each skill's description, in characters, unless the full description is shorter.
pub const MIN_CHARS: usize = 28;
/// Maximum size of the addition to the server's instructions, in bytes. They are limited to 2 KiB too, and
/// begin with other content.
pub const MAX_MORE_BYTES: usize = 1500;
const BASE: &str = "Invoke a skill by name for reusable workflows";
const HEADING: &str = "\n\nSkills:";
/// Prefix of a name. `COLON` separates the name and the description.
const BULLET: &str = "\n- ";
const COLON: &str = ": ";
/// Name of the search tool.
pub(crate) const SEARCH: &str = "SearchSkills";
const NONE: &str = "\n\nNo skills are installed. A skill is a file ./.scorpiox/skills/<name>/SKILL.md.";
const NONE_FOR_MODELS: &str = "\n\nThe skills that are installed are for people, who pick them as prompts.";

/// The tool's description, and the text for each skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The description.
    pub text: String,
    /// Listed text of each skill, in the catalog's order; `None` if the skill is not listed.
    pub listed: Vec<Option<String>>,
    /// Lines with the full descriptions of the user's skills that are shortened in `text`.
    pub more: Vec<String>,
    is_complete: bool,
}

impl Listing {
    /// Returns `true` if every skill for models is listed with its full description.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Describes InvokeSkill with these skills.
pub fn describe(skills: &impl Skills, catalogue: &[Skill]) -> Listing {
    let for_models: Vec<&Skill> = catalogue.iter().filter(|skill| skill.is_for(Caller::Model)).collect();
    if for_models.is_empty() {
        let text = [BASE, if catalogue.is_empty() { NONE } else { NONE_FOR_MODELS }].concat();
        return Listing { text, listed: vec![None; catalogue.len()], more: Vec::new(), is_complete: true };
    }
    let whole = for_models.iter().map(|skill| line(skill, Some(&skill.description)).len()).sum::<usize>();
    let is_complete = BASE.len() + HEADING.len() + whole < MAX_BYTES;
    let plan = if is_complete { Plan::whole(&for_models) } else { Plan::cut(skills, for_models) };
    let mut lines = plan.lines.into_iter();
    let of = |skill: &Skill| if skill.is_for(Caller::Model) { lines.next().flatten() } else { None };
    let listed: Vec<Option<String>> = catalogue.iter().map(of).collect();
    let lines: String = listed.iter().flatten().map(String::as_str).collect();
    let text = [BASE, HEADING, &lines, &plan.tail].concat();
    let listed = listed.into_iter().map(|line| line.map(|line| line[BULLET.len()..].to_owned())).collect();
    Listing { text, listed, more: plan.more, is_complete }
}

fn line(skill: &Skill, description: Option<&str>) -> String {
    match description {
        Some(description) => [BULLET, &skill.name, COLON, description].concat(),
        None => [BULLET, &skill.name].concat(),
    }
}

/// Layout of the list.
struct Plan {
    lines: Vec<Option<String>>,
    /// Text after the list.
    tail: String,
    more: Vec<String>,
}

impl Plan {
    fn whole(skills: &[&Skill]) -> Self {
        let lines = skills.iter().map(|skill| Some(line(skill, Some(&skill.description)))).collect();
        Self { lines, tail: String::new(), more: Vec::new() }
    }

    fn cut(skills: &impl Skills, listed: Vec<&Skill>) -> Self {
        let search = skills.tool_name(SEARCH);
        let mut room = Room::new(&skills.required(), listed, &search);
        room.name_all(&search);
        room.describe_all();
        room.improve(|skill| first_sentence(&skill.description));
        room.improve(|skill| skill.description.clone());
        room.spread();
        let more = room.more();
        let Room { skills, named, texts, tail, .. } = room;
        let entries = skills.into_iter().zip(named).zip(&texts);
        let lines = entries.map(|((skill, is_named), text)| is_named.then(|| line(skill, text.as_deref())));
        Self { lines: lines.collect(), tail, more }
    }
}

/// The list while space is allocated.
struct Room<'a> {
    skills: Vec<&'a Skill>,
    /// Indexes in `skills` in order of priority.
    order: Vec<usize>,
    ranks: Vec<u8>,
    /// Length of the beginning that each description shares with another one.
    shared: Vec<usize>,
    named: Vec<bool>,
    texts: Vec<Option<String>>,
    /// Unallocated bytes.
    left: usize,
    tail: String,
}

impl<'a> Room<'a> {
    fn new(required: &[String], skills: Vec<&'a Skill>, search: &str) -> Self {
        let ranks: Vec<u8> = skills.iter().map(|skill| rank(skill, required)).collect();
        let mut order: Vec<usize> = (0..skills.len()).collect();
        order.sort_by_key(|at| ranks[*at]);
        let descriptions: Vec<&str> = skills.iter().map(|skill| skill.description.as_str()).collect();
        let shared = shared(&descriptions);
        let tail = format!("\nUse {search} to search whole descriptions and instructions.");
        let left = MAX_BYTES - 1 - BASE.len() - HEADING.len();
        let (named, texts) = (vec![false; skills.len()], vec![None; skills.len()]);
        Self { skills, order, ranks, shared, named, texts, left: left.saturating_sub(tail.len()), tail }
    }

    /// Adds as many names as fit, and the number of those that do not fit.
    fn name_all(&mut self, search: &str) {
        let cost = |skill: &Skill| BULLET.len() + skill.name.len();
        let all: usize = self.skills.iter().map(|skill| cost(skill)).sum();
        if all <= self.left {
            self.named.fill(true);
            self.left -= all;
            return;
        }
        let tail = |left: usize| format!("\n{left} more: use {search}");
        // The final count is smaller, so its text is not longer.
        self.left = (self.left + self.tail.len()).saturating_sub(tail(self.skills.len()).len());
        for at in &self.order {
            if let Some(left) = self.left.checked_sub(cost(self.skills[*at])) {
                self.named[*at] = true;
                self.left = left;
            }
        }
        self.tail = match self.named.iter().filter(|named| !**named).count() {
            // The tail for the final count can be shorter, which makes room for the last name.
            0 => format!("\n{search} finds all."),
            left => tail(left),
        };
    }

    /// Adds some words for each skill.
    fn describe_all(&mut self) {
        for at in self.order.clone() {
            let text = self.cut(at, MIN_CHARS);
            self.put(at, text);
        }
    }

    /// Replaces texts by better ones in order of priority. Within a priority, shorter texts come first.
    fn improve(&mut self, better: impl Fn(&Skill) -> String) {
        let texts = self.skills.iter().map(|skill| better(skill));
        let texts: Vec<String> = texts.collect();
        let mut order = self.order.clone();
        order.sort_by_key(|at| (self.ranks[*at], texts[*at].len()));
        for at in order {
            let text = &texts[at];
            let is_better = self.texts[at].as_ref().is_some_and(|known| known.len() < text.len());
            if is_better {
                self.put(at, text.clone());
            }
        }
    }

    /// Distributes the remaining space evenly among descriptions that are cut within a sentence.
    fn spread(&mut self) {
        let is_cut = |at: &usize| {
            let text = self.texts[*at].as_deref().unwrap_or_default();
            text.ends_with('…') && !text.ends_with(" …")
        };
        let cut: Vec<usize> = (0..self.skills.len()).filter(is_cut).collect();
        let now: usize = cut.iter().filter_map(|at| self.texts[*at].as_ref()).map(String::len).sum();
        let cost = |max: usize| cut.iter().map(|at| self.cut(*at, max).len()).sum::<usize>();
        let (mut fits, mut too_long) = (MIN_CHARS, MAX_BYTES);
        while too_long - fits > 1 {
            let middle = usize::midpoint(fits, too_long);
            if cost(middle) <= now + self.left { fits = middle } else { too_long = middle }
        }
        for at in cut {
            let text = self.cut(at, fits);
            self.put(at, text);
        }
    }

    fn cut(&self, at: usize, max: usize) -> String {
        distinct(&self.skills[at].description, self.shared[at], max)
    }

    /// Sets the text of a skill if there is room for it.
    fn put(&mut self, at: usize, text: String) {
        let taken = self.texts[at].as_ref().map_or(0, |text| COLON.len() + text.len());
        if let Some(left) = (self.left + taken).checked_sub(COLON.len() + text.len())
            && self.named[at]
        {
            self.texts[at] = Some(text);
            self.left = left;
        }
    }

    /// Returns full descriptions that are not in the list. Skills of the workspace are excluded because
    /// commands can write them, and a model trusts the server's instructions as the user's words.
    fn more(&self) -> Vec<String> {
        let is_own = |at: &&usize| self.skills[**at].source.scope != Scope::Workspace;
        let is_cut = |at: &&usize| self.texts[**at].as_ref() != Some(&self.skills[**at].description);
        let mut cut: Vec<usize> = self.order.iter().filter(is_own).filter(is_cut).copied().collect();
        cut.sort_by_key(|at| (self.ranks[*at], self.skills[*at].description.len()));
        let mut left = MAX_MORE_BYTES;
        cut.retain(|at| {
            let skill = self.skills[*at];
            let fits = left.checked_sub(line(skill, Some(&skill.description)).len());
            left = fits.unwrap_or(left);
            fits.is_some()
        });
        cut.sort_unstable();
        let line = |at: usize| line(self.skills[at], Some(&self.skills[at].description));
        cut.into_iter().map(|at| line(at)[1..].to_owned()).collect()
    }
}

/// Returns the priority of a skill, lowest first: the user's skills, then skills that the workspace requires,
/// then others.
fn rank(skill: &Skill, required: &[String]) -> u8 {
    let is_required = required.contains(&skill.name);
    match (skill.source.scope != Scope::Workspace, is_required) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => 3,
    }
}
