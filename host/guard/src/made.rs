//! What is allowed, done in the caller's place: by the folder that was judged and the name in it,
//! whatever the caller's memory says by now.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fstat, linkat, mkdirat, mknodat, openat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use scorpiox_gitdirs::SIGNS;
use scorpiox_kernel::reach;
use scorpiox_kernel::sys::Answer;

use super::absent::{Made, folded};
use super::call::{At, What};
use super::caller::{Beyond, Caller, Spot, path_of};
use super::places::Ruling;
use super::unpacked::Kind;
use super::{Guard, failed, identity_of};

/// The shell's own, until a process of the command sets another one.
const USUAL_UMASK: u32 = 0o022;
const RENAME_FLAGS: RenameFlags = RenameFlags::NOREPLACE.union(RenameFlags::EXCHANGE);
const LINK_FLAGS: AtFlags = AtFlags::SYMLINK_FOLLOW.union(AtFlags::EMPTY_PATH);
/// Longest address of a socket that has a path.
const MAX_ADDRESS: u64 = 110;

/// Which bits the callers take away from the mode of what they make.
#[derive(Debug, Default)]
pub(super) struct Umask {
    differs: bool,
    set: Option<u32>,
}

impl Umask {
    /// A process of the command sets one: each has to be asked from now on.
    pub(super) fn may_differ(&mut self) {
        self.differs = true;
    }

    /// Makes the caller's this process's.
    pub(super) fn take(&mut self, caller: &Caller<'_>) -> io::Result<()> {
        let wanted = if self.differs { caller.umask()? } else { USUAL_UMASK };
        if self.set != Some(wanted) {
            rustix::process::umask(Mode::from_raw_mode(wanted));
            self.set = Some(wanted);
        }
        Ok(())
    }
}

