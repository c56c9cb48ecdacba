//! Memory budget for decoding an image.

use crate::format::Format;
use crate::limits::{MAX_EDGE, MIB, SENT_EDGE};
use crate::problem::Problem;

/// Maximum memory for decoding, including the file, in bytes. The rest of the 256 MiB is for the program, its
/// stack, and the allocator's overhead.
const MEMORY: u64 = 232 * MIB;
/// Maximum size of the reduced image (see `reduce`), in bytes: four bytes per pixel, and edges shorter than
/// twice `SENT_EDGE`.
const REDUCED: u64 = 4 * 2 * 2 * SENT_EDGE as u64 * SENT_EDGE as u64;

/// Memory budget for decoding an image, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    bytes: u64,
}

impl Room {
    /// Returns the budget that remains next to a file of this size.
    pub(crate) fn beside(file_bytes: usize) -> Self {
        Self { bytes: MEMORY.saturating_sub(file_bytes as u64).saturating_sub(REDUCED) }
    }

    /// Returns the budget without `bytes`, for example for a copy of the file.
    pub(crate) fn less(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes as u64) }
    }

    /// Returns the size of the budget.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Refuses an image whose decoding takes more than the budget. `needed` excludes the reduced image.
    pub(crate) fn check(self, format: Format, size: (u32, u32), needed: u64) -> Result<(), Problem> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(Problem::Memory { format, size, needed, room: self.bytes })
    }
}

/// Refuses an image with an edge that is too long or zero.
pub(crate) fn check_edges(format: Format, size: (u32, u32)) -> Result<(), Problem> {
    match size {
        (0, _) | (_, 0) => {
            Err(Problem::damaged(format, format!("it says it has {} × {} pixels", size.0, size.1)))
        }
        (width, height) if width.max(height) > MAX_EDGE => Err(Problem::Edges { format, size }),
        _ => Ok(()),
    }
}
