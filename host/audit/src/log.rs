//! The file on disk, which several servers append to.
//!
//! Before each write it is looked whether the name still means the file that is open: another server
//! may have renamed it because it was full. Lines that were on the way go into the renamed one, which
//! is read, too. A server that is killed while it writes leaves a torn line at the end of the file: whoever
//! comes next begins a line of its own. Renaming and removing is done under a lock that is never waited for: who does not
//! get it goes on writing, and looks again the next time.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::files::{self, CURRENT, Identity, LOCK, identity};

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
    open: Option<(File, Identity)>,
}

impl Log {
    /// The log in this folder.
    pub fn new(folder: PathBuf, bounds: Bounds) -> Self {
        Self { folder, bounds, open: None }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes sure that the file is there and can be opened to write.
    pub fn check(&mut self) -> Result<(), LogError> {
        self.file().map(drop).map_err(|error| self.failed(error))
    }

    /// Appends whole lines. What was written is taken out of them, also when the rest was not.
    pub fn append(&mut self, lines: &mut Vec<u8>) -> Result<(), LogError> {
        if lines.is_empty() {
            return Ok(());
        }
        let outcome = self.file().and_then(|mut file| {
            if is_torn(file)? && lines[0] != b'\n' {
                // What is there of that line is none; who reads leaves it out.
                lines.insert(0, b'\n');
            }
            Ok(write(&mut file, lines))
        });
        let (written, error) = outcome.unwrap_or_else(|error| (0, Some(error)));
        // What was written of a line in part is written again, as a whole.
        let whole = lines[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        lines.drain(..whole);
        error.map_or(Ok(()), |error| Err(self.failed(error)))
    }

    fn failed(&self, error: io::Error) -> LogError {
        LogError { path: self.folder.join(CURRENT), error }
    }

    /// The file that has the name now, with room in it.
    fn file(&mut self) -> io::Result<&File> {
        let path = self.folder.join(CURRENT);
        let known = self.open.take().map(|(file, known)| (path.symlink_metadata(), file, known));
        let (file, about) = match known {
            Some((Ok(about), file, known)) if identity(&about) == known => (file, about),
            _ => open(&self.folder, &path)?,
        };
        let (file, about) = if about.len() < self.bounds.file_bytes {
            (file, about)
        } else {
            self.rotate(identity(&about))?;
            open(&self.folder, &path)?
        };
        let (file, _) = self.open.insert((file, identity(&about)));
        Ok(file)
    }

    /// Renames the file that is full, unless somebody else did or does it.
    fn rotate(&self, full: Identity) -> io::Result<()> {
        let lock = files::open_private(&self.folder.join(LOCK))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let path = self.folder.join(CURRENT);
        if path.symlink_metadata().is_ok_and(|about| identity(&about) == full) {
            let known = files::full(&self.folder)?;
            // A clock that was set back must not turn the order around.
            let newest = known.last().map_or(0, |(since, _)| since + 1);
            fs::rename(&path, self.folder.join(files::full_name(crate::time::now().max(newest))))?;
            let keep = self.bounds.files.saturating_sub(1);
            for (_, old) in known.iter().take((known.len() + 1).saturating_sub(keep)) {
                fs::remove_file(old)?;
            }
        }
        Ok(())
    }
}

fn open(folder: &Path, path: &Path) -> io::Result<(File, fs::Metadata)> {
    let file = match files::open_private(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            files::make_folder(folder)?;
            files::open_private(path)?
        }
        other => other?,
    };
    let about = file.metadata()?;
    Ok((file, about))
}

/// Whether a file ends within a line, for longer than somebody else's writing takes.
fn is_torn(file: &File) -> io::Result<bool> {
    for _ in 0..LOOKS {
        let mut last = [b'\n'];
        if let Some(at) = file.metadata()?.len().checked_sub(1) {
            file.read_at(&mut last, at)?;
        }
        if last[0] == b'\n' {
            return Ok(false);
        }
        thread::sleep(LOOK_TIME);
    }
    Ok(true)
}

/// A write of another server can be seen in part, since a file grows page by page.
const LOOKS: u32 = 4;
const LOOK_TIME: Duration = Duration::from_millis(1);

/// Writes all of it, by one system call unless the disk is full: how much, and why no more.
fn write(file: &mut &File, bytes: &[u8]) -> (usize, Option<io::Error>) {
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
    use super::*;

    fn log(folder: &Path, file_bytes: u64, files: usize) -> Log {
        Log::new(folder.to_owned(), Bounds { file_bytes, files })
    }

    fn append(log: &mut Log, text: &str) {
        let mut lines = text.as_bytes().to_vec();
        log.append(&mut lines).unwrap();
        assert!(lines.is_empty());
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
        text + &fs::read_to_string(folder.join(CURRENT)).unwrap()
    }

    #[test]
    fn nothing_is_made_before_the_first_line() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("own/audit");
        let mut log = log(&folder, 1000, 3);
        log.append(&mut Vec::new()).unwrap();
        assert!(!root.path().join("own").exists());
        append(&mut log, "a\n");
        assert_eq!(all(&folder), "a\n");
    }

