//! The thread that makes a system call, and the resolution of its arguments from its point of view.
//!
//! The supervisor shares the caller's root and mounts, and a command can change neither. The caller's memory
//! is read exactly once; later changes to it have no effect.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libc::c_long;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, openat, openat2,
    readlinkat, stat, statat,
};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use scorpiox_sys::linux::{questions, reach};

use super::call::At;
use super::identity_of;

/// Maximum length of a path that the kernel accepts, including the NUL.
const MAX_PATH: usize = 4096;
/// Length of the first read: most paths are shorter.
const USUAL_PATH: usize = 256;
/// `PIDFD_THREAD`: the descriptor stands for a single thread.
const OF_A_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
/// Flags to open a directory.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Thread that made a forwarded system call.
pub(crate) struct Caller<'a> {
    thread: u32,
    /// Returns `true` while the thread still waits for the answer.
    waits: &'a dyn Fn() -> bool,
    /// Number of symbolic links followed so far, in all paths of the notification.
    links: Cell<usize>,
}

/// Directory and a name in it.
pub(super) struct Spot {
    pub folder: OwnedFd,
    /// Name, including trailing slashes: they have a meaning to the kernel.
    name: Vec<u8>,
    /// Length of the name without the trailing slashes.
    bare: usize,
}

impl Spot {
    #[cfg(test)]
    pub(super) fn of(path: &Path) -> Self {
        let (folder, name) = reach::parent(path).expect("a folder");
        Self { folder, name: name.as_bytes().to_owned(), bare: name.len() }
    }

    /// Returns the name for a system call.
    pub(super) fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }

    /// Returns the name without trailing slashes.
    pub(super) fn bare(&self) -> &OsStr {
        OsStr::from_bytes(self.name.get(..self.bare).unwrap_or(&self.name))
    }

    pub(super) fn has_slash(&self) -> bool {
        self.bare < self.name.len()
    }
}

/// Directory that a path is relative to.
enum Base<'a> {
    Caller(i32),
    Folder(&'a OwnedFd),
}

impl<'a> Caller<'a> {
    pub(crate) fn new(thread: u32, waits: &'a dyn Fn() -> bool) -> Self {
        Self { thread, waits, links: Cell::default() }
    }

    /// Returns `found` if the caller still waits. Thread IDs are reused, so a lookup by ID is only valid if
    /// the thread exists afterwards.
    fn checked<T>(&self, found: T) -> io::Result<T> {
        if (self.waits)() { Ok(found) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Counts a followed symbolic link. All paths of a notification share the limit, and resolution stops if
    /// the caller has ended: paths can be constructed that take long to resolve.
    fn count_link(&self) -> io::Result<()> {
        self.links.set(self.links.get() + 1);
        if self.links.get() > MAX_LINKS { Err(Errno::LOOP.into()) } else { self.checked(()) }
    }

    /// Reads a string from the caller's memory, up to the first NUL.
    pub(super) fn text(&self, address: u64) -> io::Result<Vec<u8>> {
        self.checked(self.unchecked_text(address)?)
    }

    /// Like [`text`](Self::text), for a caller that may have ended. Callers of this function have to check that
    /// before they use the text.
    fn unchecked_text(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut text = vec![0; USUAL_PATH];
        let mut known = 0;
        loop {
            // The read is short at the end of the mapping.
            let got =
                questions::read_memory(self.thread, address.wrapping_add(known as u64), &mut text[known..])?;
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

    /// Reads `length` bytes from the caller's memory.
    pub(crate) fn bytes(&self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let got = questions::read_memory(self.thread, address, &mut bytes)?;
        self.checked(())?;
        if got == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Returns the ID of the calling thread.
    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the caller's state.
    pub(super) fn status(&self) -> io::Result<Status> {
        self.checked(Status::of(self.thread)?)
    }

    /// Returns a descriptor of the calling thread, which becomes readable when the thread ends. Fails before Linux 6.9.
    pub(super) fn task(&self) -> io::Result<OwnedFd> {
        self.checked(descriptor_of(self.thread)?)
    }

    /// Opens one of the caller's descriptors.
    pub(super) fn descriptor(&self, number: i32) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{number}", self.thread);
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => self.checked(Err(Errno::BADF.into()))?,
            opened => self.checked(opened?),
        }
    }

    /// Duplicates one of the caller's descriptors, with its state.
    pub(crate) fn duplicate(&self, number: i32) -> io::Result<OwnedFd> {
        let none = PidfdGetfdFlags::empty();
        let file = match pidfd_open(pid(self.thread)?, OF_A_THREAD) {
            // Before Linux 6.9, only the descriptors of a process's first thread can be duplicated. Almost
            // all threads share them.
            Err(Errno::INVAL) => {
                let process = pidfd_open(pid(self.process()?)?, PidfdFlags::empty())?;
                let file = pidfd_getfd(process, number, none)?;
                let own = readlinkat(CWD, format!("/proc/{}/fd/{number}", self.thread), Vec::new())?;
                if path_of(&file)?.as_os_str().as_bytes() != own.as_bytes() {
                    return Err(Errno::BADF.into());
                }
                file
            }
            opened => pidfd_getfd(opened?, number, none)?,
        };
        self.checked(file)
    }

    /// Returns the ID of the caller's process.
    fn process(&self) -> io::Result<u32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread))?;
        let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        Ok(line.and_then(|line| line.trim().parse().ok()).ok_or(io::ErrorKind::InvalidData)?)
    }

