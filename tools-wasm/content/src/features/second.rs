//! Features for the second forest: the first forest's probabilities of the surrounding blocks.

use super::groups::{Groups, Likely};
use super::{number, share};
use crate::outline::Outline;

const NEIGHBOURS: [isize; 8] = [-4, -3, -2, -1, 1, 2, 3, 4];
const WINDOWS: [usize; 3] = [3, 8, 20];
/// Ancestor levels.
const LEVELS: [usize; 7] = [1, 2, 3, 4, 6, 8, 11];
const LEVELS_OF_SHARES: [usize; 3] = [2, 4, 7];

/// Aggregated probabilities of the first forest.
pub(crate) struct Judged<'a> {
    outline: &'a Outline,
    first: &'a [f32],
    /// Probability of the last heading before each block.
    heading: Vec<f32>,
    /// For each element: expected number of wanted words, and highest block probability.
    wanted: Vec<(f32, f32)>,
    wanted_before: Vec<f32>,
    before: Vec<u32>,
    alike: Likely,
}

impl<'a> Judged<'a> {
    pub(crate) fn new(outline: &'a Outline, first: &'a [f32]) -> Self {
        let mut wanted = vec![(0.0_f32, 0.0_f32); outline.elements.len()];
        let (mut heading, mut last) = (Vec::new(), 0.5);
        let (mut wanted_before, mut before) = (vec![0.0], vec![0]);
        for (index, (block, &likely)) in outline.blocks.iter().zip(first).enumerate() {
            let words = number(block.words) * likely;
            let (sum, most) = &mut wanted[block.element];
            *sum += words;
            *most = most.max(likely);
            heading.push(last);
            if outline.elements[block.element].tag.is_heading() {
                last = likely;
            }
            wanted_before.push(wanted_before[index] + words);
            before.push(before[index] + block.words);
        }
        for at in (1..wanted.len()).rev() {
            let (sum, most) = wanted[at];
            let parent = &mut wanted[outline.elements[at].parent];
            parent.0 += sum;
            parent.1 = parent.1.max(most);
        }
        let alike = Groups::new(outline).likely(outline, first);
        Self { outline, first, heading, wanted, wanted_before, before, alike }
    }

    /// Appends the features of a block to its row.
    pub(crate) fn describe(&self, index: usize, row: &mut Vec<f32>) {
        let blocks = self.first.len();
        let all_wanted = self.wanted[0].0.max(1e-6);
        row.extend([self.first[index], self.heading[index]]);
        self.alike.describe(index, row);
        for offset in NEIGHBOURS {
            let neighbour = index.checked_add_signed(offset).and_then(|at| self.first.get(at));
            row.push(neighbour.copied().unwrap_or(-0.1));
        }
        for window in WINDOWS {
            let (from, end) = (index.saturating_sub(window), (index + window + 1).min(blocks));
            let wanted = self.wanted_before[end] - self.wanted_before[from];
            row.push(wanted / number(self.before[end] - self.before[from]).max(1.0));
        }
        row.push(self.wanted_before[index] / all_wanted);
        let around: Vec<usize> = self.outline.around(self.outline.blocks[index].element).collect();
        let at = |level: usize| around[level.min(around.len() - 1)];
        for level in LEVELS {
            let (sum, most) = self.wanted[at(level)];
            row.push(sum / number(self.outline.elements[at(level)].sums.words).max(1.0));
            row.push(most);
        }
        for level in LEVELS_OF_SHARES {
            row.push(self.wanted[at(level)].0 / all_wanted);
        }
        row.push(all_wanted / number(self.outline.words()).max(1.0));
        row.push(share(self.outline.elements[at(1)].sums.blocks, blocks));
    }
}
