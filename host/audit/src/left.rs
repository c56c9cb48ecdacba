//! Lines of processes that ended while another one held the lock of the head.
//!
//! Such a process leaves its lines in a file of their own beside the log, and the next one that writes puts them into
//! the chain. A process that leaves lines cannot know when that will be, so it waits for nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Record, files};

const PREFIX: &str = "audit.left-";
/// Maximum number of files. The first name that is free is taken, so that a writer looks for one name alone.
const MOST: usize = 64;
/// Maximum number of bytes that are read at a time. A larger file is none that was left, and stays.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Time after which a file is no longer being written.
const WRITING_TIME: Duration = Duration::from_secs(10);

/// Returns the file with this number.
fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{number}"))
}

/// Returns the file that is written before it is complete.
fn new(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{number}.new"))
}

/// Returns the file that a writer of the log took, until its lines are in the chain.
fn taken(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{number}.taken"))
}

/// Writes lines into a file of their own, which appears under its name as a whole.
pub(crate) fn leave(folder: &Path, lines: &[u8]) -> io::Result<()> {
    files::make_folder(folder)?;
    for number in 0..MOST {
        let (path, new) = (path(folder, number), new(folder, number));
        let Some(mut file) = created(&new)? else { continue };
        let is_free = created(&path).map(|reserved| reserved.is_some());
        let written = match is_free {
            Ok(true) => file.write_all(lines).and_then(|()| file.sync_data()),
            Ok(false) => {
                fs::remove_file(&new)?;
                continue;
            }
            Err(error) => Err(error),
        };
        drop(file);
        // The empty file that keeps the name stays if this fails, and the next writer removes it.
        return written.and_then(|()| fs::rename(&new, &path)).inspect_err(|_| drop(fs::remove_file(&new)));
    }
    Err(io::Error::other(format!("{MOST} others wait already")))
}

