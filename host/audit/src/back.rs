//! Reads lines across all files from the newest to the oldest, for readers that want the newest alone.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::str::FromStr;

use crate::files::{Opened, open_all};
use crate::read::{Line, MAX_LINE_BYTES, line};
use crate::system::Identity;

/// Number of bytes read at once.
const BLOCK_BYTES: u64 = 64 * 1024;

/// Position between two lines, which remains valid while lines are appended and files are renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    known: Identity,
    /// Offset after the line before the position.
    end: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, inode) = self.known;
        write!(f, "{device:x}-{inode:x}-{:x}", self.end)
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.split('-').map(|number| u64::from_str_radix(number, 16).ok());
        match (numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten(), numbers.next()) {
            (Some(device), Some(inode), Some(end), None) => Ok(Self { known: (device, inode), end }),
            _ => Err("this is no position in the audit".to_owned()),
        }
    }
}

/// Reads lines, newest first. Lines that are appended meanwhile are left out.
#[derive(Debug)]
pub struct BackReader {
    /// Files to read, in the order of their lines.
    older: Vec<Opened>,
    now: Option<Back>,
    bytes: u64,
}

impl BackReader {
    /// Creates a reader for the log in this directory, at its end. A missing directory yields no lines.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let mut older = open_all(folder)?;
        // The newest line may still be written.
        let now = older.pop().map(|newest| Back::from_end(newest, Torn::LeftOut)).transpose()?;
        Ok(Self { older, now, bytes: 0 })
    }

    /// Creates a reader for the lines before a position. Returns `None` if its file was removed.
    pub fn before(folder: &Path, position: Position) -> io::Result<Option<Self>> {
        let mut older = open_all(folder)?;
        let Some(place) = older.iter().position(|file| file.known == position.known) else { return Ok(None) };
        older.truncate(place + 1);
        let file = older.pop().filter(|file| position.end <= file.bytes);
        Ok(file.map(|file| Self { older, now: Some(Back::new(file, position.end)), bytes: 0 }))
    }

    /// Returns the line before those that were returned, or `None` at the beginning.
    #[allow(clippy::should_implement_trait)] // not an iterator: fails
    pub fn next(&mut self) -> io::Result<Option<Line>> {
        while let Some(now) = &mut self.now {
            let before = now.start;
            let found = now.next();
            self.bytes += before - now.start;
            match found? {
                Some(Found::Line(text)) => {
                    if let Some(line) = line(&text) {
                        return Ok(Some(line));
                    }
                }
                Some(Found::Damaged) => return Ok(Some(Line::Damaged)),
                None => {
                    let older = self.older.pop();
                    self.now = older.map(|older| Back::from_end(older, Torn::Damaged)).transpose()?;
                }
            }
        }
        Ok(None)
    }

    /// Returns the position before the lines that were returned; `None` at the beginning.
    pub fn position(&self) -> Option<Position> {
        let now = self.now.as_ref().map(|now| Position { known: now.known, end: now.end() });
        let older = self.older.iter().rev().map(|file| Position { known: file.known, end: file.bytes });
        now.into_iter().chain(older).find(|position| position.end > 0)
    }

    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Treatment of text without a line feed at its end.
#[derive(Debug, Clone, Copy)]
enum Torn {
    /// It is still written.
    LeftOut,
    /// Nobody completes it, or it is too long.
    Damaged,
}

/// Text between two line feeds.
enum Found {
    Line(Vec<u8>),
    Damaged,
}

/// A file that is read backwards.
#[derive(Debug)]
struct Back {
    file: File,
    known: Identity,
    /// Offset of the text.
    start: u64,
    /// Text that was read and not returned. It ends with a line feed, unless it is torn.
    text: Vec<u8>,
    torn: Option<Torn>,
}

impl Back {
    /// Starts at the end of a file.
    fn from_end(file: Opened, torn: Torn) -> io::Result<Self> {
        let mut end = [b'\n'];
        if let Some(last) = file.bytes.checked_sub(1) {
            (&file.file).seek(SeekFrom::Start(last))?;
            (&file.file).read_exact(&mut end)?;
        }
        let bytes = file.bytes;
        Ok(Self { torn: (end != *b"\n").then_some(torn), ..Self::new(file, bytes) })
    }

    /// Starts at an offset, which is after a line feed.
    fn new(Opened { file, known, .. }: Opened, start: u64) -> Self {
        Self { file, known, start, text: Vec::new(), torn: None }
    }

