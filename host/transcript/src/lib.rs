//! What a command prints: kept within bounds while it streams, made fit to read afterwards.
//!
//! [`Transcript`] keeps the output of a command that is waited for, [`Ring`] that of one in the
//! background. Both keep raw bytes, since cleaning each byte would hold the command up; only
//! what is shown is cleaned ([`clean`]). [`fit`] bounds any other text in the same way.
//! [`Offline`] finds in it that a program reached no host.

mod border;
mod clean;
mod fit;
mod human;
mod offline;
mod ring;
mod spill;
mod transcript;

pub use border::{whole_end, whole_start};
pub use clean::{Cleaned, clean, is_binary};
pub use fit::{beginning, fit, length};
pub use human::{human_bytes, human_duration};
pub use offline::Offline;
pub use ring::{Cursor, Piece, RING_BYTES, Ring};
pub use spill::{FullOutput, SPILL_BYTES, SpillPlace, prune};
pub use transcript::{Finished, Transcript};