/// Creates a file. Returns `None` if there is anything with its name.
fn created(path: &Path) -> io::Result<Option<File>> {
    match crate::system::private(path, OpenOptions::new().write(true).create_new(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lines that were left, and their files, which no other writer takes.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) lines: Vec<u8>,
    files: Vec<PathBuf>,
}

impl Left {
    /// Takes the lines that were left in a directory. The caller holds the lock of the head. A writer that is not new
    /// (`is_new`) looks for the first name alone, which is taken unless a file was being written at the last look.
    /// Anything with such a name that cannot be read and renamed stays, and keeps nobody from writing.
    pub(crate) fn take(folder: &Path, is_new: bool) -> Option<Self> {
        if !is_new && path(folder, 0).symlink_metadata().is_err() {
            return None;
        }
        let mut left = Self::default();
        for number in 0..MOST {
            let taken = taken(folder, number);
            if taken.symlink_metadata().is_ok() {
                // Its writer was killed, or the disk was full.
                left.add(&taken, &taken);
                continue;
            }
            if !left.add(&path(folder, number), &taken) {
                left.add(&new(folder, number), &taken);
            }
        }
        (!left.files.is_empty()).then_some(left)
    }

    /// Renames a file and adds its lines. Returns `false` if it stays.
    fn add(&mut self, path: &Path, taken: &Path) -> bool {
        let Ok(text) = self.read(path) else { return false };
        if path != taken && fs::rename(path, taken).is_err() {
            return false;
        }
        let whole = text.split_inclusive(|byte| *byte == b'\n');
        self.lines.extend(whole.filter(|line| is_line(line)).flatten());
        self.files.push(taken.to_owned());
        true
    }

    /// Reads a file, unless it may still be written or there is no more room.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let about = path.symlink_metadata()?;
        if !about.is_file() || about.len() > MOST_BYTES - (self.lines.len() as u64).min(MOST_BYTES) {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut text = Vec::new();
        File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
        let age = about.modified()?.elapsed().unwrap_or_default();
        let is_written = path.extension().is_none_or(|end| end != "new") && text.last() == Some(&b'\n');
        if is_written || age >= WRITING_TIME { Ok(text) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    /// Removes the files. A file that cannot be removed is emptied, so that no line is there twice.
    pub(crate) fn remove(self) {
        for path in self.files {
            if fs::remove_file(&path).is_err() {
                let _ = OpenOptions::new().write(true).truncate(true).open(&path);
            }
        }
    }
}

/// Lines of ended processes that wait for the next process that writes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Number of files that have them.
    pub files: u64,
    /// Number of lines.
    pub lines: u64,
    /// Anything else with such a name, which stays where it is.
    pub others: Vec<PathBuf>,
}

impl Waiting {
    /// Looks into the directory of a log. Takes no lock and changes nothing.
    pub fn of(folder: &Path) -> Self {
        let mut waiting = Self::default();
        for number in 0..MOST {
            for path in [taken(folder, number), path(folder, number), new(folder, number)] {
                waiting.add(path);
            }
        }
        waiting
    }

    fn add(&mut self, path: PathBuf) {
        let read = || {
            let about = path.symlink_metadata()?;
            if !about.is_file() || about.len() > MOST_BYTES {
                return Err(ErrorKind::InvalidInput.into());
            }
            let mut text = Vec::new();
            File::open(&path)?.take(MOST_BYTES).read_to_end(&mut text).map(|_| text)
        };
        match read() {
            Ok(text) => {
                let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| is_line(line)).count();
                self.lines += lines as u64;
                self.files += u64::from(lines > 0);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => self.others.push(path),
        }
    }
}

/// Returns `true` for a complete line that may be put into the chain.
fn is_line(line: &[u8]) -> bool {
    line.ends_with(b"}\n")
        && !claims_a_place(line)
        && std::str::from_utf8(line).is_ok_and(|line| Record::parse(line).is_some())
}

/// Returns `true` if a line has a key of the chain, or cannot be read as an object.
fn claims_a_place(line: &[u8]) -> bool {
    let members = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line);
    members.map_or(true, |members| ["n", "prev"].iter().any(|key| members.contains_key(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::CURRENT;
    use crate::{Bounds, Log};

    fn line(tool: &str) -> String {
        format!("{{\"time\":\"t\",\"tool\":\"{tool}\"}}\n")
    }

    fn append(log: &mut Log, tool: &str) {
        log.append(&mut line(tool).into_bytes()).unwrap();
    }

    #[test]
    fn lines_that_were_left_come_first_in_the_chain_and_once() {
        let root = tempfile::tempdir().unwrap();
        let mut log = Log::new(root.path().to_owned(), Bounds::default());
        append(&mut log, "one");
        leave(root.path(), (line("two") + &line("three")).as_bytes()).unwrap();
        leave(root.path(), line("four").as_bytes()).unwrap();
        // Torn lines, and lines that claim a place in the chain, are not taken over.
        let forged = "{\"tool\":\"x\",\"n\":9,\"prev\":\"0\"}\n{\"tool\":\"x\",\"n\":5}\n\
                      {\"tool\":\"y\",\"prev\":\"q\"}\nno line\n{\"tool\":\"to";
        fs::write(path(root.path(), 2), forged).unwrap();
        append(&mut log, "five");
        append(&mut log, "six");
        let text = fs::read_to_string(root.path().join(CURRENT)).unwrap();
        let found: Vec<_> = text.lines().map(|line| line.split('"').nth(7).unwrap()).collect();
        assert_eq!(found[..4], ["one", "two", "three", "four"], "{text}");
        assert_eq!(found[found.len() - 2..], ["five", "six"], "{text}");
        assert!(crate::verify(root.path()).unwrap().is_whole());
        let files = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = files.filter(|name| name.to_string_lossy().starts_with(PREFIX)).collect();
        assert_eq!(left, ["audit.left-2"], "it may still be written");
        let old = std::time::SystemTime::now() - 2 * WRITING_TIME;
        File::options().write(true).open(path(root.path(), 2)).unwrap().set_modified(old).unwrap();
        append(&mut Log::new(root.path().to_owned(), Bounds::default()), "seven");
        assert_eq!(tools(root.path()), ["one", "two", "three", "four", "five", "six", "seven"]);
    }

    fn tools(folder: &Path) -> Vec<String> {
        let text = fs::read_to_string(folder.join(CURRENT)).unwrap();
        text.lines().filter_map(Record::parse).map(|record| record.tool).collect()
    }

    fn left_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with(PREFIX)).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn nothing_with_such_a_name_keeps_anybody_from_writing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(path(root.path(), 0)).unwrap();
        fs::create_dir_all(taken(root.path(), 1).join("x")).unwrap();
        File::create(path(root.path(), 2)).unwrap().set_len(MOST_BYTES + 1).unwrap();
        leave(root.path(), line("left").as_bytes()).unwrap();
        leave(root.path(), line("more").as_bytes()).unwrap();
        assert_eq!(left_names(root.path()).len(), 5, "{:?}", left_names(root.path()));
        let mut log = Log::new(root.path().to_owned(), Bounds::default());
        append(&mut log, "own");
        append(&mut log, "next");
        // The lines at the second name wait until nothing is in the way.
        assert_eq!(tools(root.path()), ["more", "own", "next"]);
        fs::remove_dir(taken(root.path(), 1).join("x")).unwrap();
        fs::remove_dir(taken(root.path(), 1)).unwrap();
        append(&mut log, "last");
        append(&mut log, "again");
        assert_eq!(tools(root.path()), ["more", "own", "next", "left", "last", "again"]);
        assert_eq!(left_names(root.path()), ["audit.left-0", "audit.left-2"]);
        assert!(crate::verify(root.path()).unwrap().is_whole());
    }

    #[test]
    fn what_waits_is_counted_and_stays() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Waiting::of(&root.path().join("none")), Waiting::default());
        leave(root.path(), (line("one") + &line("two") + "torn").as_bytes()).unwrap();
        leave(root.path(), line("three").as_bytes()).unwrap();
        fs::rename(path(root.path(), 1), taken(root.path(), 1)).unwrap();
        fs::create_dir(path(root.path(), 2)).unwrap();
        File::create(path(root.path(), 3)).unwrap().set_len(MOST_BYTES + 1).unwrap();
        let others = vec![path(root.path(), 2), path(root.path(), 3)];
        let expected = Waiting { files: 2, lines: 3, others };
        assert_eq!((Waiting::of(root.path()), Waiting::of(root.path())), (expected.clone(), expected));
        append(&mut Log::new(root.path().to_owned(), Bounds::default()), "four");
        assert_eq!(Waiting::of(root.path()).files, 1, "a torn line may still be written");
    }

    #[test]
    fn a_file_that_stays_is_not_written_twice() {
        let root = tempfile::tempdir().unwrap();
        leave(root.path(), line("left").as_bytes()).unwrap();
        // Nothing can be renamed to a folder with entries.
        fs::create_dir_all(taken(root.path(), 0).join("x")).unwrap();
        let mut log = Log::new(root.path().to_owned(), Bounds::default());
        append(&mut log, "one");
        append(&mut log, "two");
        assert_eq!(tools(root.path()), ["one", "two"]);
    }

    #[test]
    fn lines_that_a_killed_writer_took_are_written_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        leave(root.path(), line("left").as_bytes()).unwrap();
        drop(Left::take(root.path(), true).unwrap());
        assert_eq!(left_names(root.path()), ["audit.left-0.taken"]);
        append(&mut Log::new(root.path().to_owned(), Bounds::default()), "own");
        assert_eq!(tools(root.path()), ["left", "own"]);
        assert!(left_names(root.path()).is_empty());
    }

    #[test]
    fn a_file_is_not_taken_before_it_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let being_written = new(root.path(), 0);
        fs::write(&being_written, line("first")).unwrap();
        File::create(path(root.path(), 0)).unwrap();
        let mut log = Log::new(root.path().to_owned(), Bounds::default());
        append(&mut log, "one");
        assert_eq!(tools(root.path()), ["one"]);
        // Its process was killed: the complete lines are taken.
        let old = std::time::SystemTime::now() - 2 * WRITING_TIME;
        File::options().write(true).open(&being_written).unwrap().set_modified(old).unwrap();
        File::options().write(true).open(path(root.path(), 0)).unwrap().set_modified(old).unwrap();
        for tool in ["two", "three"] {
            append(&mut Log::new(root.path().to_owned(), Bounds::default()), tool);
        }
        assert_eq!(tools(root.path()), ["one", "two", "first", "three"]);
        assert!(left_names(root.path()).is_empty());
    }

    #[test]
    fn lines_that_were_left_wait_while_the_disk_is_full() {
        let root = tempfile::tempdir().unwrap();
        let mut log = Log::new(root.path().to_owned(), Bounds::default());
        append(&mut log, "one");
        leave(root.path(), (line("two") + &line("three")).as_bytes()).unwrap();
        for room in [0, 150] {
            log.fill(Some(room));
            log.append(&mut line("four").into_bytes()).unwrap_err();
        }
        log.fill(None);
        append(&mut log, "five");
        let found = tools(root.path());
        assert_eq!(found.iter().filter(|tool| *tool == "two").count(), 1, "{found:?}");
        assert!(left_names(root.path()).is_empty());
    }
}
