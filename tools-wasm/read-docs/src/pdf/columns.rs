//! Splits a page into regions in reading order.
//!
//! A gutter between columns of text is a gap that many lines share. Content that crosses it (titles, wide
//! tables and images) cuts the columns into bands that are read one after the other. Table cells share gaps
//! too. Tables are kept together, because their lines are short or have the same height on both sides.

use super::fragment::{Fragment, SPACE};
use super::gutter::{Gutter, gutters};
use super::line::{chains, weighted_median};
use super::rules::Rule;

/// Maximum nesting depth of regions.
const MAX_DEPTH: usize = 10;
/// Minimum number of fragments for columns.
const MIN_FRAGMENTS: usize = 12;
/// Largest and smallest value of the minimum gutter width, in font sizes.
const GUTTER: f64 = 0.7;
const NARROWEST: f64 = 0.5;
/// Minimum gap within a line that may separate table cells.
const GAP: f64 = 0.85;
/// Minimum overlap on both sides of content that crosses a gutter.
const CROSSING: f64 = 1.0;
/// Minimum number of lines on each side of a gutter.
const MIN_LINES: usize = 3;
/// Minimum usual length of the longest text in a column's lines, in characters. `SHORT_TEXT` applies if most
/// lines have no neighbor in the other column.
const TEXT: usize = 16;
const SHORT_TEXT: usize = 6;
/// Minimum distance between lines, in font sizes, that may separate a table from the content below.
const FAR: f64 = 2.2;

/// Remaining work for a document. A page of text takes a few thousand steps, but crafted pages may take as
/// many steps as they have text.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(30_000_000)
    }
}

impl Budget {
    fn takes(&mut self, fragments: usize) -> bool {
        match self.0.checked_sub(fragments) {
            Some(left) => self.0 = left,
            None => self.0 = 0,
        }
        self.0 > 0
    }
}

/// Returns the regions of a page, each with one column.
pub(super) fn regions(fragments: Vec<Fragment>, rules: &[Rule], budget: &mut Budget) -> Vec<Vec<Fragment>> {
    let mut out = Vec::new();
    split(led(fragments), rules, (0, budget), &mut out);
    out
}

/// Extends dot leaders up to their number, so that no gutter is detected there.
fn led(mut fragments: Vec<Fragment>) -> Vec<Fragment> {
    let is_dots = |text: &str| text.chars().all(|c| matches!(c, '.' | '·' | '…'));
    if !fragments.iter().any(|fragment| is_dots(&fragment.text) || fragment.text.ends_with("...")) {
        return fragments;
    }
    fragments.sort_by(|one, two| one.base.total_cmp(&two.base).then(one.start.total_cmp(&two.start)));
    for at in 1..fragments.len() {
        let [Some(before), Some(after)] = [fragments.get(at - 1), fragments.get(at)] else { continue };
        let leads = is_dots(&before.text) || before.text.ends_with("...");
        let is_number = after.text.len() <= 6 && after.text.chars().all(char::is_alphanumeric);
        let is_same = (after.base - before.base).abs() < 0.1 * before.size;
        let end = after.start - SPACE * 2.0 * after.size;
        if leads
            && is_number
            && is_same
            && let Some(before) = fragments.get_mut(at - 1)
        {
            before.end = before.end.max(end);
        }
    }
    fragments
}

fn split(
    mut fragments: Vec<Fragment>,
    rules: &[Rule],
    (depth, budget): (usize, &mut Budget),
    out: &mut Vec<Vec<Fragment>>,
) {
    if depth < MAX_DEPTH && fragments.len() >= MIN_FRAGMENTS && budget.takes(fragments.len()) {
        let size = median_size(&fragments);
        for gutter in gutters(&mut fragments, size) {
            if !budget.takes(fragments.len()) {
                break;
            }
            match divide(fragments, rules, gutter, size) {
                Ok(parts) => {
                    for part in parts {
                        split(part, rules, (depth + 1, budget), out);
                    }
                    return;
                }
                Err(whole) => fragments = whole,
            }
        }
    }
    if !fragments.is_empty() {
        out.push(fragments);
    }
}

pub(super) fn median_size(fragments: &[Fragment]) -> f64 {
    let mut sizes: Vec<_> = fragments.iter().map(|fragment| (fragment.size, fragment.weight())).collect();
    sizes.sort_by(|one, two| one.0.total_cmp(&two.0));
    let all = sizes.iter().map(|(_, weight)| weight).sum();
    weighted_median(&sizes, all).unwrap_or(10.0)
}

