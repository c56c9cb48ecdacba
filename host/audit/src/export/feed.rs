//! Reads the lines of the audit files from a given position on.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::chain::Link;
use crate::files::{CURRENT, Opened, open_all};
use crate::log;
use crate::read::MAX_LINE_BYTES;
use crate::system::{Identity, identity_at, read_from};

/// Read size, unless a line is longer.
const PIECE: usize = 64 * 1024;

/// Position after a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Number of that line; 0 before the first line.
    pub n: u64,
    /// File (inode) that contains the line, and the offset of its end.
    pub inode: u64,
    pub bytes: u64,
    /// Highest number of an earlier position whose line was not there any more; 0 if there was none. Kept forever, so
    /// that later lines do not hide the loss.
    #[serde(default)]
    pub lost: u64,
}

/// Iterates over the lines of the chain, oldest first, and then follows new lines.
#[derive(Debug)]
pub(super) struct Feed {
    folder: PathBuf,
    at: Position,
    open: Option<(File, Identity)>,
    /// Lines up to this number are skipped until the first later line is seen.
    taken: Option<u64>,
}

/// Result of reading from a file.
enum Piece {
    /// Complete lines that belong to the chain; may be empty.
    Lines(Vec<u8>),
    End,
}

impl Feed {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), at: Position::default(), open: None, taken: None }
    }

    /// Returns the position after the last returned line.
    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// Continues after this position.
    pub(super) fn go_to(&mut self, at: Position) {
        if self.at != at {
            (self.at, self.open, self.taken) = (at, None, None);
        }
    }

    /// Returns the next lines, each with its line feed, or nothing if there are no new lines.
    pub(super) fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if self.open.is_none() && !self.find()? {
                return Ok(Vec::new());
            }
            match self.piece()? {
                Piece::Lines(lines) if lines.is_empty() => continue,
                Piece::Lines(lines) => return Ok(lines),
                Piece::End => {}
            }
            let Some((_, known)) = self.open else { continue };
            if identity_at(&self.folder.join(CURRENT)).is_ok_and(|current| current == known) {
                return Ok(Vec::new());
            }
            // The file is rotated and receives no more writes. Read the lines written before the rotation
            // first.
            match self.piece()? {
                Piece::Lines(lines) if lines.is_empty() => {}
                Piece::Lines(lines) => return Ok(lines),
                Piece::End => {
                    if !self.advance(known)? {
                        return Ok(Vec::new());
                    }
                }
            }
        }
    }

    /// Continues with the next file. Returns `false` if there is none.
    fn advance(&mut self, known: Identity) -> io::Result<bool> {
        let files = open_all(&self.folder)?;
        match files.iter().position(|file| file.known == known) {
            Some(at) => match files.into_iter().nth(at + 1) {
                Some(next) => self.begin(next),
                None => return Ok(false),
            },
            // The file is deleted.
            None => self.open = None,
        }
        Ok(true)
    }

    fn begin(&mut self, Opened { file, known, .. }: Opened) {
        (self.at.inode, self.at.bytes) = (known.1, 0);
        self.open = Some((file, known));
    }

    /// Finds the file to continue with. Returns `false` if there is none.
    fn find(&mut self) -> io::Result<bool> {
        let mut files = open_all(&self.folder)?;
        let Position { n, inode, bytes, .. } = self.at;
        let is_it = |file: &Opened| -> io::Result<bool> {
            let is_long_enough = file.known.1 == inode && file.bytes >= bytes;
            // The inode number may be reused by another file.
            Ok(is_long_enough && log::tail(&file.file, bytes)?.newest.map_or(0, |tip| tip.number) == n)
        };
        for (index, file) in files.iter().enumerate() {
            if is_it(file)? {
                let Opened { file, known, .. } = files.swap_remove(index);
                self.open = Some((file, known));
                return Ok(true);
            }
        }
        let mut begin = 0;
        let mut newest = 0;
        for (index, file) in files.iter().enumerate() {
            let first = log::first(&file.file)?;
            if first.is_some_and(|first| first <= n.saturating_add(1)) {
                begin = index;
            }
            newest = log::tail(&file.file, file.bytes)?.newest.map_or(newest, |tip| tip.number);
        }
        // After a restart of the chain all lines are new.
        self.taken = (newest >= n).then_some(n);
        if self.taken.is_none() {
            begin = 0;
            self.at.lost = self.at.lost.max(n);
        }
        let found = files.into_iter().nth(begin);
        let is_found = found.is_some();
        if let Some(found) = found {
            self.begin(found);
        }
        Ok(is_found)
    }

    /// Reads the next piece of the open file.
    fn piece(&mut self) -> io::Result<Piece> {
        let Some((file, _)) = &self.open else { return Ok(Piece::End) };
        let mut text = vec![0; PIECE];
        let mut read = read_from(file, &mut text, self.at.bytes)?;
        let mut end = text[..read].iter().rposition(|byte| *byte == b'\n');
        if end.is_none() && read == PIECE {
            text.resize(usize::try_from(MAX_LINE_BYTES).map_err(io::Error::other)?, 0);
            read = read_from(file, &mut text, self.at.bytes)?;
            end = text[..read].iter().position(|byte| *byte == b'\n');
            if end.is_none() && read == text.len() {
                // Longer than any audit line.
                self.at.bytes += read as u64;
                return Ok(Piece::Lines(Vec::new()));
            }
        }
        // Bytes after the last line feed belong to a line that is being written.
        let Some(end) = end else { return Ok(Piece::End) };
        let mut lines = Vec::with_capacity(end + 1);
        for line in text[..=end].split_inclusive(|byte| *byte == b'\n') {
            self.at.bytes += line.len() as u64;
            let Some(link) = Link::read(line.strip_suffix(b"\n").unwrap_or(line)) else { continue };
            if self.taken.is_some_and(|taken| link.number <= taken) {
                continue;
            }
            self.taken = None;
            self.at.n = link.number;
            lines.extend_from_slice(line);
        }
        Ok(Piece::Lines(lines))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::take_away;
    use crate::{Bounds, Log};

    fn write(log: &mut Log, tool: &str) {
        log.append(&mut format!("{{\"tool\":\"{tool}\"}}\n").into_bytes()).unwrap();
    }

    /// Returns the numbers of all available lines.
    fn numbers(feed: &mut Feed) -> Vec<u64> {
        let mut found = Vec::new();
        loop {
            let lines = feed.next().unwrap();
            if lines.is_empty() {
                return found;
            }
            let lines = lines.split_inclusive(|byte| *byte == b'\n');
            found.extend(lines.map(|line| Link::read(&line[..line.len() - 1]).unwrap().number));
        }
    }

    fn log(folder: &Path, file_bytes: u64, files: usize) -> Log {
        Log::new(folder.to_owned(), Bounds { file_bytes, files })
    }

    #[test]
    fn each_line_comes_once_over_all_files_and_from_any_place_on() {
        let root = tempfile::tempdir().unwrap();
        let mut feed = Feed::new(root.path());
        assert!(numbers(&mut feed).is_empty());
        let mut log = log(root.path(), 300, 100);
        let mut positions = Vec::new();
        for number in 1..=40 {
            write(&mut log, "x");
            assert_eq!(numbers(&mut feed), [number]);
            positions.push(feed.at());
        }
        for position in positions {
            let mut other = Feed::new(root.path());
            other.go_to(position);
            assert_eq!(numbers(&mut other), ((position.n + 1)..=40).collect::<Vec<_>>());
            // An unknown file is found by line number.
            other.go_to(Position { inode: 1, ..position });
            assert_eq!(numbers(&mut other), ((position.n + 1)..=40).collect::<Vec<_>>());
        }
    }

    #[test]
    fn lines_that_were_rotated_away_are_left_out_and_a_chain_begun_anew_is_given_whole() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("audit");
        let mut feed = Feed::new(&folder);
        let mut log = log(&folder, 3, 3);
        write(&mut log, "x");
        assert_eq!(numbers(&mut feed), [1]);
        (0..9).for_each(|_| write(&mut log, "x"));
        assert_eq!(numbers(&mut feed), [8, 9, 10]);
        take_away(&folder);
        (0..2).for_each(|_| write(&mut log, "x"));
        assert_eq!(numbers(&mut feed), [1, 2]);
        assert_eq!((feed.at().n, feed.at().lost), (2, 10));
    }

    #[test]
    fn what_is_no_whole_line_of_the_chain_is_not_given() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 1 << 30, 3);
        write(&mut log, &"x".repeat(200_000));
        let path = root.path().join(CURRENT);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"tool\":\"added\"}\n\n");
        text.extend(std::iter::repeat_n(b'y', 3 << 20));
        fs::write(&path, &text).unwrap();
        let mut feed = Feed::new(root.path());
        assert_eq!(numbers(&mut feed), [1]);
        write(&mut log, "z");
        assert_eq!(numbers(&mut feed), [2]);
    }
}
