//! The file on disk, which several servers append to, one at a time: whoever holds the chain's head.
//!
//! Before each write it is looked whether the name still means the file that is open: another server
//! may have renamed it because it was full. A server that is killed while it writes leaves a torn line at the end of the
//! file, and a head that is older than its lines: whoever comes next begins a line of its own, and goes on from the
//! newest whole line. A head that is newer than the lines stays what it is, so that the gap is seen for as long as
//! the lines around it are kept.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::chain::{self, Hash, Link, Tip};
use crate::files::{self, CURRENT};
use crate::head::{Head, HeadFile, Held};
use crate::read::MAX_LINE_BYTES;
use crate::system::{Identity, identity, identity_at, read_exact_at};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A file of this size is full.
    pub file_bytes: u64,
    /// Files that are kept, with the one that is written to.
    pub files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { file_bytes: 16 * 1024 * 1024, files: 8 }
    }
}

/// Lines that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written: {error}", .path.display())]
pub struct LogError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// The file, opened by the first lines.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    bounds: Bounds,
    head: HeadFile,
    open: Option<(File, Identity)>,
}

impl Log {
    /// The log in this folder.
    pub fn new(folder: PathBuf, bounds: Bounds) -> Self {
        Self { head: HeadFile::new(&folder), folder, bounds, open: None }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes sure that the file is there and can be opened to write, and that nobody keeps others from writing.
    pub fn check(&mut self) -> Result<(), LogError> {
        self.head.lock().and_then(|_lock| self.file().map(drop)).map_err(|error| self.failed(error))
    }

    /// Appends whole lines, JSON objects, and puts their links into them. What was written is taken out, also when
    /// the rest was not.
    pub fn append(&mut self, lines: &mut Vec<u8>) -> Result<(), LogError> {
        if lines.is_empty() {
            return Ok(());
        }
        self.write(lines).map_err(|error| self.failed(error))
    }

    fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let lock = self.head.lock()?;
        let About { mut head, mut is_torn } = self.about(&lock)?;
        if self.rotate(&mut head, &lock)? {
            is_torn = false;
        }
        // Nobody else renames it meanwhile.
        let file = match &self.open {
            Some((file, _)) => file,
            None => self.file()?.0,
        };
        let mut out = Vec::with_capacity(chain::room(lines) + 1);
        if is_torn {
            // What is there of that line is none; who reads leaves it out.
            out.push(b'\n');
        }
        let begin = head.tip;
        head.tip.link(lines, &mut out, usize::MAX);
        let (written, error) = write(file, &out);
        let taken = if error.is_some() {
            // What was written of a line in part is written again, as a whole.
            head.tip = begin;
            out.truncate(usize::from(is_torn));
            head.tip.link(lines, &mut out, written)
        } else {
            lines.len()
        };
        lines.drain(..taken);
        // A torn line is behind these bytes, so that it is looked for.
        head.bytes += out.len() as u64;
        let told = lock.write(&head);
        error.map_or(told, Err)
    }

    /// Looks, and does no more, as a server that is killed then.
    #[cfg(test)]
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let lock = self.head.lock()?;
        self.about(&lock).map(drop)
    }

    /// What the newest line is, and whether the file ends within one.
    fn about(&mut self, lock: &Held) -> io::Result<About> {
        let (file, identity) = self.file()?;
        let bytes = file.metadata()?.len();
        let known = lock.read()?;
        if let Some(head) = known.filter(|head| head.is_of(identity, bytes)) {
            return Ok(About { head, is_torn: false });
        }
        let Tail { newest, is_torn } = tail(file, bytes)?;
        let newest = match (known, newest) {
            (None, None) => self.newest_full()?,
            (_, newest) => newest,
        };
        let (first, tip) = match (known, newest) {
            // Whoever wrote these was killed before the head was written. Of the line that the head speaks of it
            // knows better than the file.
            (Some(head), Some(newest)) if newest.number > head.tip.number => (head.first, newest),
            (Some(head), _) => (head.first, head.tip),
            // The head was taken away, which is to be seen: the chain begins anew.
            (None, Some(newest)) => (newest.number + 1, Tip { hash: Hash::NONE, ..newest }),
            (None, None) => (1, Tip::START),
        };
        let head = Head { first, tip, inode: identity.1, bytes };
        // Before anything else: lines without a head are lines whose head was taken away. Who is killed before the torn
        // line is ended leaves a head that is of no file, so that the next one looks again.
        lock.write(&Head { bytes: if is_torn { 0 } else { head.bytes }, ..head })?;
        Ok(About { head, is_torn })
    }

    fn failed(&self, error: io::Error) -> LogError {
        LogError { path: self.folder.join(CURRENT), error }
    }

    /// The newest line of the files that were full.
    fn newest_full(&self) -> io::Result<Option<Tip>> {
        let Some((_, path)) = files::full(&self.folder)?.pop() else { return Ok(None) };
        let file = File::open(path)?;
        Ok(tail(&file, file.metadata()?.len())?.newest)
    }

    /// The file that has the name now.
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

    /// Renames the file if it is full, and removes the oldest: whether there is a new one.
    fn rotate(&mut self, head: &mut Head, lock: &Held) -> io::Result<bool> {
        if head.bytes < self.bounds.file_bytes {
            return Ok(false);
        }
        let mut known = files::full(&self.folder)?;
        // A clock that was set back must not turn the order around.
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
            // Told before they go: what is missing of the oldest otherwise was taken away by somebody else.
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

/// What there is before something is written.
struct About {
    /// Of the file as it is.
    head: Head,
    is_torn: bool,
}

/// How a file ends.
pub(crate) struct Tail {
    /// The newest line of the chain.
    pub newest: Option<Tip>,
    is_torn: bool,
}

/// Reads a file from its end, as far as its newest line.
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
        // The first of these lines may have begun before.
        let whole = if begin == 0 {
            0
        } else {
            text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
        };
        let newest = text[whole..].rsplit(|byte| *byte == b'\n').find_map(Tip::read);
        // What is longer than any line is none.
        if newest.is_some() || begin == 0 || text.len() as u64 > 2 * MAX_LINE_BYTES {
            return Ok(Tail { newest, is_torn: text.last().is_some_and(|byte| *byte != b'\n') });
        }
    }
}

/// The number of the first line of the chain in a file.
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

/// Writes all of it, by one system call unless the disk is full: how much, and why no more.
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::files::{HEAD, take_away};
    use crate::system::{Share, try_lock, unlock};

    fn log(folder: &Path, file_bytes: u64, files: usize) -> Log {
        Log::new(folder.to_owned(), Bounds { file_bytes, files })
    }

    /// A line of each word.
    fn lines_of(words: &str) -> Vec<u8> {
        words.lines().flat_map(|word| format!("{{\"tool\":\"{word}\"}}\n").into_bytes()).collect()
    }

    fn append(log: &mut Log, words: &str) {
        let mut lines = lines_of(words);
        log.append(&mut lines).unwrap();
        assert!(lines.is_empty());
    }

    /// The words of lines, and torn ones as they are.
    fn words(text: &str) -> String {
        let word = |line: &str| match line
            .strip_prefix("{\"tool\":\"")
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
        // Where the file system does not show who, nobody is named.
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
        // As by a server that is killed while it writes.
        let mut other = files::open_private(&root.path().join(CURRENT)).unwrap();
        other.write_all(b"two\nthr").unwrap();
        append(&mut log, "four");
        append(&mut log, "five");
        assert_eq!(all(root.path()), "one\ntwo\nthr\nfour\nfive\n");
    }
}
