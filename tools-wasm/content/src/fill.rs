//! Smooths a selection: short blocks stay with the kept blocks that they belong to.
//!
//! The selection maximizes a measure that counts words, so a heading or a term without its definition has
//! little effect on it. On reference pages, this step changes the measure by less than its noise.

use crate::features::number;
use crate::outline::{Block, Outline, Sums};
use crate::tags::Tag;

/// A code listing stays if at least this share of the surrounding words stays.
const AROUND_CODE: f32 = 0.3;
/// A data table stays if at least this share of the surrounding words stays, unless it is mostly links
/// (navigation).
const AROUND_TABLE: f32 = 0.5;
/// A list stays as a whole if at least this share of its words stays.
const OF_LIST: f32 = 0.7;
/// Minimum probability of a block between two kept blocks.
const BETWEEN: f32 = 0.1;
/// Maximum length of a gap between two kept blocks of the same element that is filled, in blocks.
const GAP: usize = 4;
const WORDS_OF_GAP: u32 = 30;
const IN_GAP: f32 = 0.03;
/// Minimum probability of a paragraph next to a kept one, if at least `OF_ENDS` of the parent element stays.
const AT_END: f32 = 0.2;
const OF_ENDS: f32 = 0.8;
/// Minimum probability of a heading before a kept block.
const HEADING: f32 = 0.2;

/// On a page with code listings (documentation), a landmark stays as a whole if at least this share of its
/// words stays. Very unlikely blocks and long blocks are excluded.
const OF_LANDMARK: f32 = 0.75;
const IN_LANDMARK: f32 = 0.05;
const MOST_IN_LANDMARK: u32 = 60;
/// Pages with at most this many words are kept as a whole, except for hidden elements and elements such as
/// `aside`.
const FEW_WORDS: u32 = 100;

const LISTS: [Tag; 4] = [Tag::UL, Tag::OL, Tag::DL, Tag::DETAILS];

pub(crate) fn fill(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    if outline.words() <= FEW_WORDS {
        for (block, kept) in outline.blocks.iter().zip(&mut *kept) {
            *kept |= !outline.around(block.element).any(|at| outline.elements[at].is_beside());
        }
        return;
    }
    if outline.elements.iter().any(|element| element.tag == Tag::PRE) {
        fill_landmarks(outline, likely, kept);
    }
    let words = kept_words(outline, kept);
    for (index, block) in outline.blocks.iter().enumerate() {
        kept[index] |= is_whole_within(outline, block, &words) || is_in_kept_list(outline, block, &words);
    }
    fill_gaps(outline, likely, kept);
    fill_ends(outline, likely, kept);
    for index in 0..kept.len().saturating_sub(1) {
        if !kept[index] && kept[index + 1] {
            let is_heading = outline.elements[outline.blocks[index].element].tag.is_heading();
            kept[index] = is_heading && likely[index] >= HEADING
                || likely[index] >= BETWEEN && is_between(outline, index, kept);
        }
    }
}

fn fill_landmarks(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    let words = kept_words(outline, kept);
    let is_kept = |at: usize| {
        let element = &outline.elements[at];
        let is_landmark = element.is_main || element.tag == Tag::MAIN || element.tag == Tag::ARTICLE;
        is_landmark && number(words[at]) >= OF_LANDMARK * number(element.sums.words)
    };
    for (index, block) in outline.blocks.iter().enumerate() {
        kept[index] |= block.words <= MOST_IN_LANDMARK
            && likely[index] >= IN_LANDMARK
            && outline.around(block.element).any(is_kept);
    }
}

/// Counts the kept words in each element.
fn kept_words(outline: &Outline, kept: &[bool]) -> Vec<u32> {
    let mut words = vec![0; outline.elements.len()];
    for (block, _) in outline.blocks.iter().zip(kept).filter(|(_, kept)| **kept) {
        words[block.element] += block.words;
    }
    for at in (1..words.len()).rev() {
        words[outline.elements[at].parent] += words[at];
    }
    words
}

fn is_whole_within(outline: &Outline, block: &Block, words: &[u32]) -> bool {
    let Some(whole) = outline.whole(block) else {
        return false;
    };
    let Sums { words: own, linked, .. } = outline.elements[whole].sums;
    let is_code = outline.elements[whole].tag == Tag::PRE;
    if !is_code && 2 * linked > own {
        return false;
    }
    let around = outline.around(whole).find(|&at| outline.elements[at].sums.words > own);
    around.is_some_and(|at| {
        let others = outline.elements[at].sums.words - own;
        let share = if is_code { AROUND_CODE } else { AROUND_TABLE };
        number(words[at]) >= share * number(others)
    })
}

fn is_in_kept_list(outline: &Outline, block: &Block, words: &[u32]) -> bool {
    let list = outline.around(block.element).find(|&at| LISTS.contains(&outline.elements[at].tag));
    list.is_some_and(|at| number(words[at]) >= OF_LIST * number(outline.elements[at].sums.words))
}

fn fill_gaps(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    let parent = |at: usize| outline.elements[outline.blocks[at].element].parent;
    let mut from = 1;
    while from < kept.len() {
        let Some(end) = (from..kept.len()).find(|&at| kept[at]) else { break };
        let gap = from..end;
        let words: u32 = outline.blocks[gap.clone()].iter().map(|block| block.words).sum();
        let around = parent(from - 1);
        let is_within =
            |at: usize| outline.around(outline.blocks[at].element).any(|element| element == around);
        if kept[from - 1]
            && gap.len() <= GAP
            && words <= WORDS_OF_GAP
            && parent(end) == around
            && gap.clone().all(|at| likely[at] >= IN_GAP && is_within(at))
        {
            kept[gap].fill(true);
        }
        from = end + 1;
    }
}

/// Keeps the first and last paragraphs of an element if nearly all of it stays.
fn fill_ends(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    let words = kept_words(outline, kept);
    let stays = |at: usize| {
        let element = &outline.elements[at];
        element.sums.blocks > 1 && number(words[at]) >= OF_ENDS * number(element.sums.words)
    };
    let is_end = |block: &Block, likely: f32| {
        let element = &outline.elements[block.element];
        element.tag == Tag::P && likely >= AT_END && 2 * block.linked <= block.words && stays(element.parent)
    };
    let ends: Vec<bool> =
        outline.blocks.iter().zip(likely).map(|(block, likely)| is_end(block, *likely)).collect();
    let together = |a: usize, b: usize| {
        let parent = |at: usize| outline.elements[outline.blocks[at].element].parent;
        parent(a) == parent(b)
    };
    for at in 1..kept.len() {
        kept[at] |= kept[at - 1] && ends[at] && together(at, at - 1);
    }
    for at in (0..kept.len().saturating_sub(1)).rev() {
        kept[at] |= kept[at + 1] && ends[at] && together(at, at + 1);
    }
}

/// Returns `true` if the blocks before and after stay, and at least one of them has the same parent.
fn is_between(outline: &Outline, index: usize, kept: &[bool]) -> bool {
    let parent = |at: usize| outline.elements[outline.blocks[at].element].parent;
    let Some(before) = index.checked_sub(1).filter(|&before| kept[before]) else { return false };
    parent(index) == parent(before) || parent(index) == parent(index + 1)
}