    /// Returns the offset before the lines that were returned.
    fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }

    /// Returns the text before the one that was returned, or `None` at the beginning of the file.
    fn next(&mut self) -> io::Result<Option<Found>> {
        loop {
            let searched =
                if self.torn.is_some() { self.text.len() } else { self.text.len().saturating_sub(1) };
            let begin = match self.text[..searched].iter().rposition(|byte| *byte == b'\n') {
                Some(feed) => feed + 1,
                None if self.start == 0 => 0,
                None => {
                    self.read_block()?;
                    continue;
                }
            };
            match self.torn.take() {
                Some(torn) => {
                    self.text.truncate(begin);
                    if matches!(torn, Torn::Damaged) {
                        return Ok(Some(Found::Damaged));
                    }
                }
                None if self.text.is_empty() => return Ok(None),
                None => {
                    let mut text = self.text.split_off(begin);
                    text.pop();
                    return Ok(Some(Found::Line(text)));
                }
            }
        }
    }

    /// Reads the text before the one that was read.
    fn read_block(&mut self) -> io::Result<()> {
        if self.text.len() as u64 > MAX_LINE_BYTES {
            self.text.clear();
            self.torn.get_or_insert(Torn::Damaged);
        }
        let bytes = BLOCK_BYTES.min(self.start);
        self.file.seek(SeekFrom::Start(self.start - bytes))?;
        let mut block = Vec::new();
        if self.file.by_ref().take(bytes).read_to_end(&mut block)? as u64 != bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.start -= bytes;
        block.append(&mut self.text);
        self.text = block;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::{CURRENT, full_name};
    use crate::read::tests::{tool_of, write};
    use crate::{Bounds, Log};

    fn tools(reader: &mut BackReader) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = reader.next().unwrap() {
            found.push(tool_of(line));
        }
        found
    }

    #[test]
    fn lines_are_read_backwards_over_all_files_and_from_a_position_while_they_are_written() {
        let root = tempfile::tempdir().unwrap();
        assert!(tools(&mut BackReader::new(&root.path().join("none")).unwrap()).is_empty());
        let mut log = Log::new(root.path().to_owned(), Bounds { file_bytes: 30, files: 100 });
        let names: Vec<_> = ('a'..='j').map(String::from).collect();
        for name in &names {
            write(&mut log, name);
        }
        let back: Vec<_> = names.iter().rev().cloned().collect();
        assert_eq!(tools(&mut BackReader::new(root.path()).unwrap()), back);
        // Each position continues there, although lines follow and the current file becomes a full one.
        let mut reader = BackReader::new(root.path()).unwrap();
        for at in 0..back.len() {
            let position = reader.position().unwrap();
            assert_eq!(position.to_string().parse(), Ok(position));
            write(&mut log, "new");
            let mut continued = BackReader::before(root.path(), position).unwrap().unwrap();
            assert_eq!(tools(&mut continued), back[at..]);
            assert!(matches!(reader.next().unwrap(), Some(Line::Whole(..))));
        }
        assert_eq!((reader.position(), reader.next().unwrap().is_none()), (None, true));
        let removed = Position { known: (u64::MAX, 0), end: 1 };
        assert!(BackReader::before(root.path(), removed).unwrap().is_none());
        for text in ["", "1-2", "1-2-3-4", "x-1-2", "1--2"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }

    #[test]
    fn damaged_lines_are_told_of_and_blocks_end_anywhere() {
        let root = tempfile::tempdir().unwrap();
        let long = "x".repeat(3 * 1024 * 1024);
        let many: Vec<_> = (0..5000).map(|at| at.to_string()).collect();
        let lines: Vec<_> = many
            .iter()
            .map(|tool| format!("{{\"tool\":\"{tool}\",\"user\":\"{}\"}}\n", "é".repeat(tool.len() * 40)))
            .collect();
        let full = format!("{long}\n{}{{\"tool", lines.concat());
        fs::write(root.path().join(full_name(1)), full).unwrap();
        fs::write(root.path().join(full_name(2)), "").unwrap();
        let text = format!("{{\"tool\":\"a\"}}\n{{\"to\n\n\u{0}\n[]\n{long}\n{{\"tool\":\"b\"}}\n{long}");
        fs::write(root.path().join(CURRENT), text).unwrap();
        let mut reader = BackReader::new(root.path()).unwrap();
        let newest = ["b", "(damaged)", "(damaged)", "(damaged)", "(damaged)", "a", "(damaged)"];
        let expected: Vec<_> =
            newest.into_iter().chain(many.iter().rev().map(String::as_str)).chain(["(damaged)"]).collect();
        assert_eq!(tools(&mut reader), expected);
        assert_eq!((reader.position(), reader.bytes() > 9 * 1024 * 1024), (None, true));
    }

    #[test]
    fn only_the_lines_that_are_asked_for_are_read() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(CURRENT), "{\"tool\":\"a\"}\n".repeat(100_000)).unwrap();
        let mut reader = BackReader::new(root.path()).unwrap();
        for _ in 0..200 {
            assert!(reader.next().unwrap().is_some());
        }
        assert_eq!(reader.bytes(), BLOCK_BYTES);
    }
}