/// Lines between two lines that cross a gutter, or between rules.
#[derive(Debug, Default)]
struct Band {
    left: Vec<Fragment>,
    right: Vec<Fragment>,
    stats: [Stats; 2],
    both: usize,
    /// `true` if a rule precedes the band. `crosses` is `true` if its lines cross the gutter.
    is_after_rule: bool,
    crosses: bool,
}

/// Statistics of one side of a band.
#[derive(Debug, Default)]
struct Stats {
    /// Number of texts between gaps that are as wide as in tables. `longest` has the longest text of each
    /// line.
    texts: usize,
    longest: Vec<usize>,
    widths: Vec<f64>,
    starts: Vec<f64>,
    ends: Vec<f64>,
    start: Option<f64>,
    end: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Columns,
    Whole,
    /// Too little text to decide.
    Open,
}

/// Divides fragments at a gutter, or returns them unchanged if the gutter does not separate columns.
fn divide(
    mut fragments: Vec<Fragment>,
    rules: &[Rule],
    gutter: Gutter,
    size: f64,
) -> Result<Vec<Vec<Fragment>>, Vec<Fragment>> {
    fragments.sort_by(|one, two| one.base.total_cmp(&two.base));
    let crossing = |rule: &&Rule| {
        !rule.is_across
            && rule.start < gutter.start - CROSSING * size
            && rule.end > gutter.end + CROSSING * size
    };
    let mut cuts = rules.iter().filter(crossing).map(|rule| rule.at).peekable();
    let mut bands: Vec<Band> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    let mut row: Vec<Fragment> = Vec::new();
    let mut waiting = fragments.into_iter().peekable();
    while let Some(fragment) = waiting.next() {
        let base = row.first().map_or(fragment.base, |first: &Fragment| first.base);
        row.push(fragment);
        if waiting.peek().is_some_and(|next| next.base - base <= 0.3 * size) {
            continue;
        }
        let mut is_after_rule = false;
        while cuts.next_if(|at| *at < base).is_some() {
            is_after_rule = true;
        }
        let is_far = base - last > FAR * size;
        last = base;
        add(std::mem::take(&mut row), gutter, size, (is_after_rule, is_far), &mut bands);
    }
    let mut classes: Vec<Class> = bands.iter().map(class).collect();
    settle(&bands, &mut classes);
    if classes.contains(&Class::Columns) {
        Ok(parts(bands, &classes))
    } else {
        Err(bands.into_iter().flat_map(|band| band.left.into_iter().chain(band.right)).collect())
    }
}

/// Adds a line to the last band, or begins a new band.
fn add(
    mut row: Vec<Fragment>,
    gutter: Gutter,
    size: f64,
    (after_rule, is_far): (bool, bool),
    bands: &mut Vec<Band>,
) {
    row.sort_by(|one, two| one.start.total_cmp(&two.start));
    let middle = f64::midpoint(gutter.start, gutter.end);
    let gap = (0.6 * (gutter.end - gutter.start)).clamp(NARROWEST * size, GUTTER * size);
    let found = chains(&row, gap);
    let crosses = found.iter().any(|chain| {
        chain.start < gutter.start - CROSSING * size && chain.end > gutter.end + CROSSING * size
    });
    let mut sides = [Stats::default(), Stats::default()];
    let mut cut = 0;
    for chain in &found {
        let is_right = f64::midpoint(chain.start, chain.end) > middle;
        if !is_right {
            cut += chain.pieces.len();
        }
        if let Some(side) = sides.get_mut(usize::from(is_right)) {
            for text in chains(chain.pieces, GAP * size) {
                side.texts += 1;
                side.longest.push(text.pieces.iter().map(Fragment::weight).sum());
            }
            side.start = Some(side.start.map_or(chain.start, |start| start.min(chain.start)));
            side.end = Some(side.end.map_or(chain.end, |end| end.max(chain.end)));
        }
    }
    let is_new = after_rule || is_far || bands.last().is_none_or(|band| band.crosses != crosses);
    if is_new {
        bands.push(Band { is_after_rule: after_rule, crosses, ..Band::default() });
    }
    let Some(band) = bands.last_mut() else { return };
    if sides.iter().all(|side| side.start.is_some()) {
        band.both += 1;
    }
    for (all, side) in band.stats.iter_mut().zip(&sides) {
        all.add(side);
    }
    let right = row.split_off(cut.min(row.len()));
    band.left.append(&mut row);
    band.right.extend(right);
}

impl Stats {
    fn add(&mut self, line: &Self) {
        let (Some(start), Some(end)) = (line.start, line.end) else { return };
        self.texts += line.texts;
        self.longest.extend(line.longest.iter().max());
        self.widths.push(end - start);
        self.starts.push(start);
        self.ends.push(end);
        self.start = Some(self.start.map_or(start, |known| known.min(start)));
        self.end = Some(self.end.map_or(end, |known| known.max(end)));
    }

