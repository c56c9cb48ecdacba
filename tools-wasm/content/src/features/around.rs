//! Features of the elements around a block, and of its neighbors.

use super::text::Said;
use super::{Describer, log, number, share};

/// Ancestor levels.
const LEVELS: [usize; 5] = [1, 2, 3, 5, 8];
/// Percentages of the page's words. The feature is the level of the smallest ancestor that contains this
/// share.
const SHARES: [u64; 3] = [10, 30, 50];
/// Number of ancestors whose repetition is a feature.
const REPEATED: usize = 6;
const MOST_REPEATED: u32 = 50;
/// Offsets of the neighbors that are described.
const NEIGHBOURS: [isize; 6] = [-3, -2, -1, 1, 2, 3];
/// Number of blocks before and after that are summed up.
const WINDOW: usize = 6;

impl Describer<'_> {
    pub(super) fn describe_around(&self, index: usize, around: &[usize], row: &mut Vec<f32>) {
        let outline = self.outline;
        let all = outline.words();
        for level in LEVELS {
            let sums = &outline.elements[around[level.min(around.len() - 1)]].sums;
            row.push(log(sums.words));
            row.push(share(sums.linked, sums.words));
            row.push(share(sums.words, all));
            row.push(share(sums.running, sums.words));
            row.push(share(sums.stops, sums.words));
            row.push(share(sums.sentences, sums.blocks));
            row.push(log(sums.blocks));
            row.push(share(sums.first, outline.blocks.len()));
        }
        let mut most = 1;
        for level in 0..REPEATED {
            let alike = around.get(level).map_or(1, |&at| outline.elements[at].alike).min(MOST_REPEATED);
            most = most.max(alike);
            row.push(number(alike));
        }
        row.push(number(most));
        for part in SHARES {
            let has = |&at: &usize| u64::from(outline.elements[at].sums.words) * 100 >= u64::from(all) * part;
            row.push(number(around.iter().position(has).unwrap_or(around.len())));
        }
        for offset in NEIGHBOURS {
            let neighbour = index.checked_add_signed(offset).and_then(|at| self.said.get(at));
            row.extend(neighbour.map_or([-1.0; 5], Said::in_short));
        }
        let (from, end) = (index.saturating_sub(WINDOW), (index + WINDOW + 1).min(outline.blocks.len()));
        let words = self.before[end] - self.before[from];
        row.push(log(words));
        row.push(share(self.linked_before[end] - self.linked_before[from], words));
    }
}
