//! Compares the size in the head with the lines.
//!
//! The head records the size of the file behind the line that it describes. Lines are only appended, so that
//! size stays right however old the head is, and in a copy too. The inode of the file is not compared,
//! because copies have others.

use crate::head::Head;

/// Sizes that the file could have had when the head was written: from the end of the line that the head
/// describes to the next line of the chain.
pub(super) struct Window {
    number: u64,
    bytes: u64,
    stage: Stage,
    has_fit: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Within,
    Behind,
}

impl Window {
    pub(super) fn of(head: &Head) -> Self {
        let number = head.tip.number;
        let stage = if number == 0 { Stage::Within } else { Stage::Before };
        Self { number, bytes: head.bytes, stage, has_fit: false }
    }

    /// Takes the next row, which has a number if it is a line of the chain. `from` and `to` are its ends in
    /// its file.
    pub(super) fn row(&mut self, number: Option<u64>, from: u64, to: u64) {
        let is_chained = number.is_some();
        match self.stage {
            Stage::Before if number == Some(self.number) => {
                self.stage = Stage::Within;
                self.has_fit = self.bytes == to;
            }
            Stage::Within => {
                self.has_fit |= (from..to).contains(&self.bytes) || !is_chained && self.bytes == to;
                self.stage = if is_chained { Stage::Behind } else { Stage::Within };
            }
            Stage::Before | Stage::Behind => {}
        }
    }

    /// Returns `true` if the size fits, or if nothing is known about it. A server writes 0 when it meets a
    /// torn line, and when it begins a file.
    pub(super) fn fits(&self) -> bool {
        self.has_fit || self.bytes == 0 || self.stage == Stage::Before
    }
}
