//! Files that git trusts and replaces as a whole: the index and references of repositories that were there before the
//! command.
//!
//! Git writes another file beside such a file and renames it. Content that git would never write makes it write to, or
//! start, files of the command's choice as soon as somebody uses it, and the command can put the old content back before
//! anybody looks. The supervisor therefore judges the content at the rename, and puts a copy of the judged content in place,
//! which the command has never opened. Nothing else gives these files other content.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::mem::discriminant;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens,
    openat, renameat_with, statat, unlinkat,
};
use scorpiox_git::Replaced;
use scorpiox_sandbox::{Prevented, Why};
use scorpiox_sys::linux::questions::Answer;
use scorpiox_sys::linux::reach;

use super::caller::{Spot, path_of};
use super::opened::itself;
use super::unpacked::Kind;
use super::{Guard, failed};

/// Beginning and end of the names of copies, which no command opens: git ignores names that end in `.lock`.
pub(super) const COPY: (&str, &str) = ("scorpiox-", ".lock");
/// Maximum time to judge a file: the supervisor does nothing else meanwhile.
const JUDGE_TIME: Duration = Duration::from_secs(2);
/// Mode bits of a copy.
const MODE_BITS: u32 = 0o777;
/// Maximum number of reported files, and of characters of a text.
const MAX_PREVENTED: usize = 8;
const MAX_TEXT_CHARS: usize = 256;

/// Files that commands were refused to change.
#[derive(Debug, Default)]
pub(super) struct AllPrevented {
    found: Vec<Prevented>,
    /// Number of further attempts.
    others: u32,
}

impl AllPrevented {
    fn add(&mut self, path: PathBuf, why: Why) {
        let path = path.into();
        // A command chooses the text, and must not fill the list by it.
        let is_same_kind = |known: &Why| discriminant(known) == discriminant(&why);
        if self.found.iter().any(|known| known.path == path && is_same_kind(&known.why)) {
            return;
        }
        if self.found.len() < MAX_PREVENTED {
            self.found.push(Prevented { path, why });
        } else {
            self.others = self.others.saturating_add(1);
        }
    }

    pub(super) fn into_parts(self) -> (Vec<Prevented>, u32) {
        (self.found, self.others)
    }
}

impl Guard {
    /// Refuses to change such a file where it is.
    pub(super) fn prevent_in_place(&mut self, path: &Path) -> Answer {
        self.prevent(path.to_owned(), Why::InPlace)
    }

    /// Refuses to move, remove or replace an entry that holds something protected.
    pub(super) fn prevent_move(&mut self, spot: &Spot) -> io::Result<Answer> {
        Ok(self.prevent(path_of(&spot.folder)?.join(spot.bare()), Why::Stays))
    }

    fn prevent(&mut self, path: PathBuf, why: Why) -> Answer {
        self.prevented.add(path, why);
        Answer::Fail(libc::EACCES)
    }

    /// Replaces such a file by another one, if git could have written that.
    pub(super) fn replace(
        &mut self,
        kind: Replaced,
        (from, to): (&Spot, &Spot),
        flags: RenameFlags,
    ) -> io::Result<Answer> {
        let path = path_of(&to.folder)?.join(to.bare());
        if flags.contains(RenameFlags::EXCHANGE) {
            return Ok(self.prevent(path, Why::InPlace));
        }
        let asked = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(&from.folder, from.bare(), asked, Mode::empty()) {
            Ok(file) => file,
            Err(error) => return Ok(failed(error)),
        };
        let found = fstat(&file)?;
        let bytes = if FileType::from_raw_mode(found.st_mode).is_file() {
            read(file, kind.max_bytes())?
        } else {
            None
        };
        let Some(bytes) = bytes else { return Ok(self.prevent(path, Why::Unreadable)) };
        let folder = itself(&to.folder);
        let content = match kind.content(&bytes, Path::new(&folder), Instant::now() + JUDGE_TIME) {
            Ok(content) => content,
            Err(text) if text.is_empty() => return Ok(self.prevent(path, Why::Unreadable)),
            Err(text) => {
                let text = text.chars().take(MAX_TEXT_CHARS).collect();
                return Ok(self.prevent(path, Why::Names(text)));
            }
        };
        self.copies = self.copies.wrapping_add(1);
        let name = self.places.copy_name(self.copies);
        let is_synced = kind == Replaced::Reference;
        if let Err(error) = put(&content, (&found, is_synced), &name, to, flags) {
            return Ok(Answer::Fail(error.raw_os_error().unwrap_or(libc::EIO)));
        }
        self.places.made(to, Kind::Other);
        // The copy has the same name if this is a move to another spelling of it.
        let left = statat(&from.folder, from.bare(), AtFlags::SYMLINK_NOFOLLOW);
        if left.is_ok_and(|left| reach::identity(&left) == reach::identity(&found)) {
            // If this fails, the lock file stays, as it does when git is killed here.
            let _ = unlinkat(&from.folder, from.bare(), AtFlags::empty());
        }
        Ok(Answer::Done)
    }
}

/// Returns the content of a file; `None` if it is longer than `most` bytes.
fn read(file: OwnedFd, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::from(file).take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Puts a new file with this content in place. It gets the mode and the times of the file that the caller wrote, which git
/// compares with those of tracked files. Git may have written references so that they survive a loss of power.
fn put(
    bytes: &[u8],
    (like, is_synced): (&Stat, bool),
    name: &str,
    to: &Spot,
    flags: RenameFlags,
) -> io::Result<()> {
    let asked = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let copy = openat(&to.folder, name, asked, Mode::RUSR | Mode::WUSR)?;
    let written = || {
        let mut copy = File::from(copy);
        copy.write_all(bytes)?;
        fchmod(&copy, Mode::from_raw_mode(like.st_mode & MODE_BITS))?;
        futimens(&copy, &times(like))?;
        if is_synced {
            copy.sync_data()?;
        }
        Ok(renameat_with(&to.folder, name, &to.folder, to.name(), flags)?)
    };
    let written: io::Result<()> = written();
    if written.is_err() {
        let _ = unlinkat(&to.folder, name, AtFlags::empty());
    }
    written
}

fn times(of: &Stat) -> Timestamps {
    let time = |seconds, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    Timestamps {
        last_access: time(of.st_atime, of.st_atime_nsec),
        last_modification: time(of.st_mtime, of.st_mtime_nsec),
    }
}
