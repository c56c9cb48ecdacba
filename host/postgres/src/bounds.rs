//! Most bytes of what is read from a row: a role that may write one table can write a gigabyte into a row of it.
//!
//! The tables refuse longer ones, too; those are for rows of before, and for tables of which somebody took that away.

use scorpiox_store::MAX_VALUE_BYTES;

/// A value that a tool keeps.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // it is far smaller
pub(crate) const MOST_VALUE: i32 = MAX_VALUE_BYTES as i32;
/// The text of a message: callbacks have at most 2,400 characters.
pub(crate) const MOST_MESSAGE: i32 = MOST_VALUE;
/// A text that is relayed. `relay` refuses to write longer ones.
pub(crate) const MOST_RELAYED: i32 = 2 * 1024 * 1024;
/// A secret: those of this program have 32 bytes.
pub(crate) const MOST_SECRET: i32 = 1024;
/// A mark of a row: those of this program have 16 bytes.
pub(crate) const MOST_MARK: i32 = 64;
/// All texts of rows that are read at once.
pub(crate) const MOST_AT_ONCE: i64 = 8 * 1024 * 1024;
/// Rows that are read at once: those of one answer are all in memory.
pub(crate) const MOST_ROWS: i64 = 256;
