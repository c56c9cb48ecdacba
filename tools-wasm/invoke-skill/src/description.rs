//! The tool's description with the catalogue in it. Clients cut descriptions at 2 KiB, so it stays below
//! that.
//!
//! Descriptions stand there as their authors wrote them while they fit. Where they do not, every skill keeps
//! its name and some words, and the room that is left goes to whole sentences: first of the person's own
//! skills, then of those that the workspace requires. Lines are sorted by name, whatever their rank.

use crate::catalogue::Skill;
use crate::cutting::{distinct, first_sentence, shared};
use crate::{Caller, Scope, Skills};

/// The description is shorter than this many bytes.
pub const MAX_BYTES: usize = 2048;
/// Every described skill has as many characters, or all that it has.
pub const MIN_CHARS: usize = 28;
/// Most bytes of what the server's instructions add: they have 2 KiB too, and say other things first.
pub const MAX_MORE_BYTES: usize = 1500;
const BASE: &str = "Invoke a skill by name for reusable workflows";
const HEADING: &str = "\n\nSkills:";
/// Before a name, and between it and a description.
const BULLET: &str = "\n- ";
const COLON: &str = ": ";
/// The tool that finds skills.
pub(crate) const SEARCH: &str = "SearchSkills";
const NONE: &str = "\n\nNo skills are installed. A skill is a file ./.scorpiox/skills/<name>/SKILL.md.";
const NONE_FOR_MODELS: &str = "\n\nThe skills that are installed are for people, who pick them as prompts.";

/// A description, and what it says of each skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The text.
    pub text: String,
    /// What stands for each skill, in the catalogue's order; none for one that is not listed.
    pub listed: Vec<Option<String>>,
    /// Lines with the whole descriptions of skills of the person that are cut in the text.
    pub more: Vec<String>,
    is_complete: bool,
}

impl Listing {
    /// Whether every skill for models is listed with its whole description.
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

/// What stands for each skill.
struct Plan {
    lines: Vec<Option<String>>,
    /// What follows the list.
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

/// The list while room is given out.
struct Room<'a> {
    skills: Vec<&'a Skill>,
    /// Which comes first when there is not room for all: places in `skills`.
    order: Vec<usize>,
    ranks: Vec<u8>,
    /// How much of a description another one begins with, too.
    shared: Vec<usize>,
    named: Vec<bool>,
    texts: Vec<Option<String>>,
    /// Bytes that nothing takes yet.
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

    /// The names, as far as they fit, and how many do not.
    fn name_all(&mut self, search: &str) {
        let cost = |skill: &Skill| BULLET.len() + skill.name.len();
        let all: usize = self.skills.iter().map(|skill| cost(skill)).sum();
        if all <= self.left {
            self.named.fill(true);
            self.left -= all;
            return;
        }
        let tail = |left: usize| format!("\n{left} more: use {search}");
        // Fewer are left over in the end, so it is not longer.
        self.left = (self.left + self.tail.len()).saturating_sub(tail(self.skills.len()).len());
        for at in &self.order {
            if let Some(left) = self.left.checked_sub(cost(self.skills[*at])) {
                self.named[*at] = true;
                self.left = left;
            }
        }
        self.tail = match self.named.iter().filter(|named| !**named).count() {
            // A shorter last line made room for the last name.
            0 => format!("\n{search} finds all."),
            left => tail(left),
        };
    }

    /// Some words for each skill.
    fn describe_all(&mut self) {
        for at in self.order.clone() {
            let text = self.cut(at, MIN_CHARS);
            self.put(at, text);
        }
    }

    /// Better texts, in order; of equals, those first that cost least.
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

    /// What is left, evenly to those that are still cut within a sentence.
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

    /// Gives a skill a text, if there is room for it.
    fn put(&mut self, at: usize, text: String) {
        let taken = self.texts[at].as_ref().map_or(0, |text| COLON.len() + text.len());
        if let Some(left) = (self.left + taken).checked_sub(COLON.len() + text.len())
            && self.named[at]
        {
            self.texts[at] = Some(text);
            self.left = left;
        }
    }

    /// Whole descriptions that are not in the list, of skills that commands cannot have written: in a
    /// server's instructions a model looks for its user's words.
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

/// The lower, the sooner: the person's own skills, then those that the workspace requires, then others.
fn rank(skill: &Skill, required: &[String]) -> u8 {
    let is_required = required.contains(&skill.name);
    match (skill.source.scope != Scope::Workspace, is_required) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => 3,
    }
}
