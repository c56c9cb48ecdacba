//! What a command prints: kept within bounds while it streams, made fit to read afterwards.
//!
//! [`Transcript`] keeps the output of a command that is waited for, [`Ring`] that of one in the
//! background. Both keep raw bytes, since cleaning each byte would hold the command up; only
//! what is shown is cleaned ([`clean`]). [`fit`] bounds any other text in the same way.
//! [`Complaints`] finds in it what a program missed.

mod border;
mod clean;
mod complaints;
mod fit;
mod human;
mod ring;
mod spill;
mod transcript;

pub use border::{whole_end, whole_start};
pub use clean::{Cleaned, clean, is_binary};
pub use complaints::Complaints;
pub use fit::{beginning, fit, length};
pub use human::{human_bytes, human_duration};
pub use ring::{Cursor, Piece, RING_BYTES, Ring};
pub use spill::{FullOutput, SPILL_BYTES, SpillPlace, prune};
pub use transcript::{Finished, Transcript};