    /// Opens the file at a path argument, whatever its kind, as `flags` require.
    pub(super) fn file(&self, at: At, flags: AtFlags) -> io::Result<OwnedFd> {
        self.file_at(at.folder, self.text(at.path)?, flags)
    }

    /// Like [`file`](Self::file), for a path that has been read, relative to a directory descriptor.
    pub(crate) fn file_at(&self, number: i32, mut path: Vec<u8>, flags: AtFlags) -> io::Result<OwnedFd> {
        if path.is_empty() {
            return match number {
                _ if !flags.contains(AtFlags::EMPTY_PATH) => Err(Errno::NOENT.into()),
                libc::AT_FDCWD => self.checked(self.walk(&Base::Caller(number), b".")?),
                number => self.descriptor(number),
            };
        }
        let mut folder = None;
        loop {
            let begin = folder.as_ref().map_or(Base::Caller(number), Base::Folder);
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

    /// Resolves a path argument to a directory and a name.
    pub(super) fn spot(&self, at: At) -> io::Result<Spot> {
        self.locate(&Base::Caller(at.folder), &self.unchecked_text(at.path)?)
    }

    /// Opens the directory at a path argument.
    pub(super) fn folder(&self, at: At) -> io::Result<OwnedFd> {
        self.checked(self.walk(&Base::Caller(at.folder), &self.text(at.path)?)?)
    }

    /// Resolves a path that is not in the caller's memory.
    pub(super) fn spot_of(&self, path: &[u8]) -> io::Result<Spot> {
        self.locate(&Base::Caller(libc::AT_FDCWD), path)
    }

    /// Inspects the entry at a path, and resolves it by one step if it is a link.
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

    /// Returns the location of an open file, if it is still found at its path.
    pub(super) fn place_of(&self, file: &OwnedFd) -> io::Result<Option<Spot>> {
        let path = path_of(file)?;
        if !path.is_absolute() {
            return Ok(None);
        }
        let spot = self.spot_of(path.as_os_str().as_bytes())?;
        match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok((reach::identity(&found) == identity_of(file)?).then_some(spot)),
            // The kernel appends "(deleted)" to the path of such a file.
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the former location of an open file that has been deleted.
    pub(super) fn former_place_of(&self, file: &OwnedFd) -> io::Result<Option<Spot>> {
        let path = path_of(file)?;
        let path = path.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        path.filter(|path| path.first() == Some(&b'/')).map(|path| self.spot_of(path)).transpose()
    }

    /// Returns `true` if the path is one of the caller's own descriptors in `/proc`.
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
            // No such name can be created.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let folder = self.walk(begin, above)?;
        self.checked(())?;
        Ok(Spot { folder, name: name.to_vec(), bare })
    }

    /// Opens the directory at a path. If there are links in the path, it is resolved component by component:
    /// those in `/proc` that refer to the caller must not resolve to this process.
    fn walk(&self, begin: &Base<'_>, path: &[u8]) -> io::Result<OwnedFd> {
        let here = self.begin(begin, path)?;
        if parts(path).next().is_none() {
            return Ok(here);
        }
        // Fails before Linux 5.6, too.
        match openat2(&here, OsStr::from_bytes(path), FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(folder) => Ok(folder),
            Err(_) => self.walk_parts(here, path),
        }
    }

    /// Opens the directory in which the resolution of a path begins.
    fn begin(&self, begin: &Base<'_>, path: &[u8]) -> io::Result<OwnedFd> {
        match begin {
            _ if path.first() == Some(&b'/') => root(),
            Base::Folder(folder) => folder.try_clone(),
            Base::Caller(libc::AT_FDCWD) => open_folder(CWD, format!("/proc/{}/cwd", self.thread).as_bytes()),
            Base::Caller(number) => open_folder(CWD, format!("/proc/{}/fd/{number}", self.thread).as_bytes()),
        }
    }

    /// Opens the directory at a path that begins in `here`, component by component.
    fn walk_parts(&self, mut here: OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
        // Remaining components in reverse order.
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

    /// Resolves the link at a name that is not a directory.
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

    /// Resolves a link from the caller's point of view. Some links in `/proc` depend on the reading process.
    /// The text of others is not a path, because they lead to an open file of a process.
    fn link(&self, folder: BorrowedFd<'_>, name: &OsStr, text: Vec<u8>) -> io::Result<Link> {
        if !is_procfs(folder)? {
            return Ok(Link::Text(text));
        }
        let (here, own) = (fstat(folder)?, stat("/proc")?);
        if here.st_dev != own.st_dev {
            // This `/proc` belongs to another PID namespace.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if here.st_ino == own.st_ino {
            return Ok(Link::Text(match name.as_bytes() {
                b"self" | b"thread-self" => self.thread.to_string().into_bytes(),
                _ => text,
            }));
        }
        // Commands have no access to the open files of this process, which each of its threads has too.
        let path = path_of(&folder.try_clone_to_owned()?)?;
        let of_task = path.strip_prefix("/proc").ok().and_then(|path| path.components().next());
        let of_task = of_task.ok_or(io::ErrorKind::PermissionDenied)?;
        if Path::new("/proc/self/task").join(of_task).symlink_metadata().is_ok() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Link::Open)
    }
}

/// Target of a link.
enum Link {
    /// Path to resolve further.
    Text(Vec<u8>),
    /// Open file of a process, which only the kernel can follow.
    Open,
}

/// Entry at a path.
pub(super) enum Beyond {
    /// No entry.
    Nothing,
    /// Entry that is not a link.
    Itself,
    /// Link that leads to this path.
    Link(Spot),
    /// Link to an open file of a process.
    Open(OwnedFd),
}

/// Maximum number of links followed for one call, equal to the kernel's limit.
const MAX_LINKS: usize = 40;

/// Returns `true` if a path does not end in a name, so that it must lead to a directory.
fn is_nameless(path: &[u8]) -> bool {
    matches!(path.rsplit(|byte| *byte == b'/').next(), None | Some(b"" | b"." | b".."))
}

/// Returns the components of a path.
fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."))
}

/// Returns a descriptor of a thread.
pub(super) fn descriptor_of(thread: u32) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid(thread)?, OF_A_THREAD)?)
}

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    pub umask: u32,
    /// `true` if the ID can pass to another thread while it is in use: that of a process's first thread passes to the
    /// one that starts a program.
    pub may_be_replaced: bool,
}

