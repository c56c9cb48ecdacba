//! Position of an export: a small file next to the audit files, locked by the server that sends.
//!
//! The lock ensures that only one server sends at a time. Each line is sent once and in order, whichever
//! server recorded it, and the next server continues where the previous one stopped.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::feed::Position;
use crate::chain::Hash;
use crate::files::{make_folder, open_to_replace};
use crate::head::wait_for;
use crate::system::{Share, read_from, write_all_at};

/// Fixed file size, so that a single write replaces the contents.
const BYTES: usize = 128;
/// Maximum time to wait for another sending server.
const LOCK_TIME: Duration = Duration::from_secs(2);
/// Prefix and suffix of the file names.
const PREFIX: &str = "export-";
const SUFFIX: &str = ".position";
/// Number of hash digits that distinguish exports.
const DIGITS: usize = 16;

/// Returns the path of the position file for the export to the destination `name`.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    let hash = Hash::of(name.as_bytes()).to_string();
    folder.join(format!("{PREFIX}{}{SUFFIX}", &hash[..DIGITS]))
}

/// Lines of an export, by their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// Last exported line.
    pub newest: u64,
    /// Highest exported line that was not there any more when the export continued; 0 if there is none.
    pub lost: u64,
}

/// Reads the lines of the export whose position file is `name`.
pub(crate) fn taken(folder: &Path, name: &str) -> Option<Taken> {
    let is_position = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let mut text = [0; BYTES];
    let file = is_position.then(|| File::open(folder.join(name)).ok())??;
    let read = read_from(&file, &mut text, 0).ok()?;
    let Position { n: newest, lost, .. } = serde_json::from_slice(&text[..read]).ok()?;
    Some(Taken { newest, lost })
}

/// Exclusive permission to send, released on drop.
#[derive(Debug)]
pub(super) struct Turn(File);

impl Turn {
    /// Waits until no other server sends. Creates the file if it is missing.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let file = match open_to_replace(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder(path.parent().unwrap_or(path))?;
                open_to_replace(path)?
            }
            other => other?,
        };
        let until = Instant::now() + LOCK_TIME;
        wait_for(&file, Share::Exclusive, until, &path.display().to_string())?;
        Ok(Self(file))
    }

    /// Reads the stored position; the start of the chain if it is unreadable.
    pub(super) fn read(&self) -> io::Result<Position> {
        let mut text = [0; BYTES];
        let read = read_from(&self.0, &mut text, 0)?;
        Ok(serde_json::from_slice(&text[..read]).unwrap_or_default())
    }

    pub(super) fn write(&self, at: Position) -> io::Result<()> {
        let text = serde_json::to_string(&at)?;
        write_all_at(&self.0, format!("{text:width$}\n", width = BYTES - 1).as_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_was_written_last_and_one_sends_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let path = path(&root.path().join("audit"), "journald");
        assert_ne!(path, super::path(&root.path().join("audit"), "tcp://logs.example.com:601"));
        let turn = Turn::take(&path).unwrap();
        assert_eq!(turn.read().unwrap(), Position::default());
        for at in [
            Position { n: u64::MAX, inode: u64::MAX, bytes: u64::MAX, lost: u64::MAX },
            Position { n: 1, inode: 2, bytes: 3, lost: 0 },
        ] {
            turn.write(at).unwrap();
            assert_eq!((turn.read().unwrap(), path.metadata().unwrap().len()), (at, BYTES as u64));
        }
        let error = Turn::take(&path).unwrap_err();
        let told = error.to_string();
        assert!(told.ends_with(&format!(" holds {} and does not let go of it", path.display())), "{told}");
        drop(turn);
        assert_eq!(Turn::take(&path).unwrap().read().unwrap().n, 1);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Turn::take(&path).unwrap().read().unwrap(), Position::default());
    }
}
