//! Hash chain of the audit log: each line carries a sequence number and the hash of the previous line.
//!
//! The hash is the SHA-256 of the complete line, including its own link and excluding the line feed, so
//! `sha256sum` computes the same value. The link is the end of the line: `,"n":12,"prev":"…"}`.

use std::fmt;

use sha2::{Digest as _, Sha256};

use scorpiox_text::line::push_number;

const NUMBER: &[u8] = b",\"n\":";
const PREVIOUS: &[u8] = b",\"prev\":\"";
const END: &[u8] = b"\"}";
/// Maximum number of bytes that a link adds to a line.
const MAX_LINK_BYTES: usize = 5 + 20 + 9 + HEX_BYTES + 1;
const HEX_BYTES: usize = 64;

/// SHA-256 hash of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Previous hash of the first line.
    pub const NONE: Self = Self([0; 32]);

    /// Hashes a line without its line feed.
    pub fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// Parses the lower-case hexadecimal form.
    pub(crate) fn parse(hex: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != HEX_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns the raw bytes.
    pub const fn bytes(self) -> [u8; 32] {
        self.0
    }

    pub(crate) fn hex(self) -> [u8; HEX_BYTES] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; HEX_BYTES];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.hex()))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Position of a line in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Sequence number, starting at 1.
    pub number: u64,
    /// Hash of the previous line.
    pub previous: Hash,
}

impl Link {
    /// Parses the link of a line without its line feed. Returns `None` for unchained and for torn lines.
    pub fn read(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(END)?;
        let (line, hex) = line.split_at_checked(line.len().checked_sub(HEX_BYTES)?)?;
        let line = line.strip_suffix(PREVIOUS)?;
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (line, digits) = line.split_at(line.len() - digits);
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        line.strip_suffix(NUMBER)?;
        Some(Self { number, previous: Hash::parse(hex)? })
    }
}

/// Newest line of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub number: u64,
    pub hash: Hash,
}

impl Tip {
    /// State before the first line.
    pub(crate) const START: Self = Self { number: 0, hash: Hash::NONE };

    /// Reads number and hash of a chained line. Returns `None` if the line has no link.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        Link::read(line).map(|link| Self { number: link.number, hash: Hash::of(line) })
    }

    /// Links `lines` (JSON objects, each followed by a line feed) and appends them to `out`, which grows to
    /// at most `room` bytes. Returns the number of input bytes consumed.
    pub(crate) fn link(&mut self, lines: &[u8], out: &mut Vec<u8>, room: usize) -> usize {
        let mut taken = 0;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let begin = out.len();
            let body = line.strip_suffix(b"\n").unwrap_or(line);
            out.extend_from_slice(body.strip_suffix(b"}").unwrap_or(body));
            out.extend_from_slice(NUMBER);
            push_number(out, self.number + 1);
            out.extend_from_slice(PREVIOUS);
            out.extend_from_slice(&self.hash.hex());
            out.extend_from_slice(END);
            if out.len() + 1 > room {
                out.truncate(begin);
                break;
            }
            *self = Self { number: self.number + 1, hash: Hash::of(&out[begin..]) };
            out.push(b'\n');
            taken += line.len();
        }
        taken
    }
}

/// Estimates the buffer size for `lines` with their links.
pub(crate) fn room(lines: &[u8]) -> usize {
    // Lines average more than 256 bytes.
    lines.len() + MAX_LINK_BYTES * (lines.len() / 256 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(lines: &str) -> (String, Tip) {
        let (mut tip, mut out) = (Tip::START, Vec::new());
        assert_eq!(tip.link(lines.as_bytes(), &mut out, usize::MAX), lines.len());
        (String::from_utf8(out).unwrap(), tip)
    }

    #[test]
    fn a_line_has_the_hash_of_the_whole_line_before_it() {
        let (text, tip) = linked("{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("{{\"tool\":\"a\",\"n\":1,\"prev\":\"{}\"}}", "0".repeat(64)));
        assert!(lines[1].starts_with("{\"tool\":\"b\",\"n\":2,\"prev\":\""), "{}", lines[1]);
        assert_eq!(Link::read(lines[1].as_bytes()).unwrap().previous, Hash::of(lines[0].as_bytes()));
        // Same digits as `sha256sum` prints.
        assert_eq!(Hash::of(b"abc").to_string()[..8], *"ba7816bf");
        assert_eq!(tip, Tip::read(lines[1].as_bytes()).unwrap());
    }

    #[test]
    fn what_is_no_link_at_the_end_is_none() {
        let hash = "a".repeat(64);
        let good = format!("{{\"x\":0,\"n\":7,\"prev\":\"{hash}\"}}");
        assert_eq!(Link::read(good.as_bytes()).unwrap().number, 7);
        for bad in [
            String::new(),
            "\"}".to_owned(),
            good[..good.len() - 1].to_owned(),
            good[1..].replace("\"n\"", "\"m\""),
            good.replace(",\"n\":7", ",\"n\":"),
            good.replace(":7", ":99999999999999999999"),
            good.to_uppercase(),
            // Inside of the arguments, which the caller controls.
            format!("{{\"arguments\":{good}}}"),
            format!("{{\"arguments\":\"{}", good.replace('"', "\\\"")),
        ] {
            assert_eq!(Link::read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn no_more_is_linked_than_there_is_room_for() {
        let lines = "{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n";
        let (whole, _) = linked(lines);
        let first = whole.find('\n').unwrap() + 1;
        for (room, taken) in [(0, 0), (first - 1, 0), (first, lines.len() / 2), (whole.len(), lines.len())] {
            let (mut tip, mut out) = (Tip::START, Vec::new());
            assert_eq!(tip.link(lines.as_bytes(), &mut out, room), taken, "{room}");
            assert!(whole.as_bytes().starts_with(&out) && out.len() <= room);
        }
    }
}
