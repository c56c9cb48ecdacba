//! Lines of processes that ended while another one held the lock of the head.
//!
//! Such a process leaves its lines in a file of their own beside the log, and the next one that writes puts them into
//! the chain. A process that leaves lines cannot know when that will be, so it waits for nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::chain::Link;
use crate::{Record, files};

const PREFIX: &str = "audit.left-";
/// Maximum number of files. The first name that is free is taken, so that a writer looks for one name alone.
const MOST: usize = 64;
/// Maximum number of bytes of a file that are read.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Time after which a file is no longer being written.
const WRITING_TIME: Duration = Duration::from_secs(10);

fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{number}"))
}

/// Writes lines into a file of their own.
pub(crate) fn leave(folder: &Path, lines: &[u8]) -> io::Result<()> {
    files::make_folder(folder)?;
    for number in 0..MOST {
        let path = path(folder, number);
        let file = crate::system::private(&path, OpenOptions::new().write(true).create_new(true));
        let mut file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        return file.write_all(lines).inspect_err(|_| drop(fs::remove_file(&path)));
    }
    Err(io::Error::other(format!("{MOST} others wait already")))
}

/// Lines that were left, and their files.
pub(crate) struct Left {
    pub(crate) lines: Vec<u8>,
    files: Vec<PathBuf>,
}

impl Left {
    /// Reads the lines that were left in a directory. The caller holds the lock of the head. A writer that is not new
    /// (`is_new`) looks for the first name alone, which is taken unless a file was being written at the last look.
    pub(crate) fn read(folder: &Path, is_new: bool) -> io::Result<Option<Self>> {
        if !is_new && path(folder, 0).symlink_metadata().is_err() {
            return Ok(None);
        }
        let mut left = Self { lines: Vec::new(), files: Vec::new() };
        for path in (0..MOST).map(|number| path(folder, number)) {
            match left.add(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((!left.files.is_empty()).then_some(left))
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let about = path.symlink_metadata()?;
        let mut text = Vec::new();
        if about.is_file() {
            io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, MOST_BYTES), &mut text)?;
        }
        let age = about.modified()?.elapsed().unwrap_or_default();
        if text.last() != Some(&b'\n') && age < WRITING_TIME {
            return Ok(());
        }
        let whole = text.split_inclusive(|byte| *byte == b'\n');
        let is_line = |line: &&[u8]| {
            line.ends_with(b"}\n")
                && Link::read(&line[..line.len() - 1]).is_none()
                && std::str::from_utf8(line).is_ok_and(|line| Record::parse(line).is_some())
        };
        self.lines.extend(whole.filter(is_line).flatten());
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Removes the files, the first name last, by which the others are found.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.files.iter().rev().try_for_each(fs::remove_file)
    }
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
        let forged = "{\"tool\":\"x\",\"n\":9,\"prev\":\"0\"}\nno line\n{\"tool\":\"to";
        leave(root.path(), forged.as_bytes()).unwrap();
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
    }
}
