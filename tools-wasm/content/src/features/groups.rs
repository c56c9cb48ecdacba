//! Groups of blocks in similar positions, such as the prices in a list of products.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::{log, number, share};
use crate::outline::{Element, Outline};

/// One criterion for similarity between blocks.
struct Grouping {
    /// Group index of each block.
    group: Vec<usize>,
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    blocks: u32,
    words: u32,
    linked: u32,
}

/// Groupings by position, and by position and class.
pub(super) struct Groups([Grouping; 2]);

impl Groups {
    pub(super) fn new(outline: &Outline) -> Self {
        Self([Grouping::new(outline, |element| element.path), Grouping::new(outline, |element| element.role)])
    }

    pub(super) fn describe(&self, outline: &Outline, index: usize, row: &mut Vec<f32>) {
        for grouping in &self.0 {
            let group = &grouping.groups[grouping.group[index]];
            row.push(log(group.blocks));
            row.push(share(group.words, outline.words()));
            row.push(share(group.words, group.blocks));
            row.push(share(group.linked, group.words));
        }
    }

    /// Returns the average probability per word of each group, from the block probabilities of the first
    /// forest.
    pub(super) fn likely(&self, outline: &Outline, likely: &[f32]) -> Likely {
        Likely(self.0.each_ref().map(|grouping| {
            let mut sums = vec![0.0; grouping.groups.len()];
            for ((block, group), likely) in outline.blocks.iter().zip(&grouping.group).zip(likely) {
                sums[*group] += likely * number(block.words);
            }
            let of_group = |&group: &usize| sums[group] / number(grouping.groups[group].words).max(1.0);
            grouping.group.iter().map(of_group).collect()
        }))
    }
}

/// Group probability of each block, for both groupings.
pub(super) struct Likely([Vec<f32>; 2]);

impl Likely {
    pub(super) fn describe(&self, index: usize, row: &mut Vec<f32>) {
        row.extend(self.0.iter().map(|likely| likely[index]));
    }
}

impl Grouping {
    fn new(outline: &Outline, key: impl Fn(&Element) -> u64) -> Self {
        let mut numbers: HashMap<u64, usize, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        let mut grouping = Self { group: Vec::with_capacity(outline.blocks.len()), groups: Vec::new() };
        for block in &outline.blocks {
            let next = numbers.len();
            let number = *numbers.entry(key(&outline.elements[block.element])).or_insert(next);
            if number == grouping.groups.len() {
                grouping.groups.push(Group::default());
            }
            let group = &mut grouping.groups[number];
            group.blocks += 1;
            group.words += block.words;
            group.linked += block.linked;
            grouping.group.push(number);
        }
        grouping
    }
}
