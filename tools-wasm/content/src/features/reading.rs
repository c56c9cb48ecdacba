//! Finds the running text. Paragraphs add weight to the elements that contain them, and the heaviest element
//! is most likely the article. The idea comes from Mozilla's Readability.

use super::text::Said;
use super::{number, share};
use crate::outline::Outline;
use crate::tags::Tag;

/// Minimum number of words of a long paragraph.
const LONG: u32 = 15;
const SHORTEST: u32 = 5;
/// Value for an unknown distance.
const FAR: f32 = 99.0;
/// Percentages of the words of long paragraphs.
const SHARES: [u64; 3] = [20, 50, 80];
const KEEPS_MOST: f32 = 0.7;

/// Weights of a page's elements.
pub(super) struct Reading {
    /// Weight of each element.
    weights: Vec<f32>,
    heaviest: f32,
    /// Level of each element above the heaviest element, for that element and its ancestors.
    above_best: Vec<f32>,
    above_top: Vec<f32>,
    /// Number of words of long paragraphs in each element; the first element has the total.
    long_words: Vec<u64>,
    /// Indexes of the long paragraphs.
    long: Vec<usize>,
    mean_depth: f32,
}

impl Reading {
    pub(super) fn new(outline: &Outline, said: &[Said]) -> Self {
        let mut weights = vec![0.0; outline.elements.len()];
        let mut long_words = vec![0; outline.elements.len()];
        let mut long = Vec::new();
        let mut depths = 0;
        for (index, (block, said)) in outline.blocks.iter().zip(said).enumerate() {
            let linked = share(said.linked, said.words);
            if said.words >= LONG && linked < 0.4 && said.has_stop {
                long.push(index);
                long_words[block.element] += u64::from(said.words);
                depths += outline.elements[block.element].depth;
            }
            if said.words >= SHORTEST && linked < 0.6 {
                lend(outline, block.element, said, &mut weights);
            }
        }
        for number in (1..outline.elements.len()).rev() {
            long_words[outline.elements[number].parent] += long_words[number];
        }
        let own = |at: usize| {
            let sums = &outline.elements[at].sums;
            weights[at] * (1.0 - share(sums.linked, sums.words))
        };
        let best =
            (0..weights.len()).filter(|&at| weights[at] > 0.0).max_by(|&a, &b| own(a).total_cmp(&own(b)));
        let heaviest = best.map_or(1.0, own);
        let wider = |&at: &usize| {
            let parent = outline.elements[at].parent;
            (parent != 0 && own(parent) > KEEPS_MOST * heaviest).then_some(parent)
        };
        let top = best.and_then(|best| std::iter::successors(Some(best), wider).take(5).last());
        let above = |from: Option<usize>| {
            let mut above = vec![-1.0; weights.len()];
            if let Some(from) = from {
                for (level, at) in outline.around(from).enumerate() {
                    above[at] = number(level);
                }
            }
            above
        };
        let mean_depth = share(depths, long.len());
        Self {
            above_best: above(best),
            above_top: above(top),
            weights,
            heaviest,
            long_words,
            long,
            mean_depth,
        }
    }

    pub(super) fn describe(&self, outline: &Outline, index: usize, around: &[usize], row: &mut Vec<f32>) {
        let meets = |above: &[f32]| {
            let level = around.iter().position(|&at| above[at] >= 0.0);
            level.map_or((FAR, FAR), |level| (number(level), above[around[level]]))
        };
        let (level, above_top) = meets(&self.above_top);
        row.extend([level, above_top, meets(&self.above_best).1]);
        let heaviest = self.heaviest.max(1e-6);
        let most = around.iter().take(8).map(|&at| self.weights[at]).fold(0.0, f32::max);
        row.push(most / heaviest);
        row.push(around.get(1).map_or(0.0, |&at| self.weights[at]) / heaviest);
        for part in SHARES {
            let has = |&at: &usize| self.long_words[at] * 100 >= self.long_words[0] * part;
            row.push(number(around.iter().position(has).unwrap_or(around.len())));
        }
        self.describe_distances(outline, index, around.len(), row);
        let find = |tags: &[Tag]| around.iter().find(|&&at| tags.contains(&outline.elements[at].tag));
        row.extend(find(&[Tag::TABLE]).map_or([-1.0; 3], |&at| {
            let sums = &outline.elements[at].sums;
            [number(sums.rows.min(100)), share(sums.cells, sums.rows), share(sums.words, sums.cells)]
        }));
        row.extend(find(&[Tag::UL, Tag::OL]).map_or([-1.0; 3], |&at| {
            let sums = &outline.elements[at].sums;
            [number(sums.entries.min(100)), share(sums.words, sums.entries), share(sums.linked, sums.words)]
        }));
        for level in [1, 3] {
            let level = level.min(around.len() - 1);
            let outer = &outline.elements[around[level]].sums;
            let inner = &outline.elements[around[level.saturating_sub(1)]].sums;
            row.push(share(inner.first - outer.first, outer.end - outer.first));
            row.push(share(inner.words, outer.words));
        }
    }

    /// Adds the distances to the long paragraphs.
    fn describe_distances(&self, outline: &Outline, index: usize, depth: usize, row: &mut Vec<f32>) {
        let at = number(index);
        let from = |other: Option<&usize>| other.map_or(-999.0, |&other| at - number(other));
        let (first, last) = (from(self.long.first()), from(self.long.last()));
        let all = number(outline.blocks.len());
        row.extend([(first / all).max(-2.0), (last / all).max(-2.0), first, last]);
        let before = self.long.partition_point(|&long| long < index);
        row.push(share(before, self.long.len()));
        row.push(number(depth) - self.mean_depth);
        let nearest =
            self.long[before.saturating_sub(1)..].iter().take(2).map(|&long| long.abs_diff(index)).min();
        row.push(number(nearest.unwrap_or(999).min(999)));
    }
}

/// Adds a paragraph's weight to its ancestors; outer ancestors receive less.
fn lend(outline: &Outline, element: usize, said: &Said, weights: &mut [f32]) {
    let mut weight = 1.0 + number(said.commas) + number((said.length / 100).min(3));
    if said.tag == Tag::LI {
        weight *= 0.3;
    }
    let is_leaf = [Tag::P, Tag::PRE, Tag::TD, Tag::LI, Tag::BLOCKQUOTE].contains(&said.tag);
    for (level, at) in outline.around(element).skip(usize::from(is_leaf)).take(5).enumerate() {
        weights[at] += weight
            / match level {
                0 => 1.0,
                1 => 2.0,
                further => 3.0 * number(further),
            };
    }
}
