//! Evens out a choice: what belongs to what is kept stays with it, however short it is.
//!
//! The measure that the choice makes the best of counts words, so it cares little about a term without its meaning, or
//! a heading. On pages with references this changes the measure by less than its noise.

use crate::features::number;
use crate::outline::{Block, Outline};
use crate::tags::Tag;

/// A listing of code stays where this part of the words around it does.
const AROUND_CODE: f32 = 0.3;
/// All of a list stays where this part of it does.
const OF_LIST: f32 = 0.7;
/// A block between two that stay need not be likelier than this.
const BETWEEN: f32 = 0.1;
/// Nor a heading before one that stays.
const HEADING: f32 = 0.2;

const LISTS: [Tag; 4] = [Tag::UL, Tag::OL, Tag::DL, Tag::DETAILS];

pub(crate) fn fill(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    let words = kept_words(outline, kept);
    for (index, block) in outline.blocks.iter().enumerate() {
        kept[index] |= is_code_within(outline, block, &words) || is_in_kept_list(outline, block, &words);
    }
    for index in 0..kept.len().saturating_sub(1) {
        if !kept[index] && kept[index + 1] {
            let is_heading = outline.elements[outline.blocks[index].element].tag.is_heading();
            kept[index] = is_heading && likely[index] >= HEADING
                || likely[index] >= BETWEEN && is_between(outline, index, kept);
        }
    }
}

/// Words that are kept in each element.
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

fn is_code_within(outline: &Outline, block: &Block, words: &[u32]) -> bool {
    let Some(listing) = outline.whole(block).filter(|&at| outline.elements[at].tag == Tag::PRE) else {
        return false;
    };
    let own = outline.elements[listing].sums.words;
    let around = outline.around(listing).find(|&at| outline.elements[at].sums.words > own);
    around.is_some_and(|at| {
        let others = outline.elements[at].sums.words - own;
        number(words[at]) >= AROUND_CODE * number(others)
    })
}

fn is_in_kept_list(outline: &Outline, block: &Block, words: &[u32]) -> bool {
    let list = outline.around(block.element).find(|&at| LISTS.contains(&outline.elements[at].tag));
    list.is_some_and(|at| number(words[at]) >= OF_LIST * number(outline.elements[at].sums.words))
}

/// Whether the blocks before and behind stay, and one of them stands beside it.
fn is_between(outline: &Outline, index: usize, kept: &[bool]) -> bool {
    let parent = |at: usize| outline.elements[outline.blocks[at].element].parent;
    let Some(before) = index.checked_sub(1).filter(|&before| kept[before]) else { return false };
    parent(index) == parent(before) || parent(index) == parent(index + 1)
}
