//! Output of a background task.

use crate::border::{complete, whole_start};
use crate::clean::clean;
use crate::human_bytes;

/// Capacity in bytes.
pub const RING_BYTES: usize = 1024 * 1024;

/// The newest bytes of the output, and the total number.
#[derive(Debug, Default)]
pub struct Ring {
    bytes: Vec<u8>,
    /// Index of the oldest byte, once the ring is full.
    start: usize,
    total: u64,
}

/// Read position of a reader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor(u64);

/// Result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Cleaned text, preceded by a note if bytes were lost.
    pub text: String,
    /// Number of bytes overwritten before they were read.
    pub lost_bytes: u64,
    /// `true` if more output can be read immediately.
    pub more: bool,
    /// `true` if the text is a summary of binary output.
    pub binary: bool,
}

impl Ring {
    /// Creates an empty ring.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let mut rest = &bytes[bytes.len().saturating_sub(RING_BYTES)..];
        let grown = rest.len().min(RING_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&rest[..grown]);
        rest = &rest[grown..];
        while !rest.is_empty() {
            let piece = rest.len().min(RING_BYTES - self.start);
            self.bytes[self.start..self.start + piece].copy_from_slice(&rest[..piece]);
            self.start = (self.start + piece) % RING_BYTES;
            rest = &rest[piece..];
        }
    }

    /// Returns the total number of bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Reads the output that is new to a reader, at most `max_bytes`. An incomplete code point or escape
    /// sequence stays for the next read, unless the output has `ended`.
    pub fn read(&self, cursor: &mut Cursor, max_bytes: usize, ended: bool) -> Piece {
        let oldest = self.total - self.bytes.len() as u64;
        let mut from = cursor.0.max(oldest);
        let mut lost_bytes = from - cursor.0;
        let left = usize::try_from(self.total - from).unwrap_or(usize::MAX);
        let mut bytes = self.slice(from, left.min(max_bytes));
        if lost_bytes > 0 {
            let cut = whole_start(&bytes);
            bytes.drain(..cut);
            from += cut as u64;
            lost_bytes += cut as u64;
        }
        let whole_output = bytes.len() == left && ended;
        if !whole_output {
            let end = if left > max_bytes { last_line_end(&bytes) } else { None };
            bytes.truncate(end.unwrap_or_else(|| complete(&bytes)));
        }
        cursor.0 = from + bytes.len() as u64;
        let cleaned = clean(&bytes);
        let gap = (lost_bytes > 0)
            .then(|| format!("[… {} were overwritten before they were read …]\n", human_bytes(lost_bytes)));
        Piece {
            text: gap.unwrap_or_default() + &cleaned.text,
            lost_bytes,
            more: self.total - cursor.0 > (left.min(max_bytes) - bytes.len()) as u64 || left > max_bytes,
            binary: cleaned.binary,
        }
    }

    fn slice(&self, from: u64, count: usize) -> Vec<u8> {
        let oldest = self.total - self.bytes.len() as u64;
        let skip = usize::try_from(from - oldest).unwrap_or(usize::MAX);
        let (newer, older) = self.bytes.split_at(self.start);
        let from_older = older.get(skip..).unwrap_or_default();
        let from_newer = newer.get(skip.saturating_sub(older.len())..).unwrap_or_default();
        let first = &from_older[..from_older.len().min(count)];
        let second = &from_newer[..from_newer.len().min(count - first.len())];
        [first, second].concat()
    }
}

/// Returns the end of the last line in the second half of a piece that more output follows: half a line would read as
/// a whole one.
fn last_line_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')? + 1;
    (end > bytes.len() / 2).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_reader_gets_what_is_new_to_it() {
        let mut ring = Ring::new();
        let (mut first, mut second) = (Cursor::default(), Cursor::default());
        ring.push(b"one\n");
        assert_eq!(ring.read(&mut first, 1000, false).text, "one\n");
        ring.push(b"two\n");
        assert_eq!(ring.read(&mut first, 1000, false).text, "two\n");
        assert_eq!(ring.read(&mut second, 1000, false).text, "one\ntwo\n");
        assert_eq!(ring.read(&mut second, 1000, false).text, "");
    }

    #[test]
    fn what_is_cut_waits_for_the_rest_unless_there_is_none() {
        let mut ring = Ring::new();
        let mut cursor = Cursor::default();
        ring.push("é".as_bytes().split_at(1).0);
        assert_eq!(
            ring.read(&mut cursor, 1000, false),
            Piece { text: String::new(), lost_bytes: 0, more: false, binary: false }
        );
        ring.push("é".as_bytes().split_at(1).1);
        ring.push(b"\x1b[3");
        assert_eq!(ring.read(&mut cursor, 1000, false).text, "é");
        ring.push(b"1mred");
        assert_eq!(ring.read(&mut cursor, 1000, false).text, "red");
        ring.push("é".as_bytes().split_at(1).0);
        assert_eq!(ring.read(&mut cursor, 1000, true).text, "\u{fffd}");
    }

    #[test]
    fn a_piece_ends_with_a_line_where_it_can() {
        let mut ring = Ring::new();
        let mut cursor = Cursor::default();
        ring.push(b"first\nsecond\nthird, which is longer\n$ ");
        let piece = ring.read(&mut cursor, 16, false);
        assert_eq!((&*piece.text, piece.more), ("first\nsecond\n", true));
        assert_eq!(ring.read(&mut cursor, 16, false).text, "third, which is ");
        // A prompt is not held back.
        let piece = ring.read(&mut cursor, 16, false);
        assert_eq!((&*piece.text, piece.more), ("longer\n$ ", false));
    }

    #[test]
    fn overwritten_bytes_are_counted() {
        let mut ring = Ring::new();
        let mut cursor = Cursor::default();
        for _ in 0..3 {
            ring.push(&vec![b'x'; RING_BYTES / 2]);
        }
        let piece = ring.read(&mut cursor, 100, false);
        assert_eq!(piece.lost_bytes, (RING_BYTES / 2) as u64);
        assert!(piece.text.starts_with("[… 524,288 bytes were overwritten"), "{}", piece.text);
        assert!(piece.more);
    }

    proptest! {
        #[test]
        fn reading_in_pieces_gives_everything(
            pieces in proptest::collection::vec("[a-zé😀\n]{0,40}", 0..20), size in 8_usize..50,
        ) {
            let mut ring = Ring::new();
            let mut cursor = Cursor::default();
            let mut read = String::new();
            for piece in &pieces {
                ring.push(piece.as_bytes());
                read.push_str(&ring.read(&mut cursor, size, false).text);
            }
            while cursor.0 < ring.total() {
                read.push_str(&ring.read(&mut cursor, size, true).text);
            }
            prop_assert_eq!(read, pieces.concat());
        }
    }
}
