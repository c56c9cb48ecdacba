//! Numeric features of each block: of its text, its position, its surroundings, and the page.
//!
//! The forests were trained on these features in this order. A change here requires new forests.

mod around;
mod groups;
mod page;
mod place;
mod reading;
mod second;
mod text;

pub(crate) use page::Facts;
pub(crate) use second::Judged;

use crate::outline::Outline;
use groups::Groups;
use reading::Reading;
use text::Said;

/// Computes the features of a page's blocks.
pub(crate) struct Describer<'a> {
    outline: &'a Outline,
    /// Text features of each block.
    said: Vec<Said>,
    reading: Reading,
    groups: Groups,
    page: Vec<f32>,
    /// Prefix sums: words before each block, and the total.
    before: Vec<u32>,
    linked_before: Vec<u32>,
    heading: Option<usize>,
}

impl<'a> Describer<'a> {
    pub(crate) fn new(outline: &'a Outline, facts: &Facts) -> Self {
        let said = Said::of_all(outline, facts);
        let (mut before, mut linked_before) = (vec![0], vec![0]);
        for (index, block) in outline.blocks.iter().enumerate() {
            before.push(before[index] + block.words);
            linked_before.push(linked_before[index] + block.linked);
        }
        Self {
            heading: place::first_heading(outline),
            page: page::describe(outline, facts, &said),
            reading: Reading::new(outline, &said),
            groups: Groups::new(outline),
            outline,
            said,
            before,
            linked_before,
        }
    }

    /// Writes the features of a block into a row.
    pub(crate) fn describe(&self, index: usize, row: &mut Vec<f32>) {
        row.clear();
        let around: Vec<usize> = self.outline.around(self.outline.blocks[index].element).collect();
        self.said[index].describe(row);
        self.describe_place(index, &around, row);
        self.describe_around(index, &around, row);
        row.extend_from_slice(&self.page);
        self.reading.describe(self.outline, index, &around, row);
        self.groups.describe(self.outline, index, row);
    }
}

/// Converts a count to a float; counts are small.
#[expect(clippy::cast_precision_loss, reason = "nothing depends on the last digits")]
pub(crate) fn number(count: impl TryInto<u64>) -> f32 {
    count.try_into().unwrap_or(u64::MAX) as f32
}

fn yes(is: bool) -> f32 {
    if is { 1.0 } else { 0.0 }
}

/// Returns a part of a whole as a fraction. The whole may be zero.
pub(crate) fn share(part: impl TryInto<u64>, whole: impl TryInto<u64>) -> f32 {
    number(part) / number(whole).max(1.0)
}

fn log(count: impl TryInto<u64>) -> f32 {
    number(count).ln_1p()
}