    #[test]
    fn full_files_are_renamed_in_order_and_the_oldest_removed() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 3, 3);
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n"] {
            append(&mut log, line);
        }
        assert_eq!(all(root.path()), "three\nfour\nfive\n");
        assert_eq!(names(root.path()).len(), 4, "three files and the lock");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_turn_the_order_around() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("audit-29990101T000000.000Z.jsonl"), "future\n").unwrap();
        let mut log = log(root.path(), 3, 9);
        append(&mut log, "one\n");
        append(&mut log, "two\n");
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
                        append(&mut log, &format!("{writer} {line} {}\n", "x".repeat(line % 90)));
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        let text = all(root.path());
        // Whoever saw another's write in part began a line of its own: empty ones are none.
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 2000);
        for writer in 0..4 {
            let own: Vec<usize> = text
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{writer} ")))
                .map(|line| line.split(' ').next().unwrap().parse().unwrap())
                .collect();
            assert!(own.iter().copied().eq(0..500), "the lines of {writer} are in order");
        }
        assert!(files::full(root.path()).unwrap().len() > 10);
    }

    #[test]
    fn whoever_holds_the_lock_keeps_nobody_from_writing() {
        let root = tempfile::tempdir().unwrap();
        let lock = files::open_private(&root.path().join(LOCK)).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let mut log = log(root.path(), 3, 3);
        append(&mut log, "one\n");
        append(&mut log, "two\n");
        assert_eq!(fs::read_to_string(root.path().join(CURRENT)).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_file_that_was_taken_away_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("audit");
        let mut log = log(&folder, 100, 3);
        append(&mut log, "one\n");
        fs::remove_dir_all(&folder).unwrap();
        append(&mut log, "two\n");
        assert_eq!(all(&folder), "two\n");
    }

    #[test]
    fn a_full_disk_leaves_the_lines_to_be_written_later() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (written, error) = write(&mut &full, b"line\n");
        assert_eq!((written, error.unwrap().kind()), (0, ErrorKind::StorageFull));
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("audit"), "no folder").unwrap();
        let mut log = log(&root.path().join("audit"), 100, 3);
        let mut lines = b"one\n".to_vec();
        let said = log.append(&mut lines).unwrap_err().to_string();
        assert!(said.contains("audit.jsonl cannot be written"), "{said}");
        assert_eq!(lines, b"one\n");
        fs::remove_file(root.path().join("audit")).unwrap();
        log.append(&mut lines).unwrap();
        assert_eq!(all(&root.path().join("audit")), "one\n");
    }

    #[test]
    fn a_torn_line_is_ended_before_the_next() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 100, 3);
        let mut lines = b"one\n{\"to".to_vec();
        log.append(&mut lines).unwrap();
        assert_eq!(lines, b"{\"to");
        lines.extend_from_slice(b"rn\"}\n");
        log.append(&mut lines).unwrap();
        assert_eq!(all(root.path()), "one\n{\"to\n{\"torn\"}\n");
    }

    #[test]
    fn a_line_that_another_server_tore_does_not_take_the_next_along() {
        let root = tempfile::tempdir().unwrap();
        let mut log = log(root.path(), 100, 3);
        append(&mut log, "one\n");
        // As by a server that is killed while it writes.
        let mut other = files::open_private(&root.path().join(CURRENT)).unwrap();
        other.write_all(b"two\nthr").unwrap();
        append(&mut log, "four\n");
        append(&mut log, "five\n");
        assert_eq!(all(root.path()), "one\ntwo\nthr\nfour\nfive\n");
    }
}