    fn lines(&self) -> usize {
        self.widths.len()
    }

    /// Returns the usual length of a line's longest text, in characters.
    fn usual(&self) -> usize {
        let mut longest = self.longest.clone();
        longest.sort_unstable();
        longest.get(longest.len() / 2).copied().unwrap_or_default()
    }

    /// Returns `true` if most lines are nearly as wide as the side.
    fn is_full(&self) -> bool {
        let all = self.end.unwrap_or_default() - self.start.unwrap_or_default();
        let full = self.widths.iter().filter(|width| **width >= 0.6 * all).count();
        full * 2 >= self.lines()
    }
}

/// Returns the distance between the two sides, ignoring a few outliers.
fn gap(left: &Stats, right: &Stats) -> f64 {
    let sorted = |places: &[f64]| {
        let mut places = places.to_vec();
        places.sort_by(f64::total_cmp);
        places
    };
    let (ends, starts) = (sorted(&left.ends), sorted(&right.starts));
    let end = ends.get(ends.len().saturating_sub(1 + ends.len() / 16)).copied();
    let start = starts.get(starts.len() / 16).copied();
    end.zip(start).map_or(0.0, |(end, start)| start - end)
}

fn class(band: &Band) -> Class {
    let [left, right] = &band.stats;
    let fewer = left.lines().min(right.lines());
    if band.crosses {
        return Class::Whole;
    }
    if fewer < MIN_LINES {
        return if left.lines() + right.lines() < 8 || fewer == 0 { Class::Open } else { Class::Whole };
    }
    let is_text = |side: &Stats| side.usual() >= TEXT && side.is_full();
    let are_texts = is_text(left) && is_text(right) && gap(left, right) > 0.0;
    let are_apart = fewer > MIN_LINES
        && band.both * 5 < fewer * 2
        && left.usual() >= SHORT_TEXT
        && right.usual() >= SHORT_TEXT;
    if are_texts || are_apart { Class::Columns } else { Class::Whole }
}

/// Turns open bands into columns if they are next to columns, and are between columns or may be text.
fn settle(bands: &[Band], classes: &mut [Class]) {
    let known = classes.to_vec();
    let may_join = |at: usize| bands.get(at).is_some_and(|band| may_join(band, &known, at));
    let mut join = |at: usize, beside: usize, later: usize| {
        let is_parted = bands.get(later).is_none_or(|band| band.is_after_rule);
        let is_open = classes.get(at) == Some(&Class::Open) && classes.get(beside) == Some(&Class::Columns);
        if let Some(class) = classes.get_mut(at).filter(|_| is_open && !is_parted && may_join(at)) {
            *class = Class::Columns;
        }
    };
    for at in 1..bands.len() {
        join(at, at - 1, at);
    }
    for at in (1..bands.len()).rev() {
        join(at - 1, at, at);
    }
}

fn may_join(band: &Band, known: &[Class], at: usize) -> bool {
    let is_columns = |class: Option<&Class>| class == Some(&Class::Columns);
    let next = known.iter().skip(at).find(|class| **class != Class::Open);
    let last = known.iter().take(at).rev().find(|class| **class != Class::Open);
    let [left, right] = &band.stats;
    let is_text = [left, right].iter().all(|side| side.texts <= side.lines());
    // A title above full-width content, below the left column.
    let is_short = right.lines() == 0 && left.lines() < MIN_LINES;
    let is_title = is_short && known.get(at + 1) == Some(&Class::Whole);
    is_text && !is_title || is_columns(last) && is_columns(next)
}

fn parts(bands: Vec<Band>, classes: &[Class]) -> Vec<Vec<Fragment>> {
    let mut parts: Vec<Vec<Fragment>> = Vec::new();
    let mut last: Option<bool> = None;
    for (band, class) in bands.into_iter().zip(classes) {
        let is_columns = *class == Class::Columns;
        let is_joined = last == Some(is_columns) && !(is_columns && band.is_after_rule);
        let count = parts.len();
        match (is_columns, is_joined) {
            (true, true) if count >= 2 => {
                if let Some([left, right]) = parts.get_mut(count - 2..) {
                    left.extend(band.left);
                    right.extend(band.right);
                }
            }
            (true, _) => parts.extend([band.left, band.right]),
            (false, true) if count > 0 => {
                if let Some(whole) = parts.last_mut() {
                    whole.extend(band.left.into_iter().chain(band.right));
                }
            }
            (false, _) => parts.push(band.left.into_iter().chain(band.right).collect()),
        }
        last = Some(is_columns);
    }
    parts
}
