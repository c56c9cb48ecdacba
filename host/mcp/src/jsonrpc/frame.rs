//! Framing: one message per line, terminated by LF. CRLF, blank lines and a leading byte order mark are
//! accepted.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

/// Maximum length of a line in bytes, without its terminator.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Minimum size of a read buffer. One allocation serves a few hundred messages.
const CHUNK_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line that is not blank, without its terminator. It shares memory with the input buffer, so nothing
    /// is copied.
    Line(Bytes),
    /// A line longer than [`MAX_LINE_BYTES`], which was discarded while it streamed in.
    TooLong,
    /// End of the input.
    End,
}

/// Splits a byte stream into lines.
///
/// Memory is bounded by the maximum line length for any input.
pub struct Framer<R> {
    source: R,
    /// Initialized memory: `..filled` came from the source, the rest is zeros.
    buffer: BytesMut,
    filled: usize,
    /// Length of the prefix without a line feed.
    scanned: usize,
    max_line: usize,
    /// `true` inside of an overlong line, which is dropped up to its end.
    discarding: bool,
    at_start: bool,
    ended: bool,
}

impl<R: Read> Framer<R> {
    /// Creates a framer for `source`.
    pub fn new(source: R) -> Self {
        Self::with_max_line(source, MAX_LINE_BYTES)
    }

    /// Creates a framer for `source` with lines of at most `max_line` bytes.
    pub fn with_max_line(source: R, max_line: usize) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
            filled: 0,
            scanned: 0,
            max_line,
            discarding: false,
            at_start: true,
            ended: false,
        }
    }

    /// Returns the next frame, blocking until there is one.
    pub fn next_frame(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.buffered_frame() {
                return Ok(frame);
            }
            if self.ended {
                return Ok(self.last_frame());
            }
            self.fill()?;
        }
    }

    /// Returns the next frame if it is already buffered, without reading.
    pub fn buffered_frame(&mut self) -> Option<Frame> {
        while let Some(at) = find_line_end(&self.buffer[self.scanned..self.filled]) {
            let end = self.scanned + at;
            let line = self.take(end + 1).slice(..end);
            if std::mem::take(&mut self.discarding) {
                return Some(Frame::TooLong);
            }
            if let Some(frame) = self.frame(line) {
                return Some(frame);
            }
        }
        self.scanned = self.filled;
        // A byte order mark and the CR of a CRLF do not count.
        if self.filled > self.max_line + BYTE_ORDER_MARK.len() + 1 {
            self.discarding = true;
        }
        if self.discarding {
            self.filled = 0;
            self.scanned = 0;
        }
        None
    }

    /// Returns the rest of an input that ended without a line feed.
    fn last_frame(&mut self) -> Frame {
        if std::mem::take(&mut self.discarding) {
            return Frame::TooLong;
        }
        let rest = self.take(self.filled);
        self.frame(rest).unwrap_or(Frame::End)
    }

    fn take(&mut self, len: usize) -> Bytes {
        let taken = self.buffer.split_to(len).freeze();
        self.filled -= len;
        self.scanned = 0;
        taken
    }

    /// Strips a byte order mark and a carriage return from a line; `None` if it is blank.
    fn frame(&mut self, mut line: Bytes) -> Option<Frame> {
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line = line.slice(BYTE_ORDER_MARK.len()..);
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.max_line {
            return Some(Frame::TooLong);
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(Frame::Line(line))
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.buffer.len() - self.filled < CHUNK_BYTES / 4 {
            self.grow();
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.filled += read;
        self.ended = read == 0;
        Ok(())
    }

    /// Moves the unfinished line into a new buffer with more room. The old buffer is freed together with the
    /// last line that refers to it.
    fn grow(&mut self) {
        let room = CHUNK_BYTES.max(self.filled * 2);
        let mut next = BytesMut::zeroed(room);
        next[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
        self.buffer = next;
    }
}

fn find_line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(input: &[u8], max_line: usize, step: usize) -> Vec<Frame> {
        let mut framer = Framer::with_max_line(Dribble { input, step }, max_line);
        let mut all = Vec::new();
        loop {
            match framer.next_frame().expect("slices do not fail") {
                Frame::End => return all,
                frame => all.push(frame),
            }
        }
    }

    /// Returns its input in small pieces, as a pipe may.
    struct Dribble<'a> {
        input: &'a [u8],
        step: usize,
    }

    impl Read for Dribble<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.step.min(buf.len()).min(self.input.len());
            buf[..n].copy_from_slice(&self.input[..n]);
            self.input = &self.input[n..];
            Ok(n)
        }
    }

    fn line(text: &str) -> Frame {
        Frame::Line(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn accepts_crlf_blank_lines_and_a_byte_order_mark() {
        let input = b"\xef\xbb\xbf{\"a\":1}\r\n\r\n  \n{\"b\":2}\n\n";
        assert_eq!(frames(input, 100, 3), [line("{\"a\":1}"), line("{\"b\":2}")]);
    }

    #[test]
    fn hands_out_a_last_line_without_an_end() {
        assert_eq!(frames(b"one\ntwo", 100, 64), [line("one"), line("two")]);
    }

    #[test]
    fn a_line_at_the_limit_passes_and_one_byte_more_does_not() {
        assert_eq!(frames(b"12345\n", 5, 64), [line("12345")]);
        assert_eq!(frames(b"123456\nok\n", 5, 1), [Frame::TooLong, line("ok")]);
        assert_eq!(frames(b"123456", 5, 64), [Frame::TooLong]);
        assert_eq!(frames(b"12345\r\nok\r\n", 5, 1), [line("12345"), line("ok")]);
        assert_eq!(frames(b"\xef\xbb\xbf12345\r\n", 5, 1), [line("12345")]);
    }

    #[test]
    fn a_long_line_is_discarded_as_it_streams_in() {
        let mut input = vec![b'x'; 10 * CHUNK_BYTES];
        input.extend_from_slice(b"\nafter\n");
        let mut framer = Framer::with_max_line(&input[..], 1000);
        assert_eq!(framer.next_frame().expect("read"), Frame::TooLong);
        assert!(framer.buffer.len() <= 2 * CHUNK_BYTES, "memory grew with the line");
        assert_eq!(framer.next_frame().expect("read"), line("after"));
    }

    #[test]
    fn knows_whether_a_line_is_buffered() {
        let mut framer = Framer::new(&b"one\ntwo\n\n \r\n"[..]);
        assert_eq!(framer.buffered_frame(), None);
        assert_eq!(framer.next_frame().expect("read"), line("one"));
        assert_eq!(framer.buffered_frame(), Some(line("two")));
        assert_eq!(framer.buffered_frame(), None, "blank lines are nothing to wait for");
    }

    proptest! {
        #[test]
        fn any_split_of_the_input_gives_the_same_frames(
            input in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()], 0..400),
            step in 1usize..50,
            max_line in 1usize..40,
        ) {
            prop_assert_eq!(frames(&input, max_line, step), frames(&input, max_line, 1000));
        }

        #[test]
        fn lines_come_out_as_they_went_in(lines in proptest::collection::vec("[a-z]{1,300}", 0..50), step in 1usize..9000) {
            let input = lines.join("\n");
            let expected: Vec<_> = lines.iter().map(|l| line(l)).collect();
            prop_assert_eq!(frames(input.as_bytes(), 1000, step), expected);
        }
    }
}
