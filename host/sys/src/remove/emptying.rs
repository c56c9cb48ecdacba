//! Removal by descriptors of folders.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Maximum number of folders that are open at a time. Folders below are moved to the top first.
const MAX_OPEN: usize = 16;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a folder with everything in it.
pub(super) fn remove(folder: &Path, until: Instant) -> io::Result<()> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = if parent == OsStr::new("") { Path::new(".") } else { parent };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(parent, flags, Mode::empty())?;
    let name = CString::new(name.as_encoded_bytes())?;
    let mut emptying = Emptying { until, names: 0, failed: None };
    // A file system may skip entries while others are removed.
    loop {
        let has_changed = emptying.empty(open(parent.as_fd(), &name)?)?;
        match unlinkat(&parent, &name, AtFlags::REMOVEDIR) {
            Ok(()) => return Ok(()),
            Err(_) if has_changed => {}
            Err(error) => return Err(emptying.failed.unwrap_or(error).into()),
        }
    }
}

/// An open folder with its name in the one above.
struct Level {
    name: CString,
    entries: Dir,
    has_changed: bool,
}

impl Level {
    fn new(name: CString, folder: OwnedFd) -> rustix::io::Result<Self> {
        Ok(Self { name, entries: Dir::new(folder)?, has_changed: false })
    }
}

/// State of a removal.
struct Emptying {
    until: Instant,
    /// Number of names that moved folders were offered.
    names: u64,
    /// First failure to remove an entry.
    failed: Option<Errno>,
}

impl Emptying {
    /// Removes the entries of a folder once. Returns `true` if it changed, so that another pass may find more.
    fn empty(&mut self, top: OwnedFd) -> io::Result<bool> {
        let mut top = Level::new(CString::default(), top)?;
        let mut below: Vec<Level> = Vec::with_capacity(MAX_OPEN);
        loop {
            if Instant::now() >= self.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let level = below.last_mut().unwrap_or(&mut top);
            let entry = match level.entries.read() {
                Some(Ok(entry)) if [c".", c".."].contains(&entry.file_name()) => continue,
                Some(Ok(entry)) => entry,
                end => {
                    if let Some(Err(error)) = end {
                        self.failed.get_or_insert(error);
                    }
                    let Some(done) = below.pop() else { return Ok(top.has_changed) };
                    let above = below.last_mut().unwrap_or(&mut top);
                    let again = self.leave(done, above)?;
                    below.extend(again);
                    continue;
                }
            };
            let name = entry.file_name().to_owned();
            match remove_file(level.entries.fd()?, &name, entry.file_type()) {
                Ok(Removed::File) => level.has_changed = true,
                Ok(Removed::Nothing) => {}
                Ok(Removed::IsFolder) => match open(level.entries.fd()?, &name) {
                    Ok(folder) if below.len() + 1 < MAX_OPEN => below.push(Level::new(name, folder)?),
                    Ok(_) => {
                        let from = below.last().unwrap_or(&top);
                        let is_there = self.lift(from.entries.fd()?, &name, top.entries.fd()?);
                        below.last_mut().unwrap_or(&mut top).has_changed |= is_there;
                        top.has_changed |= is_there;
                    }
                    Err(error) => drop(self.failed.get_or_insert(error)),
                },
                Err(error) => drop(self.failed.get_or_insert(error)),
            }
        }
    }

    /// Removes a folder that was read to its end. Returns it if it has to be read again.
    fn leave(&mut self, mut folder: Level, above: &mut Level) -> io::Result<Option<Level>> {
        match unlinkat(above.entries.fd()?, &folder.name, AtFlags::REMOVEDIR) {
            Ok(()) => above.has_changed = true,
            Err(Errno::NOTEMPTY | Errno::EXIST) if folder.has_changed => {
                folder.has_changed = false;
                folder.entries.rewind();
                return Ok(Some(folder));
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
        Ok(None)
    }

    /// Moves a deep folder to the top. Returns `true` if it is there.
    fn lift(&mut self, from: BorrowedFd<'_>, name: &CStr, top: BorrowedFd<'_>) -> bool {
        loop {
            let place = format!(".{}", self.names);
            self.names += 1;
            match renameat(from, name, top, place) {
                Ok(()) => return true,
                // The name is in use. There are fewer names than entries.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) if Instant::now() < self.until => {}
                Err(error) => {
                    self.failed.get_or_insert(error);
                    return false;
                }
            }
        }
    }
}

/// Outcome for an entry that may be a folder.
enum Removed {
    File,
    IsFolder,
    Nothing,
}

/// Removes an entry unless it is a folder. Some file systems do not tell the type of an entry.
fn remove_file(folder: BorrowedFd<'_>, name: &CStr, kind: FileType) -> rustix::io::Result<Removed> {
    if kind == FileType::Directory {
        return Ok(Removed::IsFolder);
    }
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(Removed::File),
        Err(Errno::NOENT) => Ok(Removed::Nothing),
        Err(Errno::ISDIR) => Ok(Removed::IsFolder),
        Err(Errno::PERM) if kind == FileType::Unknown => Ok(Removed::IsFolder),
        Err(error) => Err(error),
    }
}

/// Opens a folder, and opens it to its owner if necessary.
fn open(above: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let folder = match openat(above, name, FOLDER | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_to_owner(above, name)?;
            openat(above, name, FOLDER | OFlags::RDONLY, Mode::empty())?
        }
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
        // Removing the entries fails if it is another user's.
        let _ = fchmod(&folder, Mode::RWXU);
    }
    Ok(folder)
}

/// Changes the mode of a folder that cannot be read. Not every kernel can do it without following a link by
/// name, but a link in place of the folder fails to open.
#[cfg(target_os = "linux")]
fn open_to_owner(above: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let folder = openat(above, name, FOLDER | OFlags::PATH, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn open_to_owner(above: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
