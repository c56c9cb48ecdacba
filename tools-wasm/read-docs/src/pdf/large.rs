//! Text over several lines of the page: initials (drop caps), large quotation marks, and watermarks.
//!
//! The text of a page is read line by line, so a character as high as three lines would make one of them.

use super::fragment::Fragment;

/// Minimum size of such text, relative to that of the lines. `BEHIND` is the minimum where lines run across it.
const LARGE: f64 = 1.5;
const BEHIND: f64 = 2.0;
/// Height of a capital, relative to the font size.
const CAPITAL: f64 = 0.75;
/// Maximum depth of an initial below the baseline of its last line, relative to the size of the lines.
const BELOW: f64 = 0.3;
/// Maximum distance between an initial and its lines, relative to their size; `BESIDE_SIGN` is that of a quotation mark.
/// At a larger distance than `WORD`, a letter is a word of its own.
const BESIDE: f64 = 1.5;
const BESIDE_SIGN: f64 = 4.0;
const WORD: f64 = 0.45;
/// Minimum distance between baselines of different lines, relative to the font size.
const APART: f64 = 0.45;
/// Maximum number of characters of an initial: a letter after a quotation mark.
const MAX_INITIAL: usize = 2;
/// Maximum number of large texts of a page that are looked at.
const MAX_LARGE: usize = 64;

/// Moves initials to their first lines. Returns the text behind lines, which is none of them.
pub(super) fn settle(fragments: &mut Vec<Fragment>, usual: f64) -> Vec<Fragment> {
    let is_large = |fragment: &Fragment| fragment.size >= LARGE * usual;
    let large: Vec<usize> =
        (0..fragments.len()).filter(|at| fragments.get(*at).is_some_and(is_large)).take(MAX_LARGE).collect();
    let mut behind = Vec::new();
    for at in large {
        let Some(text) = fragments.get(at).cloned() else { continue };
        if let Some(moved) = initial(&text, fragments) {
            if let Some(text) = fragments.get_mut(at) {
                *text = moved;
            }
        } else if is_behind(&text, fragments) {
            behind.push(at);
        }
    }
    // From the end, so that the others keep their places.
    let mut taken: Vec<Fragment> = behind.into_iter().rev().map(|at| fragments.remove(at)).collect();
    taken.reverse();
    for text in &mut taken {
        // It is no heading, however large it is.
        text.size = usual;
    }
    taken
}

/// Returns the small fragments at the height of a large text.
fn beside<'a>(large: &'a Fragment, all: &'a [Fragment]) -> impl Iterator<Item = &'a Fragment> {
    let top = large.base - CAPITAL * large.size;
    all.iter().filter(move |small| {
        small.size * LARGE <= large.size && small.base > top && small.base <= large.base + BELOW * small.size
    })
}

/// Returns an initial as a part of its first line; `None` if it is none.
fn initial(large: &Fragment, all: &[Fragment]) -> Option<Fragment> {
    let is_sign =
        |c: char| matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '‚' | '«' | '»' | '‹' | '›');
    let is_short = large.text.chars().count() <= MAX_INITIAL;
    if !is_short || !large.text.chars().all(|c| c.is_alphabetic() || is_sign(c)) {
        return None;
    }
    let is_sign = large.text.chars().all(is_sign);
    let farthest = if is_sign { BESIDE_SIGN } else { BESIDE };
    let follows = |small: &&Fragment| {
        let gap = small.start - large.end;
        gap > -0.5 * small.size && gap < farthest * small.size
    };
    let first = beside(large, all).filter(follows).min_by(|one, two| one.base.total_cmp(&two.base))?;
    // Beside a single line, it can stay in that line.
    beside(large, all).filter(follows).find(|other| other.base - first.base > APART * first.size)?;
    let is_word = first.start - large.end > WORD * first.size || large.space_after;
    let end = if is_word && !is_sign { first.start - WORD * first.size } else { first.start };
    Some(Fragment {
        end,
        start: large.start.min(end),
        base: first.base,
        size: first.size,
        style: first.style,
        space_after: is_word && !is_sign,
        ..large.clone()
    })
}

/// Returns `true` if at least two lines run across a large text.
fn is_behind(large: &Fragment, all: &[Fragment]) -> bool {
    let across = |small: &&Fragment| {
        small.size * BEHIND <= large.size && small.start < large.end && small.end > large.start
    };
    let Some(first) = beside(large, all).find(across) else { return false };
    beside(large, all).filter(across).any(|other| (other.base - first.base).abs() > APART * first.size)
}
