//! Who asks, and what its arguments mean to it.
//!
//! The supervisor has the caller's root and mounts: neither can be changed by a command. What is
//! read of a caller's memory is read once; what it says later does not matter.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::call::At;

/// Longest path that the kernel takes, with its end.
const MAX_PATH: usize = 4096;
/// Most paths are shorter than this, and less is read first.
const USUAL_PATH: usize = 256;
/// Opens a folder, following links as every path does.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A thread that asks.
pub(super) struct Caller<'a> {
    thread: u32,
    /// Whether it still waits for the answer.
    waits: &'a dyn Fn() -> bool,
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
        Self { thread, waits }
    }

    /// That what was just looked up by its number is about it: numbers are given again when a
    /// thread has ended.
    fn checked<T>(&self, found: T) -> io::Result<T> {
        if (self.waits)() { Ok(found) } else { Err(io::ErrorKind::NotFound.into()) }
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
        self.checked(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Where a path leads that it gave.
    pub(super) fn spot(&self, at: At) -> io::Result<Spot> {
        self.locate(&Base::Caller(at.folder), &self.text(at.path)?)
    }

    /// Where a path leads that is not in its memory.
    pub(super) fn spot_of(&self, path: &[u8]) -> io::Result<Spot> {
        self.locate(&Base::Caller(libc::AT_FDCWD), path)
    }

    /// Where a link leads that lies at a place.
    pub(super) fn follow(&self, spot: &Spot, text: &[u8]) -> io::Result<Spot> {
        self.locate(&Base::Folder(&spot.folder), text)
    }

    fn locate(&self, begin: &Base<'_>, path: &[u8]) -> io::Result<Spot> {
        let path = self.as_seen_from_here(path);
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let cut = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, name) = path.split_at(cut);
        let bare = end.saturating_sub(cut);
        if matches!(&name[..bare], b"" | b"." | b"..") {
            // No name that can be made.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let folder = if above.first() == Some(&b'/') {
            open_folder(above)?
        } else {
            match begin {
                Base::Folder(folder) => {
                    let above = if above.is_empty() { b".".as_slice() } else { above };
                    openat(*folder, OsStr::from_bytes(above), FOLDER, Mode::empty())?
                }
                Base::Caller(number) => self.folder(*number, above)?,
            }
        };
        self.checked(())?;
        Ok(Spot { folder, name: name.to_vec(), bare })
    }

    /// A folder below its own, or below one that it has open.
    fn folder(&self, number: i32, below: &[u8]) -> io::Result<OwnedFd> {
        let base = match number {
            libc::AT_FDCWD => format!("/proc/{}/cwd/", self.thread),
            number => format!("/proc/{}/fd/{number}/", self.thread),
        };
        if base.len() + below.len() < MAX_PATH {
            return open_folder(&[base.as_bytes(), below].concat());
        }
        let base = open_folder(base.as_bytes())?;
        Ok(openat(base, OsStr::from_bytes(below), FOLDER, Mode::empty())?)
    }

    /// What a path says about who asks, it would say about this process.
    fn as_seen_from_here<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let own = format!("/proc/{}", self.thread);
        for (name, here) in [("/proc/self", ""), ("/proc/thread-self", ""), ("/dev/fd", "/fd")] {
            if let Some(rest) = path.strip_prefix(name.as_bytes())
                && matches!(rest.first(), None | Some(b'/'))
            {
                return Cow::Owned([own.as_bytes(), here.as_bytes(), rest].concat());
            }
        }
        Cow::Borrowed(path)
    }
}

fn open_folder(path: &[u8]) -> io::Result<OwnedFd> {
    Ok(openat(CWD, OsStr::from_bytes(path), FOLDER, Mode::empty())?)
}

/// Where a folder is, as the kernel tells it.
pub(super) fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::with_capacity(USUAL_PATH))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}
