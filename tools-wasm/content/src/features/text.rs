//! Features of a block's text.

use std::collections::HashMap;

use super::page::Facts;
use super::{log, number, share, yes};
use crate::outline::{Block, Outline};
use crate::tags::Tag;
use crate::words::words;

/// Words that are typical of the surroundings of content: months, page actions, forums and shops.
const TELLING: [&[&str]; 7] = [
    &[
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "oct",
        "nov",
        "dec",
        "ago",
    ],
    &["share", "follow", "subscribe", "newsletter", "sign", "login", "cookies", "cookie"],
    &["reply", "replies", "views", "likes", "posts", "joined", "comments"],
    &["cart", "checkout", "shipping", "stock", "price"],
    &["read", "more", "view", "see", "learn", "click", "show"],
    &["related", "recommended", "popular", "trending", "latest", "similar"],
    &["copy", "copied", "edit", "feedback", "helpful", "skip"],
];

/// Features of a block's text.
pub(super) struct Said {
    row: [f32; 30],
    /// `true` if the text ends like a sentence.
    pub(super) ends: bool,
    pub(super) stops_by_word: f32,
    pub(super) commas: u32,
    /// `true` if the text contains a full stop or a comma.
    pub(super) has_stop: bool,
    pub(super) length: usize,
    pub(super) sentences: u32,
    pub(super) tag: Tag,
    pub(super) words: u32,
    pub(super) linked: u32,
}

impl Said {
    pub(super) fn of_all(outline: &Outline, facts: &Facts) -> Vec<Self> {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for block in &outline.blocks {
            *seen.entry(outline.text(block)).or_default() += 1;
        }
        outline
            .blocks
            .iter()
            .map(|block| Self::of(outline, block, facts, seen[outline.text(block)]))
            .collect()
    }

    fn of(outline: &Outline, block: &Block, facts: &Facts, times: u32) -> Self {
        let text = outline.text(block);
        let mut count = Characters::default();
        text.chars().for_each(|c| count.add(c));
        let first = text.chars().next().unwrap_or(' ');
        let last = text.chars().next_back().unwrap_or(' ');
        let (mut telling, mut in_title, mut begins_with_by) = ([false; TELLING.len()], 0, false);
        for (index, word) in words(text).enumerate() {
            let lower = word.to_lowercase();
            for (is, words) in telling.iter_mut().zip(TELLING) {
                *is |= words.contains(&lower.as_str());
            }
            in_title += u32::from(facts.title.contains(&lower));
            begins_with_by |= index == 0 && lower == "by";
        }
        let spaced = text.split(' ').count();
        let capitals = text.split(' ').filter(|word| word.starts_with(char::is_uppercase)).count();
        let lower = || text.to_lowercase().contains("all rights reserved");
        let ends = matches!(last, '.' | '!' | '?' | '…' | '"' | '”');
        let row = [
            log(block.words),
            log(count.all),
            share(block.linked, block.words),
            share(count.all, block.words),
            share(count.stops, block.words),
            yes(ends),
            yes(last == ':'),
            yes(matches!(last, ',' | ';')),
            share(count.upper, count.all),
            share(count.digits, count.all),
            yes(first.is_uppercase()),
            share(capitals, spaced),
            yes(text.contains(['$', '€', '£', '¥'])),
            yes(text.contains('©') || lower()),
            yes(text.contains('|')),
            yes(text.contains('@')),
            yes(text.contains(['›', '»', '→', '«', '▸'])),
            share(count.others, count.all),
            share(in_title, block.words),
            number(times.min(6)),
            yes(begins_with_by),
            yes(telling[0]),
            yes(telling[1]),
            yes(telling[2]),
            yes(telling[3]),
            yes(telling[4]),
            yes(telling[5]),
            yes(telling[6]),
            yes(facts.is_title(text)),
            yes(text.contains(['{', '}', ';', '='])),
        ];
        let sentences = text.matches(". ").count() + usize::from(text.ends_with('.'));
        Self {
            row,
            ends,
            stops_by_word: share(count.stops, block.words),
            commas: count.commas,
            has_stop: count.commas > 0 || text.contains('.'),
            length: text.len(),
            sentences: u32::try_from(sentences).unwrap_or(u32::MAX),
            tag: outline.elements[block.element].tag,
            words: block.words,
            linked: block.linked,
        }
    }

    pub(super) fn describe(&self, row: &mut Vec<f32>) {
        row.extend_from_slice(&self.row);
    }

    /// Returns the few features that describe a block to its neighbors.
    pub(super) fn in_short(&self) -> [f32; 5] {
        [self.row[0], share(self.linked, self.words), yes(self.ends), self.stops_by_word, self.tag.number()]
    }
}

#[derive(Default)]
struct Characters {
    all: u32,
    upper: u32,
    digits: u32,
    stops: u32,
    commas: u32,
    others: u32,
}

impl Characters {
    fn add(&mut self, c: char) {
        self.all += 1;
        self.upper += u32::from(c.is_uppercase());
        self.digits += u32::from(c.is_ascii_digit());
        self.stops += u32::from(matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));
        self.commas += u32::from(c == ',');
        self.others += u32::from(!c.is_alphanumeric() && !c.is_whitespace());
    }
}