impl Status {
    pub(super) fn of(thread: u32) -> io::Result<Self> {
        let text = read_of_thread::<4096>(thread, "status")?;
        let number = |name: &str, radix| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| u32::from_str_radix(line.trim(), radix).ok())
        };
        let umask = number("Umask:", 8).ok_or(io::ErrorKind::InvalidData)?;
        let is_another = number("Tgid:", 10).is_some_and(|process| process != thread);
        // The text is cut before the line if the user is in hundreds of groups.
        let is_alone = number("Threads:", 10) == Some(1);
        Ok(Self { umask, may_be_replaced: !is_another && !is_alone })
    }
}

/// Returns `true` if a thread may be in a system call, also before or after the kernel performs it.
pub(super) fn may_be_in(thread: u32, call: c_long) -> bool {
    match read_of_thread::<128>(thread, "syscall") {
        // The kernel tells nothing of a thread that runs at the moment.
        Ok(text) => {
            text.split_ascii_whitespace().next().is_none_or(|now| now == "running" || now == call.to_string())
        }
        Err(_) => true,
    }
}

/// Returns the first bytes of a file of a thread in `/proc`, read at once.
fn read_of_thread<const LENGTH: usize>(thread: u32, name: &str) -> io::Result<String> {
    let file =
        openat(CWD, format!("/proc/{thread}/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = [0; LENGTH];
    let length = rustix::io::read(&file, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn pid(number: u32) -> io::Result<Pid> {
    Ok(Pid::from_raw(number.cast_signed()).ok_or(Errno::SRCH)?)
}

fn is_procfs(folder: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(fstatfs(folder)?.f_type == PROC_SUPER_MAGIC)
}

fn root() -> io::Result<OwnedFd> {
    open_folder(CWD, b"/")
}

/// Opens a directory; the kernel follows links.
fn open_folder(base: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    Ok(openat(base, OsStr::from_bytes(path), FOLDER, Mode::empty())?)
}

/// Returns the path of an open file, as the kernel reports it.
pub(crate) fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::with_capacity(USUAL_PATH))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}
