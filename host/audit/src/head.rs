//! Head of the chain: a small file next to the lines that describes the newest line. The writer holds its
//! lock.
//!
//! The head is written after the lines it describes. If a writer is killed, the head may be older than the
//! lines, but never newer. A newer head means that lines were truncated.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::chain::{Hash, Tip};
use crate::files::{self, HEAD};
use crate::holder::holder;
use crate::system::{Identity, Share, identity, identity_at, read_from, try_lock, unlock, write_all_at};

/// Fixed file size, so that a single write replaces the contents.
const BYTES: usize = 256;
/// Maximum time to wait for another writer. A suspended process can hold the lock longer.
const LOCK_TIME: Duration = Duration::from_secs(2);
/// Initial and maximum delay between lock attempts.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Contents of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Number of the oldest line not rotated away.
    pub first: u64,
    /// Newest line.
    pub tip: Tip,
    /// File (inode) that contains the newest line, and its size including that line.
    pub inode: u64,
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Text<'a> {
    first: u64,
    n: u64,
    hash: &'a str,
    inode: u64,
    bytes: u64,
}

impl Head {
    fn parse(text: &[u8]) -> Option<Self> {
        let text: Text<'_> = serde_json::from_slice(text).ok()?;
        let tip = Tip { number: text.n, hash: Hash::parse(text.hash.as_bytes())? };
        Some(Self { first: text.first, tip, inode: text.inode, bytes: text.bytes })
    }

    fn text(&self) -> Vec<u8> {
        let Self { first, tip, inode, bytes } = self;
        let Tip { number, hash } = tip;
        let text = format!(
            "{{\"first\":{first},\"n\":{number},\"hash\":\"{hash}\",\"inode\":{inode},\"bytes\":{bytes}}}"
        );
        format!("{text:width$}\n", width = BYTES - 1).into_bytes()
    }

    /// Reads the head. Returns `None` if it is incomplete or damaged.
    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut text = [0; BYTES];
        let read = read_from(file, &mut text, 0)?;
        Ok(Self::parse(&text[..read]))
    }

    /// Returns `true` if the file contains exactly the bytes that a server writes for this head.
    pub(crate) fn is_written_so(&self, file: &File) -> io::Result<bool> {
        let mut text = [0; BYTES + 1];
        let read = read_from(file, &mut text, 0)?;
        Ok(text[..read] == *self.text())
    }

    /// Returns `true` if the numbers are those of a head that a server could have written.
    pub(crate) fn is_possible(&self) -> bool {
        let Tip { number, hash } = self.tip;
        let is_first_in_range = self.first.checked_sub(1).is_some_and(|before| before <= number);
        is_first_in_range && (number > 0 || hash == Hash::NONE)
    }

    /// Returns the number with which the chain begins anew after this head, because the one before it was
    /// missing.
    pub(crate) fn begins_anew(&self) -> Option<u64> {
        let Tip { number, hash } = self.tip;
        (number > 0 && hash == Hash::NONE).then(|| number.saturating_add(1))
    }

    /// Returns `true` if the file is unchanged since the head was written.
    pub(crate) fn is_of(&self, file: Identity, bytes: u64) -> bool {
        (self.inode, self.bytes) == (file.1, bytes)
    }
}

/// Head file, opened on the first write.
#[derive(Debug)]
pub(crate) struct HeadFile {
    folder: PathBuf,
    open: Option<(Arc<File>, Identity)>,
}

impl HeadFile {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), open: None }
    }

    /// Waits for the exclusive lock. Creates the directory and the file if they are missing.
    pub(crate) fn lock(&mut self) -> io::Result<Held> {
        let path = self.folder.join(HEAD);
        let until = Instant::now() + LOCK_TIME;
        loop {
            let (file, known) = match self.open.take() {
                Some(open) => open,
                None => self.make(&path)?,
            };
            wait_for(&file, Share::Exclusive, until, &path.display().to_string())?;
            let held = Held(Arc::clone(&file));
            // The path may refer to another file, whose lock other processes use. Then retry.
            let is_there = identity_at(&path).is_ok_and(|there| there == known);
            if is_there {
                self.open = Some((file, known));
                return Ok(held);
            }
        }
    }

    fn make(&self, path: &Path) -> io::Result<(Arc<File>, Identity)> {
        let file = match files::open_to_replace(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                files::make_folder(&self.folder)?;
                files::open_to_replace(path)?
            }
            other => other?,
        };
        let known = identity(&file, &file.metadata()?)?;
        Ok((Arc::new(file), known))
    }
}

/// Lock on the head, released on drop.
#[derive(Debug)]
pub(crate) struct Held(Arc<File>);

impl Held {
    /// Acquires a shared lock, if possible: a read-only copy of the directory may not support locks.
    pub(crate) fn to_read(file: &File) -> Option<Self> {
        let until = Instant::now() + LOCK_TIME;
        wait_for(file, Share::Shared, until, HEAD).ok()?;
        file.try_clone().ok().map(|file| Self(Arc::new(file)))
    }

    pub(crate) fn read(&self) -> io::Result<Option<Head>> {
        Head::read(&self.0)
    }

    pub(crate) fn write(&self, head: &Head) -> io::Result<()> {
        write_all_at(&self.0, &head.text(), 0)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

/// Waits for a lock on a file. `what` names the file in the timeout error.
pub(crate) fn wait_for(file: &File, share: Share, until: Instant, what: &str) -> io::Result<()> {
    let mut pause = FIRST_PAUSE;
    loop {
        if try_lock(file, share)? {
            return Ok(());
        }
        if Instant::now() >= until {
            let holder = holder(file).unwrap_or_else(|| "another process".to_owned());
            let said = format!("{holder} holds {what} and does not let go of it");
            return Err(io::Error::new(ErrorKind::TimedOut, said));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::take_away;

    #[test]
    fn a_head_is_what_was_written_last() {
        let root = tempfile::tempdir().unwrap();
        let mut file = HeadFile::new(&root.path().join("own"));
        let held = file.lock().unwrap();
        assert_eq!(held.read().unwrap(), None);
        let long = Head {
            first: u64::MAX,
            tip: Tip { number: u64::MAX, hash: Hash::of(b"x") },
            inode: u64::MAX,
            bytes: u64::MAX,
        };
        let short = Head { first: 1, tip: Tip::START, inode: 2, bytes: 3 };
        for head in [long, short] {
            held.write(&head).unwrap();
            assert_eq!(held.read().unwrap(), Some(head));
            assert_eq!(root.path().join("own").join(HEAD).metadata().unwrap().len(), BYTES as u64);
        }
    }

    #[test]
    fn a_head_that_was_damaged_is_none() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(HEAD);
        for text in ["", "{", "{\"first\":1}", "{\"first\":1,\"n\":1,\"hash\":\"x\",\"inode\":1,\"bytes\":1}"]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Head::read(&File::open(&path).unwrap()).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn one_writes_at_a_time_also_when_the_file_is_taken_away() {
        let root = tempfile::tempdir().unwrap();
        let mut first = HeadFile::new(root.path());
        let held = first.lock().unwrap();
        let folder = root.path().to_owned();
        let second = thread::spawn(move || {
            let begun = Instant::now();
            drop(HeadFile::new(&folder).lock().unwrap());
            begun.elapsed()
        });
        thread::sleep(Duration::from_millis(30));
        drop(held);
        assert!(second.join().unwrap() >= Duration::from_millis(20));
        take_away(&root.path().join(HEAD));
        let held = first.lock().unwrap();
        assert!(held.read().unwrap().is_none() && root.path().join(HEAD).exists());
    }
}
