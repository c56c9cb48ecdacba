//! What is known of each block, as numbers: of its text, of its place, of what is around it, and of the page.
//!
//! The forest was grown on these numbers in this order: a change here needs a new one.

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

/// Describes the blocks of a page.
pub(crate) struct Describer<'a> {
    outline: &'a Outline,
    /// Of each block.
    said: Vec<Said>,
    reading: Reading,
    groups: Groups,
    page: Vec<f32>,
    /// Words before each block, and of all.
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

    /// Writes the numbers of a block into a row.
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

/// A count as a number; they are small.
#[expect(clippy::cast_precision_loss, reason = "nothing depends on the last digits")]
pub(crate) fn number(count: impl TryInto<u64>) -> f32 {
    count.try_into().unwrap_or(u64::MAX) as f32
}

fn yes(is: bool) -> f32 {
    if is { 1.0 } else { 0.0 }
}

/// A part of a whole, which may be none.
pub(crate) fn share(part: impl TryInto<u64>, whole: impl TryInto<u64>) -> f32 {
    number(part) / number(whole).max(1.0)
}

fn log(count: impl TryInto<u64>) -> f32 {
    number(count).ln_1p()
}
