//! Evens out a choice: what belongs to what is kept is kept with it, however short it is.

use crate::features::number;
use crate::outline::{Block, Outline};
use crate::tags::Tag;

pub(crate) fn fill(outline: &Outline, likely: &[f32], kept: &mut [bool]) {
    let on = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<f32>().ok());
    if let Some(t) = on("F_WHOLE") { wholes(outline, kept, t); }
    if let Some(t) = on("F_LIST") { lists(outline, kept, t, on("F_LDROP").unwrap_or(0.0)); }
    if let Some(t) = on("F_BETWEEN") { between(outline, likely, kept, t); }
    if let Some(t) = on("F_HEAD") { headings(outline, likely, kept, t); }
    if on("F_HDROP").is_some() { lone_headings(outline, kept); }
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

/// A listing or a table stands with the text around it.
fn wholes(outline: &Outline, kept: &mut [bool], least: f32) {
    let words = kept_words(outline, kept);
    for (index, block) in outline.blocks.iter().enumerate() {
        let Some(whole) = outline.whole(block).filter(|_| !kept[index]) else { continue };
        let own = outline.elements[whole].sums.words;
        let Some(around) = outline.around(whole).find(|&at| outline.elements[at].sums.words > own) else { continue };
        let others = outline.elements[around].sums.words - own;
        kept[index] = number(words[around]) >= least * number(others);
    }
}

fn lists(outline: &Outline, kept: &mut [bool], least: f32, few: f32) {
    let words = kept_words(outline, kept);
    let list = |block: &Block| outline.around(block.element).find(|&at| [Tag::UL, Tag::OL, Tag::DL, Tag::DETAILS].contains(&outline.elements[at].tag));
    for (index, block) in outline.blocks.iter().enumerate() {
        let Some(list) = list(block) else { continue };
        let share = number(words[list]) / number(outline.elements[list].sums.words);
        if share >= least { kept[index] = true; }
        if share < few { kept[index] = false; }
    }
}

fn between(outline: &Outline, likely: &[f32], kept: &mut [bool], least: f32) {
    for index in 1..kept.len().saturating_sub(1) {
        let parent = |at: usize| { let e = outline.blocks[at].element; outline.elements[e].parent };
        if !kept[index] && kept[index - 1] && kept[index + 1] && likely[index] >= least
            && (parent(index) == parent(index - 1) || parent(index) == parent(index + 1)) {
            kept[index] = true;
        }
    }
}

fn headings(outline: &Outline, likely: &[f32], kept: &mut [bool], least: f32) {
    for index in 0..kept.len().saturating_sub(1) {
        let block = &outline.blocks[index];
        if !kept[index] && kept[index + 1] && outline.elements[block.element].tag.is_heading() && likely[index] >= least {
            kept[index] = true;
        }
    }
}

fn lone_headings(outline: &Outline, kept: &mut [bool]) {
    let is_heading = |at: usize| outline.elements[outline.blocks[at].element].tag.is_heading();
    for index in (0..kept.len()).rev() {
        if kept[index] && is_heading(index) && index + 1 < kept.len() && !kept[index + 1] && (index + 2 >= kept.len() || !kept[index+2]) && (index + 3 >= kept.len() || !kept[index+3]) {
            kept[index] = false;
        }
    }
}
