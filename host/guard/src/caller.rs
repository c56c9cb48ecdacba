//! Who asks, and what its arguments mean to it.
//!
//! The supervisor has the caller's root and mounts: neither can be changed by a command. What is
//! read of a caller's memory is read once; what it says later does not matter.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, readlinkat, stat, statat,
};
use rustix::io::Errno;
use scorpiox_kernel::reach;

use super::call::At;
use super::identity_of;

/// Longest path that the kernel takes, with its end.
const MAX_PATH: usize = 4096;
/// Most paths are shorter than this, and less is read first.
const USUAL_PATH: usize = 256;
/// Opens a folder.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A thread that asks.
pub(super) struct Caller<'a> {
    thread: u32,
    /// Whether it still waits for the answer.
    waits: &'a dyn Fn() -> bool,
    /// Links that were followed for it, in all its paths.
    links: Cell<usize>,
}

/// A place where a name can be.
pub(super) struct Spot {
    pub folder: OwnedFd,
    /// The name, with the slashes that stood behind it: they mean something to the kernel.
    name: Vec<u8>,
    /// Length of the name without them.
    bare: usize,
}

impl Spot {
    #[cfg(test)]
    pub(super) fn of(path: &Path) -> Self {
        let (folder, name) = reach::parent(path).expect("a folder");
        Self { folder, name: name.as_bytes().to_owned(), bare: name.len() }
    }

    /// As the kernel is to be given it.
    pub(super) fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }

    /// Without slashes behind it.
    pub(super) fn bare(&self) -> &OsStr {
        OsStr::from_bytes(self.name.get(..self.bare).unwrap_or(&self.name))
    }

    pub(super) fn has_slash(&self) -> bool {
        self.bare < self.name.len()
    }
}

/// What a path begins at.
enum Base<'a> {
    Caller(i32),
    Folder(&'a OwnedFd),
}

impl<'a> Caller<'a> {
    pub(super) fn new(thread: u32, waits: &'a dyn Fn() -> bool) -> Self {
        Self { thread, waits, links: Cell::default() }
    }

    /// That what was just looked up by its number is about it: numbers are given again when a
    /// thread has ended.
    fn checked<T>(&self, found: T) -> io::Result<T> {
        if (self.waits)() { Ok(found) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Another link is followed. All of a question's count together, and who has gone is left alone: paths can be
    /// made that take long.
    fn count_link(&self) -> io::Result<()> {
        self.links.set(self.links.get() + 1);
        if self.links.get() > MAX_LINKS { Err(Errno::LOOP.into()) } else { self.checked(()) }
    }

    /// Text in its memory, up to the first NUL.
    pub(super) fn text(&self, address: u64) -> io::Result<Vec<u8>> {
        let memory = self.memory()?;
        let mut text = vec![0; USUAL_PATH];
        let mut known = 0;
        loop {
            // Less than asked for where the memory ends.
            let got = memory.read_at(&mut text[known..], address.saturating_add(known as u64))?;
            if let Some(end) = text[known..known + got].iter().position(|byte| *byte == 0) {
                text.truncate(known + end);
                return Ok(text);
            }
            known += got;
            if got == 0 || known >= MAX_PATH {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            text.resize(MAX_PATH, 0);
        }
    }

    /// So many bytes of its memory.
    pub(super) fn bytes(&self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.memory()?.read_exact_at(&mut bytes, address)?;
        Ok(bytes)
    }

    fn memory(&self) -> io::Result<File> {
        // From now on it is this process's, whoever gets its number.
        self.checked(File::open(format!("/proc/{}/mem", self.thread))?)
    }

    /// The bits that it takes away from the mode of what it makes.
    pub(super) fn umask(&self) -> io::Result<u32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread))?;
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let umask = line.and_then(|line| u32::from_str_radix(line.trim(), 8).ok());
        self.checked(umask.ok_or(io::ErrorKind::InvalidData)?)
    }