impl Guard {
    pub(super) fn make(&mut self, caller: &Caller<'_>, at: At, what: What) -> io::Result<Answer> {
        let spot = caller.spot(at)?;
        let made = match what {
            What::Node { mode } => Made::of(kind(mode)),
            What::Folder { .. } => Made::Folder,
            What::Symlink { .. } => Made::Other,
        };
        let ruling = self.places.judge(&spot, made)?;
        if what.is_socket() && matches!(ruling, Ruling::Elsewhere | Ruling::Kept) {
            return Ok(failed(Errno::ACCESS));
        }
        if let Some(answer) = self.ruled_out(ruling) {
            return Ok(answer);
        }
        if matches!(what, What::Symlink { .. }) && !self.places.may_take_links(&spot.folder)? {
            return self.refuse_at(&spot);
        }
        let done = match what {
            What::Folder { mode } => {
                self.umask.take(caller)?;
                mkdirat(&spot.folder, spot.name(), Mode::from_raw_mode(mode))
            }
            What::Node { mode }
                if matches!(kind(mode), FileType::RegularFile | FileType::Fifo | FileType::Socket) =>
            {
                self.umask.take(caller)?;
                mknodat(&spot.folder, spot.name(), kind(mode), Mode::from_raw_mode(mode & 0o7777), 0)
            }
            // A device, which no command has the rights to make.
            What::Node { .. } => return Ok(Answer::Go),
            What::Symlink { text } => {
                symlinkat(OsStr::from_bytes(&caller.text(text)?), &spot.folder, spot.name())
            }
        };
        if done.is_ok() {
            let kind = match what {
                What::Folder { .. } => Kind::Folder,
                What::Symlink { .. } => Kind::Link,
                What::Node { .. } => Kind::Other,
            };
            self.places.made(&spot, kind);
        }
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    pub(super) fn link(&mut self, caller: &Caller<'_>, link: &Link) -> io::Result<Answer> {
        let Link { source, file, spot } = link;
        let kind = FileType::from_raw_mode(fstat(file)?.st_mode);
        let made = Made::of(kind);
        let ruling = self.places.judge(spot, made)?;
        if let Some(answer) = self.ruled_out(ruling) {
            return Ok(answer);
        }
        if !self.may_link(caller, source, file)? {
            return Ok(Answer::Go);
        }
        if kind.is_symlink() && !self.places.may_take_links(&spot.folder)? {
            return self.refuse_at(spot);
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let done = linkat(CWD, path, &spot.folder, spot.name(), AtFlags::SYMLINK_FOLLOW);
        if done.is_ok() {
            self.places.made(spot, Kind::of(kind));
        }
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    /// As [`Guard::refuse`].
    fn refuse_at(&mut self, spot: &Spot) -> io::Result<Answer> {
        Ok(self.refuse(&path_of(&spot.folder)?.join(spot.bare())))
    }

    /// Whether a file may get a second name, by which it could be changed. It must not be what stays as it
    /// is; without mounts it must lie where commands may write, or nowhere yet.
    fn may_link(&self, caller: &Caller<'_>, source: &Source, file: &OwnedFd) -> io::Result<bool> {
        if !self.places.may_change(identity_of(file)?) {
            return Ok(false);
        }
        let is_shared = self.places.is_shared_tree();
        let may_change = |spot: &Spot| match self.places.judge_change(spot)? {
            Ruling::Free => Ok::<_, io::Error>(true),
            ruling => Ok(!is_shared && matches!(ruling, Ruling::Elsewhere)),
        };
        match source {
            Source::Place(spot) => Ok(may_change(spot)? && (!is_shared || is_at(spot, file)?)),
            Source::OwnDescriptor if fstat(file)?.st_nlink == 0 => Ok(true),
            Source::OwnDescriptor | Source::Open if is_shared => Ok(false),
            Source::OwnDescriptor | Source::Open => {
                caller.place_of(file)?.map_or(Ok(false), |spot| may_change(&spot))
            }
        }
    }

    pub(super) fn rename(&mut self, from: &Spot, to: &Spot, flags: u32) -> io::Result<Answer> {
        let flags = RenameFlags::from_bits_retain(flags);
        if !RENAME_FLAGS.contains(flags) {
            return Ok(failed(Errno::INVAL));
        }
        let mut elsewhere = 0;
        let exchanges = flags.contains(RenameFlags::EXCHANGE);
        for (spot, gets_another, what) in [(to, true, from), (from, exchanges, to)] {
            match self.places.judge(spot, made_of(what)?)? {
                Ruling::Elsewhere => elsewhere += 1,
                Ruling::Kept => return Ok(failed(Errno::ACCESS)),
                Ruling::Protected(_) if !gets_another => {}
                ruling => {
                    if let Some(answer) = self.ruled_out(ruling) {
                        return Ok(answer);
                    }
                }
            }
        }
        if elsewhere == 2 || elsewhere > 0 && self.places.is_shared_tree() {
            return Ok(Answer::Go);
        }
        let may_come = if exchanges { self.places.may_leave(to) } else { self.places.may_take(to) };
        if !self.places.may_leave(from)? || !may_come? {
            return Ok(failed(Errno::ACCESS));
        }
        if !self.places.may_take_moved(from, to)? {
            return self.refuse_at(to);
        }
        if exchanges && !self.places.may_take_moved(to, from)? {
            return self.refuse_at(from);
        }
        if let Err(error) = renameat_with(&from.folder, from.name(), &to.folder, to.name(), flags) {
            return Ok(failed(error));
        }
        self.places.moved(from, to);
        if exchanges {
            self.places.moved(to, from);
        }
        Ok(Answer::Done)
    }

    pub(super) fn remove(&mut self, caller: &Caller<'_>, at: At, flags: u32) -> io::Result<Answer> {
        let spot = caller.spot(at)?;
        if self.places.may_remove(&spot.folder)? {
            return Ok(Answer::Go);
        }
        match self.places.judge(&spot, Made::Other)? {
            // A name that must be absent may well be taken away.
            Ruling::Free | Ruling::Protected(_) if self.places.may_take(&spot)? => {}
            Ruling::Elsewhere => return Ok(Answer::Go),
            _ => return Ok(failed(Errno::ACCESS)),
        }
        let done = unlinkat(&spot.folder, spot.name(), AtFlags::from_bits_retain(flags));
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    /// A socket cannot be taken from its owner to be bound, so the owner does it. A name that it
    /// gets by a race is taken away in the end.
    pub(super) fn bind(&mut self, caller: &Caller<'_>, address: u64, length: u64) -> io::Result<Answer> {
        self.sockets = true;
        let length = usize::try_from(length.min(MAX_ADDRESS)).unwrap_or_default();
        let address = caller.bytes(address, length)?;
        let Some((family, path)) = address.split_first_chunk() else { return Ok(Answer::Go) };
        if i32::from(u16::from_ne_bytes(*family)) != libc::AF_UNIX || matches!(path.first(), None | Some(0)) {
            return Ok(Answer::Go);
        }
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let spot = caller.spot_of(&path[..end])?;
        match self.places.judge(&spot, Made::Other)? {
            // Nobody is told when it is there, and it may be the last sign of a repository.
            Ruling::Free if SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(&folded(spot.bare()))) => {
                self.refuse_at(&spot)
            }
            Ruling::Free => Ok(Answer::Go),
            Ruling::Kept => Ok(failed(Errno::ADDRINUSE)),
            ruling => Ok(self.ruled_out(ruling).unwrap_or(Answer::Go)),
        }
    }
}

/// A second name of a file that is asked for.
pub(super) struct Link {
    source: Source,
    file: OwnedFd,
    spot: Spot,
}

impl Link {
    /// Finds the file and the place of the name, or the answer where that cannot be.
    pub(super) fn find(
        caller: &Caller<'_>,
        from: At,
        to: At,
        flags: u32,
    ) -> io::Result<std::result::Result<Self, Answer>> {
        let flags = AtFlags::from_bits_retain(flags);
        if !LINK_FLAGS.contains(flags) {
            return Ok(Err(failed(Errno::INVAL)));
        }
        let spot = caller.spot(to)?;
        let found = find_source(caller, from, flags)?;
        Ok(found.map(|(source, file)| Self { source, file, spot }).map_err(failed))
    }
}

/// How a file was named that gets a second name.
enum Source {
    Place(Spot),
    OwnDescriptor,
    /// What another process has open.
    Open,
}

/// The file that gets a second name.
fn find_source(
    caller: &Caller<'_>,
    from: At,
    flags: AtFlags,
) -> io::Result<rustix::io::Result<(Source, OwnedFd)>> {
    if flags.contains(AtFlags::EMPTY_PATH) && caller.text(from.path)?.is_empty() {
        return Ok(Ok((Source::OwnDescriptor, caller.descriptor(from.folder)?)));
    }
    let mut spot = caller.spot(from)?;
    // With a slash behind it, it is a folder or nothing.
    while flags.contains(AtFlags::SYMLINK_FOLLOW) && !spot.has_slash() {
        spot = match caller.beyond(&spot)? {
            Beyond::Nothing => return Ok(Err(Errno::NOENT)),
            Beyond::Itself => break,
            Beyond::Link(next) => next,
            Beyond::Open(file) if caller.is_own_descriptor(&spot)? => {
                return Ok(Ok((Source::OwnDescriptor, file)));
            }
            Beyond::Open(file) => return Ok(Ok((Source::Open, file))),
        };
    }
    let asked = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(&spot.folder, spot.name(), asked, Mode::empty());
    Ok(file.map(|file| (Source::Place(spot), file)))
}

/// Whether that is what lies there, and not what a link there leads to.
fn is_at(spot: &Spot, file: &OwnedFd) -> io::Result<bool> {
    let found = statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(reach::identity(&found) == identity_of(file)?)
}

/// What comes to a place when another thing is moved there. Only the guard makes names, so it stays so.
fn made_of(spot: &Spot) -> io::Result<Made> {
    match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Made::of(FileType::from_raw_mode(found.st_mode))),
        // Then nothing is moved.
        Err(Errno::NOENT) => Ok(Made::Other),
        Err(error) => Err(error.into()),
    }
}

/// What is to be made, which is a file where nothing is said.
fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        0 => FileType::RegularFile,
        _ => FileType::from_raw_mode(mode),
    }
}
