//! Size limits for reading from a row: a role with write access to a table can write a gigabyte into one of
//! its rows.
//!
//! Check constraints of the tables enforce the same limits. These limits cover rows older than the
//! constraints, and tables whose constraints were dropped.

use scorpiox_store::MAX_VALUE_BYTES;

/// Maximum bytes of a value stored by a tool.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // far below `i32::MAX`
pub(crate) const MOST_VALUE: i32 = MAX_VALUE_BYTES as i32;
/// Maximum bytes of a message text. Callbacks have at most 2,400 characters.
pub(crate) const MOST_MESSAGE: i32 = MOST_VALUE;
/// Maximum bytes of a relayed text. `relay` refuses to write longer ones.
pub(crate) const MOST_RELAYED: i32 = 2 * 1024 * 1024;
/// Maximum bytes of a secret. This program writes 32.
pub(crate) const MOST_SECRET: i32 = 1024;
/// Maximum bytes of a mark. This program writes 16.
pub(crate) const MOST_MARK: i32 = 64;
/// Maximum total bytes of the texts read at once.
pub(crate) const MOST_AT_ONCE: i64 = 8 * 1024 * 1024;
/// Maximum number of rows read at once, because all rows of an answer are in memory.
pub(crate) const MOST_ROWS: i64 = 256;
/// Maximum number of marks of relayed texts read at once.
pub(crate) const MOST_MARKS: i64 = 4096;
