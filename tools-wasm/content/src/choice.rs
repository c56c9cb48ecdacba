//! Selects the blocks to keep from their probabilities.

use std::collections::{HashMap, HashSet};

use dom_query::NodeId;

use crate::features::number;
use crate::fill;
use crate::outline::Outline;

/// Selects the blocks to keep. Blocks in an unseen element are never selected.
pub(crate) fn choose(outline: &Outline, unseen: &[bool], mut likely: Vec<f32>) -> Vec<bool> {
    even_out(outline, &mut likely);
    let is_unseen = |index: usize| unseen[outline.blocks[index].element];
    (0..likely.len()).filter(|&index| is_unseen(index)).for_each(|index| likely[index] = 0.0);
    let mut kept = keep(outline, &likely);
    fill::fill(outline, &likely, &mut kept);
    (0..kept.len()).filter(|&index| is_unseen(index)).for_each(|index| kept[index] = false);
    kept
}

/// Gives all blocks of a code listing or a table the same probability: the average over their words.
pub(crate) fn even_out(outline: &Outline, likely: &mut [f32]) {
    let whole: Vec<_> = outline.blocks.iter().map(|block| outline.whole(block)).collect();
    let mut sums: HashMap<usize, (f32, f32)> = HashMap::new();
    for ((block, whole), likely) in outline.blocks.iter().zip(&whole).zip(&*likely) {
        if let Some(whole) = whole {
            let (wanted, all) = sums.entry(*whole).or_default();
            *wanted += likely * number(block.words);
            *all += number(block.words);
        }
    }
    for (whole, likely) in whole.iter().zip(likely) {
        if let Some((wanted, all)) = whole.as_ref().and_then(|whole| sums.get(whole)) {
            *likely = wanted / all.max(1.0);
        }
    }
}

/// Selects the blocks that maximize the expected harmonic mean of precision and recall, both counted in
/// words.
pub(crate) fn keep(outline: &Outline, likely: &[f32]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..likely.len()).collect();
    order.sort_by(|&a, &b| likely[b].total_cmp(&likely[a]).then(a.cmp(&b)));
    let words = |at: usize| f64::from(outline.blocks[at].words);
    let wanted: f64 = (0..likely.len()).map(|at| words(at) * f64::from(likely[at])).sum();
    let (mut found, mut taken, mut best, mut count) = (0.0, 0.0, 0.0, 0);
    for (index, &at) in order.iter().enumerate() {
        found += words(at) * f64::from(likely[at]);
        taken += words(at);
        let mean = 2.0 * found / (taken + wanted).max(1e-9);
        if mean > best {
            (best, count) = (mean, index + 1);
        }
    }
    let mut kept = vec![false; likely.len()];
    for &at in &order[..count] {
        kept[at] = true;
    }
    kept
}

/// Keeps all blocks in the `asked` elements if none of these blocks is kept.
pub(crate) fn keep_asked(outline: &Outline, asked: &[NodeId], kept: &mut [bool]) {
    let asked: HashSet<NodeId> = asked.iter().copied().collect();
    let within = outline.within(|element| asked.contains(&element.node));
    let is_asked = |index: usize| within[outline.blocks[index].element];
    if !(0..kept.len()).any(|index| kept[index] && is_asked(index)) {
        (0..kept.len()).filter(|&index| is_asked(index)).for_each(|index| kept[index] = true);
    }
}
