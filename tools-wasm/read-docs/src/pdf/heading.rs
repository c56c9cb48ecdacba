//! Detects headings and their levels: by font size and weight relative to the surrounding text, by the
//! document's outline, and by their numbers.

use std::collections::HashMap;

use super::block::{Block, Item, Role, Text};
use super::fragment::whole;
use super::outline;
use super::page::PageText;

/// Minimum font size of a heading that is not bold, relative to the text. A bold heading may have the text's
/// size.
const LARGER: f64 = 1.1;
const CLEARLY_LARGER: f64 = 1.3;
/// Maximum length of a heading, in characters. `MAX_LINES` is the maximum number of lines, and
/// `MAX_BOLD_CHARS` the maximum length of a bold heading.
const MAX_CHARS: usize = 220;
const MAX_LINES: usize = 4;
const MAX_BOLD_CHARS: usize = 120;
/// Number of headings from which they may have at most `PART` percent of the text.
const MANY: usize = 10;
const PART: usize = 40;
/// Minimum ratio of font sizes that share a level.
const SAME: f64 = 0.96;

/// Appearance of a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Look {
    /// Font size in quarters of a point.
    size: i32,
    is_bold: bool,
}

/// Criteria for headings of a document.
#[derive(Debug)]
pub(super) struct Headings {
    /// Font size of the main text.
    pub(super) size: f64,
    titles: HashMap<String, usize>,
    levels: HashMap<Look, usize>,
    /// Minimum depth of the numbers of each look.
    depths: HashMap<Look, usize>,
    /// Most frequent level of headings by depth of their numbers; all headings of this depth have it.
    numbered: HashMap<usize, usize>,
}

fn quarters(size: f64) -> i32 {
    whole((size * 4.0).round())
}

fn as_text(block: &Block) -> Option<&Text> {
    match block {
        Block::Text(text) => Some(text),
        _ => None,
    }
}

impl Headings {
    pub(super) fn of(pages: &[PageText], size: f64, titles: HashMap<String, usize>) -> Self {
        let mut headings =
            Self { size, titles, levels: HashMap::new(), depths: HashMap::new(), numbered: HashMap::new() };
        // Number and total length of the texts with each look.
        let mut looks: HashMap<Look, (usize, usize)> = HashMap::new();
        let mut all = 0_usize;
        for text in pages.iter().flat_map(|page| &page.body).filter_map(as_text) {
            let length: usize = text.spans.iter().map(|span| span.text.len()).sum();
            all = all.saturating_add(length);
            if headings.is_heading(text) {
                let seen = looks.entry(look(text)).or_default();
                *seen = (seen.0 + 1, seen.1.saturating_add(length));
                if let Some(depth) = depth(&text.plain()) {
                    let least = headings.depths.entry(look(text)).or_insert(depth);
                    *least = depth.min(*least);
                }
            }
        }
        headings.levels = levels(without_common(looks, all));
        headings.numbered = headings.numbered(pages);
        headings
    }

    fn numbered(&self, pages: &[PageText]) -> HashMap<usize, usize> {
        let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
        for text in pages.iter().flat_map(|page| &page.body).filter_map(as_text) {
            if let (Some(level), Some(depth)) = (self.level(text), depth(&text.plain())) {
                *counts.entry((depth, level)).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|((depth, level), count)| (*depth, *count, std::cmp::Reverse(*level)));
        counts.into_iter().map(|((depth, level), _)| (depth, level)).collect()
    }

    /// Returns the level of a heading, 1 to 6, or `None` for other text.
    pub(super) fn level(&self, text: &Text) -> Option<usize> {
        if !self.is_heading(text) {
            return None;
        }
        let look = look(text);
        let level = self.levels.get(&look).copied()?;
        let depth = depth(&text.plain());
        if let Some(level) = depth.and_then(|depth| self.numbered.get(&depth)) {
            return Some(*level);
        }
        let deeper = match (depth, self.depths.get(&look)) {
            (Some(depth), Some(least)) => depth.saturating_sub(*least),
            _ => 0,
        };
        Some((level + deeper).clamp(1, 6))
    }

    fn is_heading(&self, text: &Text) -> bool {
        if text.lines > MAX_LINES || text.role != Role::Body {
            return false;
        }
        let plain = text.plain();
        let chars = plain.chars().count();
        let has_letters = plain.chars().filter(|c| c.is_alphabetic()).count() >= 2;
        let is_usable = chars <= MAX_CHARS && has_letters;
        if !is_usable || matches!(text.item, Some(Item::Bullet | Item::Other(_))) {
            return false;
        }
        if !self.titles.is_empty()
            && text.size >= SAME * self.size
            && self.titles.contains_key(&outline::key(&plain))
        {
            return true;
        }
        let ends = plain.trim_end().ends_with(['.', ',', ';', ':']);
        if text.is_bold {
            let is_large = text.size >= LARGER * self.size;
            return text.size >= SAME * self.size
                && (is_large || chars <= MAX_BOLD_CHARS && text.lines <= 2 && !ends);
        }
        text.size >= CLEARLY_LARGER * self.size && (!ends || text.lines == 1)
            || text.size >= LARGER * self.size && !ends && text.lines <= 2 && depth(&plain).is_some()
    }
}

/// Removes the smallest looks if most text would be headings, because text on slides is large.
fn without_common(looks: HashMap<Look, (usize, usize)>, all: usize) -> Vec<Look> {
    let (mut count, mut length) = looks.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut looks: Vec<_> = looks.into_iter().collect();
    looks.sort_unstable_by_key(|(look, _)| std::cmp::Reverse(*look));
    while count >= MANY && length > all / 100 * PART {
        let Some((_, seen)) = looks.pop() else { break };
        count -= seen.0;
        length -= seen.1;
    }
    looks.into_iter().map(|(look, _)| look).collect()
}

fn look(text: &Text) -> Look {
    Look { size: quarters(text.size), is_bold: text.is_bold }
}

/// Assigns levels to looks by size, then weight. Similar sizes share a level.
fn levels(mut looks: Vec<Look>) -> HashMap<Look, usize> {
    looks.sort_unstable_by(|one, two| two.cmp(one));
    let mut levels = HashMap::new();
    let mut level = 0;
    let mut last: Option<Look> = None;
    for look in looks {
        let is_same = last.is_some_and(|last| {
            f64::from(look.size) >= SAME * f64::from(last.size) && look.is_bold == last.is_bold
        });
        if !is_same {
            level += 1;
            last = Some(look);
        }
        levels.insert(look, level);
    }
    levels
}

/// Returns the depth of the number before a heading: 2 for `3.1`.
fn depth(text: &str) -> Option<usize> {
    let (number, rest) = text.trim_start().split_once(' ')?;
    let number = number.strip_suffix('.').unwrap_or(number);
    let mut parts = number.split('.');
    let is_part =
        |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = parts.next()?;
    let is_letter = first.len() == 1 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let starts = rest.trim_start().chars().next().is_some_and(|c| c.is_uppercase() || !c.is_ascii());
    let count = parts.clone().count();
    let is_number = (is_part(first) || is_letter && count > 0) && parts.all(is_part);
    (is_number && starts && count < 6).then_some(count + 1)
}
