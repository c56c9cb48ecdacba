//! Audit file on disk. Several servers append to it; the holder of the head's lock writes.
//!
//! Before each write, the path is compared with the open file, because another server may have rotated it. A
//! server killed while writing, or a full disk, leaves a torn line at the end of the file and a head older than
//! its lines. The next writer finds it by the last byte of the file, ends it, and continues the chain from the
//! newest complete line. A head that is newer
//! than the lines stays authoritative, so the gap remains visible as long as the lines around it are
//! retained.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::chain::{self, Hash, Link, Tip};
use crate::files::{self, CURRENT};
use crate::head::{Head, HeadFile, Held};
use crate::left::Left;
use crate::read::MAX_LINE_BYTES;
use crate::system::{Identity, identity, identity_at, read_exact_at};

/// Limits of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Size at which a file counts as full.
    pub file_bytes: u64,
    /// Maximum number of files, including the current one.
    pub files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { file_bytes: 16 * 1024 * 1024, files: 8 }
    }
}

/// Failure to write lines.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written: {error}", .path.display())]
pub struct LogError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// Audit log writer. The first write opens the file.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    bounds: Bounds,
    head: HeadFile,
    open: Option<(File, Identity)>,
    /// `true` if lines of other processes were taken and could not be written.
    has_left: bool,
    /// Bytes that the disk takes before it is full.
    #[cfg(test)]
    room: Option<usize>,
}

impl Log {
    /// Creates a writer for the log in this directory.
    pub fn new(folder: PathBuf, bounds: Bounds) -> Self {
        Self {
            head: HeadFile::new(&folder),
            folder,
            bounds,
            open: None,
            has_left: false,
            #[cfg(test)]
            room: None,
        }
    }

    /// Returns the directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Verifies that the file can be opened for writing and that the lock is available.
    pub fn check(&mut self) -> Result<(), LogError> {
        self.head.lock().and_then(|_lock| self.file().map(drop)).map_err(|error| self.failed(error))
    }

    /// Links complete lines (JSON objects) and appends them. Written lines are removed from `lines`, even if
    /// writing the rest fails.
    pub fn append(&mut self, lines: &mut Vec<u8>) -> Result<(), LogError> {
        if lines.is_empty() {
            return Ok(());
        }
        self.write(lines).map_err(|error| self.failed(error))
    }

    fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let lock = self.head.lock()?;
        if let Some(mut left) = Left::take(&self.folder, self.open.is_none() || self.has_left) {
            let bytes = left.lines.len();
            let written = self.write_under(&lock, &mut left.lines);
            self.has_left = left.lines.len() == bytes && bytes > 0;
            if !self.has_left {
                // The disk is full: the rest waits here.
                lines.splice(..0, std::mem::take(&mut left.lines));
                // After a crash at this point these lines are there twice, and none is lost.
                left.remove();
            }
            written?;
        }
        self.write_under(&lock, lines)
    }

    /// Links lines and appends them, under the lock.
    fn write_under(&mut self, lock: &Held, lines: &mut Vec<u8>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let About { mut head, mut is_torn } = self.about(lock)?;
        if self.rotate(&mut head, lock)? {
            is_torn = false;
        }
        #[cfg(test)]
        let room = self.room;
        // The lock prevents other servers from renaming the file.
        let file = match &self.open {
            Some((file, _)) => file,
            None => self.file()?.0,
        };
        let mut out = Vec::with_capacity(chain::room(lines) + 1);
        if is_torn {
            // Terminates the torn line, which readers skip.
            out.push(b'\n');
        }
        let begin = head.tip;
        head.tip.link(lines, &mut out, usize::MAX);
        #[cfg(not(test))]
        let (written, error) = write(file, &out);
        #[cfg(test)]
        let (written, error) = write_within(room, file, &out);
        let taken = if error.is_some() {
            // A partially written line is torn and will be written again completely. A line that lacks only its
            // line feed belongs to the chain: the next writer ends it.
            head.tip = begin;
            out.truncate(usize::from(is_torn).min(written));
            head.tip.link(lines, &mut out, written + 1)
        } else {
            lines.len()
        };
        lines.drain(..taken);
        // Only bytes of ended lines count. Any others lie beyond this size, and where the torn line before them
        // was not ended, the size is 0 and matches no file.
        let is_ended = out.len() <= written && (!is_torn || written > 0);
        head.bytes = if is_ended { head.bytes + out.len() as u64 } else { 0 };
        let told = lock.write(&head);
        error.map_or(told, Err)
    }

    /// Makes the disk full after `room` bytes.
    #[cfg(test)]
    pub(crate) fn fill(&mut self, room: Option<usize>) {
        self.room = room;
    }

    /// Prepares a write without writing lines, like a server killed at that point.
    #[cfg(test)]
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let lock = self.head.lock()?;
        self.about(&lock).map(drop)
    }

    /// Determines the newest line, and whether the file ends with a torn line.
    fn about(&mut self, lock: &Held) -> io::Result<About> {
        let (file, identity) = self.file()?;
        let bytes = file.metadata()?.len();
        let known = lock.read()?;
        // The size alone does not show that the last line is complete.
        let is_ended = ends_line(file, bytes)?;
        if let Some(head) = known.filter(|head| is_ended && head.is_of(identity, bytes)) {
            return Ok(About { head, is_torn: false });
        }
        let (newest, is_torn) = (tail(file, bytes)?.newest, !is_ended);
        let newest = match (known, newest) {
            (None, None) => self.newest_full()?,
            (_, newest) => newest,
        };
        let (first, tip) = match (known, newest) {
            // A writer was killed before it updated the head. For the line that the head describes, the head
            // is more trustworthy than the file.
            (Some(head), Some(newest)) if newest.number > head.tip.number => (head.first, newest),
            (Some(head), _) => (head.first, head.tip),
            // The head was removed. The chain restarts, which makes the removal visible.
            (None, Some(newest)) => (newest.number + 1, Tip { hash: Hash::NONE, ..newest }),
            (None, None) => (1, Tip::START),
        };
        let head = Head { first, tip, inode: identity.1, bytes };
        // The head must exist before any line is written: lines without a head mean that it was removed. With
        // a torn line, the head records size 0, which matches no file. If this server is killed before it
        // terminates the torn line, the next one checks again.
        lock.write(&Head { bytes: if is_torn { 0 } else { head.bytes }, ..head })?;
        Ok(About { head, is_torn })
    }

    fn failed(&self, error: io::Error) -> LogError {
        LogError { path: self.folder.join(CURRENT), error }
    }

    /// Reads the newest line from the full files.
    fn newest_full(&self) -> io::Result<Option<Tip>> {
        let Some((_, path)) = files::full(&self.folder)?.pop() else { return Ok(None) };
        let file = File::open(path)?;
        Ok(tail(&file, file.metadata()?.len())?.newest)
    }

    /// Returns the file at the current path, and opens it if necessary.
    fn file(&mut self) -> io::Result<(&File, Identity)> {
        let path = self.folder.join(CURRENT);
        let known = self.open.take();
        let is_it = |known| identity_at(&path).is_ok_and(|there| there == known);
        let open = match known {
            Some((file, known)) if is_it(known) => (file, known),
            _ => open(&self.folder, &path)?,
        };
        let (file, known) = self.open.insert(open);
        Ok((file, *known))
    }

    /// Renames the current file if it is full, and removes the oldest files. Returns `true` if a new file was
    /// started.
    fn rotate(&mut self, head: &mut Head, lock: &Held) -> io::Result<bool> {
        if head.bytes < self.bounds.file_bytes {
            return Ok(false);
        }
        let mut known = files::full(&self.folder)?;
        // A clock that was set back must not change the order.
        let newest = known.last().map_or(0, |(since, _)| since + 1);
        let since = crate::time::now().max(newest);
        let full = self.folder.join(files::full_name(since));
        fs::rename(self.folder.join(CURRENT), &full)?;
        known.push((since, full));
        self.open = None;
        let (file, identity) = self.file()?;
        (head.inode, head.bytes) = (identity.1, file.metadata()?.len());
        let (old, kept) = known.split_at(known.len().saturating_sub(self.bounds.files.saturating_sub(1)));
        if !old.is_empty() {
            // Update the head before removing files: any other missing oldest line was removed by somebody
            // else.
            let first =
                kept.iter().find_map(|(_, path)| File::open(path).and_then(|file| first(&file)).transpose());
            head.first = first.transpose()?.unwrap_or(head.tip.number + 1);
            lock.write(head)?;
        }
        for (_, path) in old {
            fs::remove_file(path)?;
        }
        Ok(true)
    }
}

