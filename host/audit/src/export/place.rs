//! How far an export is: a small file beside the lines, held by whoever sends.
//!
//! So one server sends at a time, each line once and in its order, whichever server recorded it; and what one did
//! not send the next one does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::feed::Position;
use crate::chain::Hash;
use crate::files::{make_folder, open_to_replace};
use crate::head::wait_for;
use crate::system::{Share, read_from, write_all_at};

/// The file always has this size, so that it is replaced by one write.
const BYTES: usize = 128;
/// Longest wait for another server that sends.
const LOCK_TIME: Duration = Duration::from_secs(2);
/// Begin and end of the names of such files.
const PREFIX: &str = "export-";
const SUFFIX: &str = ".position";
/// Digits of a hash that tell exports apart.
const DIGITS: usize = 16;

/// The file of the export to this place.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    let hash = Hash::of(name.as_bytes()).to_string();
    folder.join(format!("{PREFIX}{}{SUFFIX}", &hash[..DIGITS]))
}

/// The number of the line that an export had taken, if a file of this name says so.
pub(crate) fn taken(folder: &Path, name: &str) -> Option<u64> {
    let is_position = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let mut text = [0; BYTES];
    let file = is_position.then(|| File::open(folder.join(name)).ok())??;
    let read = read_from(&file, &mut text, 0).ok()?;
    Some(serde_json::from_slice::<Position>(&text[..read]).ok()?.n)
}

/// The right to send, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(File);

impl Turn {
    /// Waits until no other server sends. Makes the file if need be.
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

    /// Behind which line it goes on; before the first one where nobody knows.
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
            Position { n: u64::MAX, inode: u64::MAX, bytes: u64::MAX },
            Position { n: 1, inode: 2, bytes: 3 },
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
