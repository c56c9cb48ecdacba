//! Features of a block's position: its offset in the page, and the elements that contain it.

use super::{Describer, number, share, yes};
use crate::marks;
use crate::outline::Outline;
use crate::sight::Sight;
use crate::tags::{self, Tag};

/// Value for an absent element.
const NONE: f32 = 99.0;

/// Returns the first block of an `h1`.
pub(super) fn first_heading(outline: &Outline) -> Option<usize> {
    let is_heading = |element| outline.around(element).take(4).any(|at| outline.elements[at].tag == Tag::H1);
    outline.blocks.iter().position(|block| is_heading(block.element))
}

impl Describer<'_> {
    pub(super) fn describe_place(&self, index: usize, around: &[usize], row: &mut Vec<f32>) {
        let outline = self.outline;
        let all = outline.blocks.len();
        row.push(share(index, all));
        row.push(share(self.before[index], outline.words()));
        let behind = |heading: usize| (number(index) - number(heading)) / number(all);
        row.push(self.heading.map_or(-2.0, behind));
        row.push(yes(self.heading.is_some_and(|heading| index >= heading)));
        let mut levels = [NONE; tags::COUNT];
        let mut marks = [NONE; marks::COUNT];
        let mut is_hidden = false;
        for (level, &at) in around.iter().enumerate() {
            let element = &outline.elements[at];
            if let Tag::Told(kind) = element.tag {
                let level_of = &mut levels[usize::from(kind)];
                *level_of = level_of.min(number(level));
            }
            is_hidden |= element.sight != Sight::Shown;
            if !element.marks.is_empty() {
                for (kind, level_of) in marks.iter_mut().enumerate() {
                    if element.marks.has(kind) {
                        *level_of = level_of.min(number(level));
                    }
                }
            }
        }
        row.extend(levels);
        row.extend(marks);
        row.push(yes(is_hidden));
        row.push(number(around.len()));
    }
}
