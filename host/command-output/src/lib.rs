//! Output of commands: bounded while it streams, and made readable afterwards.
//!
//! [`Transcript`] stores the output of a foreground command, and [`Ring`] that of a background task. Both
//! store raw bytes, because cleaning every byte would slow the command down. Only the displayed part is
//! cleaned ([`clean`]). [`fit`] bounds any other text in the same way. [`Complaints`] detects messages about
//! resources that a program could not reach, and [`Said`] the lines about services, missing files and limits.

mod border;
mod clean;
mod complaints;
mod fit;
mod human;
mod ring;
mod said;
mod spill;
mod transcript;

pub use border::{whole_end, whole_start};
pub use clean::{Cleaned, clean, is_binary};
pub use complaints::Complaints;
pub use fit::{beginning, fit, length};
pub use human::{human_bytes, human_duration};
pub use ring::{Cursor, Piece, RING_BYTES, Ring};
pub use said::{Said, Subject};
pub use spill::{FullOutput, SPILL_BYTES, SpillPlace, Whole, prune};
pub use transcript::{Finished, Transcript};