/// State before a write.
struct About {
    /// Head that matches the file.
    head: Head,
    is_torn: bool,
}

/// End of a file.
pub(crate) struct Tail {
    /// Newest line of the chain.
    pub newest: Option<Tip>,
}

/// Returns `true` if a file of this size is empty or its last byte is a line feed.
pub(crate) fn ends_line(file: &File, bytes: u64) -> io::Result<bool> {
    let mut last = *b"\n";
    if let Some(at) = bytes.checked_sub(1) {
        read_exact_at(file, &mut last, at)?;
    }
    Ok(last == *b"\n")
}

/// Reads a file backward until its newest chained line.
pub(crate) fn tail(file: &File, bytes: u64) -> io::Result<Tail> {
    const PIECE: u64 = 64 * 1024;
    let (mut text, mut begin) = (Vec::new(), bytes);
    loop {
        let more = PIECE.min(begin);
        begin -= more;
        let mut piece = vec![0; usize::try_from(more).map_err(io::Error::other)?];
        read_exact_at(file, &mut piece, begin)?;
        piece.append(&mut text);
        text = piece;
        // The first line of this piece may be incomplete.
        let whole = if begin == 0 {
            0
        } else {
            text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
        };
        let newest = text[whole..].rsplit(|byte| *byte == b'\n').find_map(Tip::read);
        // Data longer than any line contains no line.
        if newest.is_some() || begin == 0 || text.len() as u64 > 2 * MAX_LINE_BYTES {
            return Ok(Tail { newest });
        }
    }
}

/// Reads the number of the first chained line in a file.
pub(crate) fn first(file: &File) -> io::Result<Option<u64>> {
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    while file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
        if let Some(link) = Link::read(line.strip_suffix(b"\n").unwrap_or(&line)) {
            return Ok(Some(link.number));
        }
        line.clear();
    }
    Ok(None)
}

fn open(folder: &Path, path: &Path) -> io::Result<(File, Identity)> {
    let file = match files::open_private(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            files::make_folder(folder)?;
            files::open_private(path)?
        }
        other => other?,
    };
    let known = identity(&file, &file.metadata()?)?;
    Ok((file, known))
}