    /// One of its descriptors, for itself.
    pub(super) fn descriptor(&self, number: i32) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{number}", self.thread);
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => self.checked(Err(Errno::BADF.into()))?,
            opened => self.checked(opened?),
        }
    }

    /// What a path leads to that it gave, whatever that is, as these flags have it.
    pub(super) fn file(&self, at: At, flags: AtFlags) -> io::Result<OwnedFd> {
        let (mut folder, mut path) = (None, self.text(at.path)?);
        if path.is_empty() {
            return match at.folder {
                _ if !flags.contains(AtFlags::EMPTY_PATH) => Err(Errno::NOENT.into()),
                libc::AT_FDCWD => self.checked(self.walk(&Base::Caller(at.folder), b".")?),
                number => self.descriptor(number),
            };
        }
        loop {
            let begin = folder.as_ref().map_or(Base::Caller(at.folder), Base::Folder);
            if is_nameless(&path) {
                return self.checked(self.walk(&begin, &path)?);
            }
            let spot = self.locate(&begin, &path)?;
            let asked = OFlags::PATH | OFlags::CLOEXEC;
            let file = openat(&spot.folder, spot.name(), asked | OFlags::NOFOLLOW, Mode::empty())?;
            let is_link = FileType::from_raw_mode(fstat(&file)?.st_mode).is_symlink();
            if !is_link || flags.contains(AtFlags::SYMLINK_NOFOLLOW) {
                return self.checked(file);
            }
            match self.link_at(spot.folder.as_fd(), spot.name())? {
                Link::Text(text) => (folder, path) = (Some(spot.folder), text),
                Link::Open => {
                    return self.checked(openat(&spot.folder, spot.name(), asked, Mode::empty())?);
                }
            }
        }
    }

    /// Where a path leads that it gave.
    pub(super) fn spot(&self, at: At) -> io::Result<Spot> {
        self.locate(&Base::Caller(at.folder), &self.text(at.path)?)
    }

    /// The folder that a path leads to which it gave.
    pub(super) fn folder(&self, at: At) -> io::Result<OwnedFd> {
        self.checked(self.walk(&Base::Caller(at.folder), &self.text(at.path)?)?)
    }

    /// Where a path leads that is not in its memory.
    pub(super) fn spot_of(&self, path: &[u8]) -> io::Result<Spot> {
        self.locate(&Base::Caller(libc::AT_FDCWD), path)
    }

    /// What lies at a place, as far as links go.
    pub(super) fn beyond(&self, spot: &Spot) -> io::Result<Beyond> {
        match readlinkat(&spot.folder, spot.bare(), Vec::new()) {
            Err(Errno::INVAL) => Ok(Beyond::Itself),
            Err(Errno::NOENT) => Ok(Beyond::Nothing),
            Err(error) => Err(error.into()),
            Ok(text) => match self.counted_link(spot.folder.as_fd(), spot.bare(), text.into_bytes())? {
                Link::Text(text) => Ok(Beyond::Link(self.locate(&Base::Folder(&spot.folder), &text)?)),
                Link::Open => {
                    let flags = OFlags::PATH | OFlags::CLOEXEC;
                    let opened = openat(&spot.folder, spot.bare(), flags, Mode::empty())?;
                    Ok(Beyond::Open(self.checked(opened)?))
                }
            },
        }
    }

    /// Where something open lies, if it does so by its path.
    pub(super) fn place_of(&self, file: &OwnedFd) -> io::Result<Option<Spot>> {
        let path = path_of(file)?;
        if !path.is_absolute() {
            return Ok(None);
        }
        let spot = self.spot_of(path.as_os_str().as_bytes())?;
        match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok((reach::identity(&found) == identity_of(file)?).then_some(spot)),
            // Such a text says "(deleted)" behind the name.
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where something open lay that has no name any more.
    pub(super) fn former_place_of(&self, file: &OwnedFd) -> io::Result<Option<Spot>> {
        let path = path_of(file)?;
        let path = path.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        path.filter(|path| path.first() == Some(&b'/')).map(|path| self.spot_of(path)).transpose()
    }

    /// Whether a place is one of its own descriptors.
    pub(super) fn is_own_descriptor(&self, spot: &Spot) -> io::Result<bool> {
        Ok(is_procfs(spot.folder.as_fd())?
            && path_of(&spot.folder)? == Path::new(&format!("/proc/{}/fd", self.thread)))
    }

    fn locate(&self, begin: &Base<'_>, path: &[u8]) -> io::Result<Spot> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let cut = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, name) = path.split_at(cut);
        let bare = end.saturating_sub(cut);
        if matches!(&name[..bare], b"" | b"." | b"..") {
            // No name that can be made.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let folder = self.walk(begin, above)?;
        self.checked(())?;
        Ok(Spot { folder, name: name.to_vec(), bare })
    }

    /// The folder that a path leads to, part by part: what links say about who asks must not be
    /// said about this process.
    fn walk(&self, begin: &Base<'_>, path: &[u8]) -> io::Result<OwnedFd> {
        let mut here = match begin {
            _ if path.first() == Some(&b'/') => root()?,
            Base::Folder(folder) => folder.try_clone()?,
            Base::Caller(libc::AT_FDCWD) => {
                open_folder(CWD, format!("/proc/{}/cwd", self.thread).as_bytes())?
            }
            Base::Caller(number) => {
                open_folder(CWD, format!("/proc/{}/fd/{number}", self.thread).as_bytes())?
            }
        };
        // Parts that are ahead, the next one last.
        let mut ahead: Vec<Vec<u8>> = parts(path).rev().map(<[u8]>::to_vec).collect();
        while let Some(part) = ahead.pop() {
            here = match openat(&here, OsStr::from_bytes(&part), FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    match self.link_at(here.as_fd(), OsStr::from_bytes(&part))? {
                        Link::Open => open_folder(here.as_fd(), &part)?,
                        Link::Text(text) => {
                            ahead.extend(parts(&text).rev().map(<[u8]>::to_vec));
                            if text.first() == Some(&b'/') { root()? } else { here }
                        }
                    }
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(here)
    }

    /// The link of a name that is not a folder.
    fn link_at(&self, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Link> {
        let text = match readlinkat(folder, name, Vec::new()) {
            Err(Errno::INVAL) => return Err(Errno::NOTDIR.into()),
            other => other?,
        };
        self.counted_link(folder, name, text.into_bytes())
    }

    fn counted_link(&self, folder: BorrowedFd<'_>, name: &OsStr, text: Vec<u8>) -> io::Result<Link> {
        self.count_link()?;
        self.link(folder, name, text)
    }

    /// What a link means to who asks. In `/proc` some say who reads them, and the text of others is no
    /// path: they lead to what a process has open.
    fn link(&self, folder: BorrowedFd<'_>, name: &OsStr, text: Vec<u8>) -> io::Result<Link> {
        if !is_procfs(folder)? {
            return Ok(Link::Text(text));
        }
        let (here, own) = (fstat(folder)?, stat("/proc")?);
        if here.st_dev != own.st_dev {
            // Its numbers are of other processes.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if here.st_ino == own.st_ino {
            return Ok(Link::Text(match name.as_bytes() {
                b"self" | b"thread-self" => self.thread.to_string().into_bytes(),
                _ => text,
            }));
        }
        // What this process has open is none of theirs.
        let supervisor = format!("/proc/{}", rustix::process::getpid());
        if path_of(&folder.try_clone_to_owned()?)?.starts_with(supervisor) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Link::Open)
    }
}

/// What a link means.
enum Link {
    /// A path.
    Text(Vec<u8>),
    /// What a process has open, which the kernel follows.
    Open,
}

/// What lies at a place.
pub(super) enum Beyond {
    /// Nothing.
    Nothing,
    /// No link.
    Itself,
    /// A link that leads to this place.
    Link(Spot),
    /// A link to what a process has open.
    Open(OwnedFd),
}

/// Most links that are followed for one call, as the kernel has it.
const MAX_LINKS: usize = 40;

/// Whether a path ends in no name that something has in its folder. It leads to a folder, then.
fn is_nameless(path: &[u8]) -> bool {
    matches!(path.rsplit(|byte| *byte == b'/').next(), None | Some(b"" | b"." | b".."))
}

/// The names in a path.
fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."))
}

fn is_procfs(folder: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(fstatfs(folder)?.f_type == PROC_SUPER_MAGIC)
}

fn root() -> io::Result<OwnedFd> {
    open_folder(CWD, b"/")
}

/// Follows links, by the kernel.
fn open_folder(base: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    Ok(openat(base, OsStr::from_bytes(path), FOLDER, Mode::empty())?)
}

/// Where a folder is, as the kernel tells it.
pub(super) fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::with_capacity(USUAL_PATH))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}
