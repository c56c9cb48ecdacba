//! The room for decoding one picture, and what is refused for want of it.

use crate::format::Format;
use crate::limits::{MAX_EDGE, MIB, SENT_EDGE};
use crate::problem::Problem;

/// What decoding may hold at once, the file among it. The rest of the 256 MiB is for the
/// program, its stack, and what an allocator loses.
const MEMORY: u64 = 232 * MIB;
/// Most that the reduced picture takes (see `reduce`): four bytes a pixel, less than twice
/// `SENT_EDGE` long and wide.
const REDUCED: u64 = 4 * 2 * 2 * SENT_EDGE as u64 * SENT_EDGE as u64;

/// The room for decoding one picture, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    bytes: u64,
}

impl Room {
    /// What is left beside a file of that size.
    pub(crate) fn beside(file_bytes: usize) -> Self {
        Self { bytes: MEMORY.saturating_sub(file_bytes as u64).saturating_sub(REDUCED) }
    }

    /// What is left beside something of that size, such as a copy of the file.
    pub(crate) fn less(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes as u64) }
    }

    /// Its size.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Refuses a picture whose decoding holds `needed` bytes beside the reduced picture.
    pub(crate) fn check(self, format: Format, size: (u32, u32), needed: u64) -> Result<(), Problem> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(Problem::Memory { format, size, needed, room: self.bytes })
    }
}

/// Refuses a picture with too long an edge or none at all.
pub(crate) fn check_edges(format: Format, size: (u32, u32)) -> Result<(), Problem> {
    match size {
        (0, _) | (_, 0) => {
            Err(Problem::damaged(format, format!("it says it has {} × {} pixels", size.0, size.1)))
        }
        (width, height) if width.max(height) > MAX_EDGE => Err(Problem::Edges { format, size }),
        _ => Ok(()),
    }
}