/// Writes all bytes, with one system call unless the disk is full. Returns the number of bytes written, and
/// the error if that is not all.
fn write(mut file: &File, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Some(ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

/// Writes like [`write`], to a disk that is full after `room` bytes.
#[cfg(test)]
fn write_within(room: Option<usize>, file: &File, bytes: &[u8]) -> (usize, Option<io::Error>) {
    match room.filter(|room| *room < bytes.len()) {
        None => write(file, bytes),
        Some(room) => (write(file, &bytes[..room]).0, Some(ErrorKind::StorageFull.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::files::{HEAD, take_away};
    use crate::system::{Share, try_lock, unlock};

    fn log(folder: &Path, file_bytes: u64, files: usize) -> Log {
        Log::new(folder.to_owned(), Bounds { file_bytes, files })
    }

    /// Returns one line for each word.
    fn lines_of(words: &str) -> Vec<u8> {
        words.lines().flat_map(|word| format!("{{\"time\":\"{word}\"}}\n").into_bytes()).collect()
    }

    fn append(log: &mut Log, words: &str) {
        let mut lines = lines_of(words);
        log.append(&mut lines).unwrap();
        assert!(lines.is_empty());
    }

    /// Returns the words of lines; torn lines are returned unchanged.
    fn words(text: &str) -> String {
        let word = |line: &str| match line
            .strip_prefix("{\"time\":\"")
            .and_then(|rest| rest.split_once("\",\"n\":"))
        {
            Some((word, link)) if link.ends_with("\"}") => format!("{word}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(word).collect()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn all(folder: &Path) -> String {
        let mut text = String::new();
        for (_, path) in files::full(folder).unwrap() {
            text += &fs::read_to_string(path).unwrap();
        }
        words(&(text + &fs::read_to_string(folder.join(CURRENT)).unwrap()))
    }

    #[test]
    fn nothing_is_made_before_the_first_line() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("own/audit");
        let mut log = log(&folder, 1000, 3);
        log.append(&mut Vec::new()).unwrap();
        assert!(!root.path().join("own").exists());
        append(&mut log, "a");
        assert_eq!(all(&folder), "a\n");
    }

    #[test]
    fn full_files_are_renamed_in_order_and_the_oldest_removed() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 3, 3);
        for line in ["one", "two", "three", "four", "five"] {
            append(&mut log, line);
        }
        assert_eq!(all(root.path()), "three\nfour\nfive\n");
        assert_eq!(names(root.path()).len(), 4, "three files and the head");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_turn_the_order_around() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("audit-29990101T000000.000Z.jsonl"), "future\n").unwrap();
        let mut log = log(root.path(), 3, 9);
        append(&mut log, "one");
        append(&mut log, "two");
        assert_eq!(all(root.path()), "future\none\ntwo\n");
    }

    #[test]
    fn two_writers_that_rotate_at_once_lose_and_tear_nothing() {
        let root = tempfile::tempdir().unwrap();
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let folder = root.path().to_owned();
                thread::spawn(move || {
                    let mut log = log(&folder, 2000, 1000);
                    for line in 0..500 {
                        append(&mut log, &format!("{writer} {line} {}", "x".repeat(line % 90)));
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        let text = all(root.path());
        assert_eq!(text.lines().count(), 2000);
        for writer in 0..4 {
            let own: Vec<usize> = text
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{writer} ")))
                .map(|line| line.split(' ').next().unwrap().parse().unwrap())
                .collect();
            assert!(own.iter().copied().eq(0..500), "the lines of {writer} are in order");
        }
        assert!(files::full(root.path()).unwrap().len() > 10);
        let found = crate::verify(root.path()).unwrap();
        assert!(found.is_whole() && found.lines == 2000, "{found:?}");
    }

    #[test]
    fn lines_wait_for_whoever_holds_the_lock_and_none_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let lock = files::open_private(&root.path().join(HEAD)).unwrap();
        assert!(try_lock(&lock, Share::Exclusive).unwrap());
        let mut log = log(root.path(), 3, 3);
        let mut lines = lines_of("one");
        let said = log.append(&mut lines).unwrap_err().to_string();
        let holds = format!("holds {} and does not let go of it", root.path().join(HEAD).display());
        // Some file systems do not reveal the lock holder.
        let who = [format!("process {} (", std::process::id()), "another process".to_owned()];
        assert!(said.contains(&holds) && who.iter().any(|who| said.contains(who)), "{said}");
        assert!(lines == lines_of("one") && log.check().is_err());
        unlock(&lock);
        log.append(&mut lines).unwrap();
        assert_eq!(all(root.path()), "one\n");
    }

    #[test]
    fn a_file_that_was_taken_away_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("audit");
        let mut log = log(&folder, 100, 3);
        append(&mut log, "one");
        take_away(&folder);
        append(&mut log, "two");
        assert_eq!(all(&folder), "two\n");
    }

    #[test]
    fn a_full_disk_leaves_the_lines_to_be_written_later() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (written, error) = write(&full, b"line\n");
        assert_eq!((written, error.unwrap().kind()), (0, ErrorKind::StorageFull));
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("audit"), "no folder").unwrap();
        let mut log = log(&root.path().join("audit"), 100, 3);
        let mut lines = lines_of("one");
        let said = log.append(&mut lines).unwrap_err().to_string();
        assert!(said.contains("audit.jsonl cannot be written"), "{said}");
        assert_eq!(lines, lines_of("one"));
        take_away(&root.path().join("audit"));
        log.append(&mut lines).unwrap();
        assert_eq!(all(&root.path().join("audit")), "one\n");
    }

    #[test]
    fn a_line_that_another_server_tore_does_not_take_the_next_along() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 1000, 3);
        append(&mut log, "one");
        // Simulates a server killed while writing.
        let mut other = files::open_private(&root.path().join(CURRENT)).unwrap();
        other.write_all(b"two\nthr").unwrap();
        append(&mut log, "four");
        append(&mut log, "five");
        assert_eq!(all(root.path()), "one\ntwo\nthr\nfour\nfive\n");
    }

    /// Appends to a disk that is full after `room` bytes. Returns the lines that were not written.
    fn append_within(log: &mut Log, room: usize, words: &str) -> Vec<u8> {
        let mut lines = lines_of(words);
        log.room = Some(room);
        log.append(&mut lines).unwrap_err();
        log.room = None;
        lines
    }

    #[test]
    fn a_full_disk_damages_no_line_however_often_a_write_fails() {
        // Bytes of the line `two` on the disk: none, a piece, all but its line feed, and a piece of the next.
        for room in [0, 7, 40, 102, 103, 110] {
            for is_other in [false, true] {
                let root = tempfile::tempdir().unwrap();
                let mut one = log(root.path(), 100_000, 3);
                append(&mut one, "one");
                let mut lines = append_within(&mut one, room, "two\nthree");
                for _ in 0..2 {
                    // Not even the end of the torn line can be written.
                    one.room = Some(0);
                    one.append(&mut lines).unwrap_err();
                }
                one.room = None;
                if is_other {
                    append(&mut log(root.path(), 100_000, 3), "other");
                }
                one.append(&mut lines).unwrap();
                append(&mut one, "four");
                let text = all(root.path());
                for word in ["one", "two", "three", "four"] {
                    let count = text.lines().filter(|line| *line == word).count();
                    assert_eq!(count, 1, "{word} once, with {room} bytes of room: {text}");
                }
                let found = crate::verify(root.path()).unwrap();
                assert!(found.is_whole(), "{room} {is_other}: {found:?}\n{text}");
            }
        }
    }

    #[test]
    fn a_full_disk_that_another_process_finds_first_damages_no_line() {
        let root = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (log(root.path(), 100_000, 3), log(root.path(), 100_000, 3));
        append(&mut one, "one");
        let mut two = append_within(&mut one, 9, "two");
        let mut three = append_within(&mut other, 0, "three");
        let mut four = append_within(&mut other, 1, "four");
        other.append(&mut three).unwrap();
        one.append(&mut two).unwrap();
        other.append(&mut four).unwrap();
        assert_eq!(all(root.path()), "one\n{\"time\":\"\nthree\ntwo\nfour\n");
        let found = crate::verify(root.path()).unwrap();
        assert!(found.is_whole(), "{found:?}");
    }

    #[test]
    fn a_size_in_the_head_does_not_make_a_torn_line_whole() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 100_000, 3);
        append(&mut log, "one");
        let path = root.path().join(CURRENT);
        files::open_private(&path).unwrap().write_all(b"{\"time\":\"two").unwrap();
        let lock = log.head.lock().unwrap();
        let head = lock.read().unwrap().unwrap();
        lock.write(&Head { bytes: path.metadata().unwrap().len(), ..head }).unwrap();
        drop(lock);
        append(&mut log, "three");
        let found = crate::verify(root.path()).unwrap();
        assert!(found.is_whole(), "{found:?}\n{}", all(root.path()));
    }
}
