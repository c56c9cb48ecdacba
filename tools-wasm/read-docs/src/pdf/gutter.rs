//! Finds candidate gutters: gaps that many lines of a region share.

use super::fragment::{Fragment, whole};
use super::line::chains;

/// Maximum number of gutters that are tried for a region.
const MAX_TRIED: usize = 5;
/// Minimum gap, height of the strips in which gaps are searched, and width of the bins that count them, in
/// font sizes.
const NARROW: f64 = 0.7;
const STRIP: f64 = 1.2;
const BIN: f64 = 0.2;
const MAX_BINS: usize = 4096;
/// Minimum number of strips that share a gutter.
const MIN_STRIPS: i32 = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter {
    pub(super) start: f64,
    pub(super) end: f64,
}

/// Returns the gaps that strips of text share, most frequent first.
pub(super) fn gutters(fragments: &mut [Fragment], size: f64) -> Vec<Gutter> {
    let left = fragments.iter().map(|one| one.start).fold(f64::INFINITY, f64::min);
    let right = fragments.iter().map(|one| one.end).fold(f64::NEG_INFINITY, f64::max);
    let strip = |fragment: &Fragment| whole((fragment.base / (STRIP * size)).floor());
    fragments.sort_by(|one, two| strip(one).cmp(&strip(two)).then(one.start.total_cmp(&two.start)));
    let count = bin((right - left) / (BIN * size)).min(MAX_BINS) + 2;
    let width = (right - left).max(size) / f64::from(u32::try_from(count - 1).unwrap_or(1));
    let place = |x: f64| bin(((x - left) / width).round()).min(count - 1);
    // Start and end of each gap; the prefix sum is the number of gaps at a position.
    let mut changes = vec![0_i32; count + 1];
    for row in fragments.chunk_by(|one, two| strip(one) == strip(two)) {
        let found = chains(row, NARROW * size);
        for two in found.windows(2) {
            let [one, two] = two else { continue };
            let (from, to) = (place(one.end), place(two.start));
            if let Some(change) = changes.get_mut(from) {
                *change += 1;
            }
            if let Some(change) = changes.get_mut(to) {
                *change -= 1;
            }
        }
    }
    let mut votes: Vec<i32> = changes
        .iter()
        .scan(0, |sum, change| {
            *sum += change;
            Some(*sum)
        })
        .collect();
    let mut found = Vec::new();
    for _ in 0..MAX_TRIED {
        let Some((peak, most)) = votes.iter().copied().enumerate().max_by_key(|(_, votes)| *votes) else {
            break;
        };
        if most < MIN_STRIPS {
            break;
        }
        let near = |votes: &i32| *votes * 4 >= most * 3;
        let before = votes.iter().take(peak).rev().take_while(|votes| near(votes)).count();
        let after = votes.iter().skip(peak).take_while(|votes| near(votes)).count();
        let at = |bin: usize| left + f64::from(u32::try_from(bin).unwrap_or_default()) * width;
        found.push(Gutter { start: at(peak - before), end: at(peak + after) });
        for votes in votes.iter_mut().skip(peak - before).take(before + after) {
            *votes = 0;
        }
    }
    found
}

fn bin(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or_default()
}
