//! Performs permitted operations on the caller's behalf: with the directory and the name that were judged,
//! whatever the caller's memory contains meanwhile.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fstat, linkat, mkdirat, mknodat, openat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use scorpiox_git::SIGNS;
use scorpiox_sys::linux::questions::Answer;
use scorpiox_sys::linux::reach;

use super::absent::{Made, folded};
use super::call::{At, What};
use super::caller::{Beyond, Caller, Spot, path_of};
use super::places::Ruling;
use super::unpacked::Kind;
use super::{Guard, failed, identity_of};

const RENAME_FLAGS: RenameFlags = RenameFlags::NOREPLACE.union(RenameFlags::EXCHANGE);
const LINK_FLAGS: AtFlags = AtFlags::SYMLINK_FOLLOW.union(AtFlags::EMPTY_PATH);
/// Maximum length of the address of a socket with a path.
const MAX_ADDRESS: u64 = 110;

impl Guard {
    pub(super) fn make(&mut self, caller: &Caller<'_>, at: At, what: What) -> io::Result<Answer> {
        let spot = caller.spot(at)?;
        let made = match what {
            What::Node { mode } => Made::of(kind(mode)),
            What::Folder { .. } => Made::Folder,
            What::Symlink { .. } => Made::Other,
        };
        // Before anything is judged: these can take as long as the command likes. The caller's memory is read once.
        let text = if let What::Symlink { text } = what {
            caller.text(text)?
        } else {
            self.umasks.take(caller)?;
            Vec::new()
        };
        let (ruling, judged) = self.places.judge_new(&spot, made)?;
        if what.is_socket() && matches!(ruling, Ruling::Elsewhere | Ruling::Kept) {
            return Ok(failed(Errno::ACCESS));
        }
        if let Some(answer) = self.ruled_out(ruling) {
            return Ok(answer);
        }
        if what.leads_away() && !is_probe_of_git(&spot, &text) && !self.places.may_take_link(&spot)? {
            return self.refuse_at(&spot);
        }
        let done = match what {
            What::Folder { mode } => mkdirat(&spot.folder, spot.name(), Mode::from_raw_mode(mode)),
            What::Node { mode }
                if matches!(kind(mode), FileType::RegularFile | FileType::Fifo | FileType::Socket) =>
            {
                mknodat(&spot.folder, spot.name(), kind(mode), Mode::from_raw_mode(mode & 0o7777), 0)
            }
            // Commands lack the permission to create devices.
            What::Node { .. } => return Ok(Answer::Go),
            What::Symlink { .. } => symlinkat(OsStr::from_bytes(&text), &spot.folder, spot.name()),
        };
        if done.is_ok() {
            if let Some(refused) = self.taken_back(&spot, &judged, made) {
                return Ok(refused);
            }
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
        let (ruling, judged) = self.places.judge_new(spot, made)?;
        if let Some(answer) = self.ruled_out(ruling) {
            return Ok(answer);
        }
        // The kernel's path is not resolved again, since the command could replace a directory in it.
        if self.places.are_apart(&path_of(file)?, &path_of(&spot.folder)?) {
            return Ok(failed(Errno::XDEV));
        }
        if !self.may_link(caller, source, file)? {
            return Ok(Answer::Go);
        }
        if (kind.is_symlink() || kind.is_fifo()) && !self.places.may_take_link(spot)? {
            return self.refuse_at(spot);
        }
        let found;
        let place = match source {
            Source::Place(spot) => Some(spot),
            Source::OwnDescriptor | Source::Open => {
                found = caller.place_of(file)?;
                found.as_ref()
            }
        };
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let done = linkat(CWD, path, &spot.folder, spot.name(), AtFlags::SYMLINK_FOLLOW);
        if done.is_ok() {
            if let Some(refused) = self.taken_back(spot, &judged, made) {
                return Ok(refused);
            }
            self.places.made(spot, Kind::of(kind));
            // From now on, its content can change under the new name.
            if let Some(place) = place {
                self.places.changed(place);
            }
        }
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    /// Removes a new name if it came elsewhere than where it was judged, and may not be there. Returns the answer then.
    pub(super) fn taken_back(&mut self, spot: &Spot, judged: &Path, made: Made) -> Option<Answer> {
        // An unknown place is none where it may be.
        if !self.places.came_elsewhere(spot, judged, made).unwrap_or(true) {
            return None;
        }
        let flags = if made == Made::Folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        // Nothing else can be done if this fails; the result names what is there.
        let _ = unlinkat(&spot.folder, spot.bare(), flags);
        Some(self.refuse_at(spot).unwrap_or_else(|_| failed(Errno::ACCESS)))
    }

    /// Like [`Guard::refuse`], for a directory and a name.
    fn refuse_at(&mut self, spot: &Spot) -> io::Result<Answer> {
        Ok(self.refuse(&path_of(&spot.folder)?.join(spot.bare())))
    }

    /// Returns `true` if a file may get a second name, through which it could be changed. The file must not
    /// be protected. On a shared tree it must also lie where commands may write, or have no name yet.
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
        let mut replaced = None;
        let mut judged = Vec::new();
        let exchanges = flags.contains(RenameFlags::EXCHANGE);
        for (spot, gets_another, what) in [(to, true, from), (from, exchanges, to)] {
            let made = made_of(what)?;
            let (ruling, path) = self.places.judge_new(spot, made)?;
            if gets_another {
                judged.push((spot, path, made));
            }
            match ruling {
                Ruling::Elsewhere => elsewhere += 1,
                Ruling::Kept => return self.prevent_move(spot),
                Ruling::Protected(_) | Ruling::Replaced(..) if !gets_another => {}
                Ruling::Replaced(kind, _) => replaced = Some((kind, spot)),
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
        if self.places.are_apart(&path_of(&from.folder)?, &path_of(&to.folder)?) {
            return Ok(failed(Errno::XDEV));
        }
        let may_come = if exchanges { self.places.may_leave(to) } else { self.places.may_take(to) };
        if !self.places.may_leave(from)? {
            return self.prevent_move(from);
        }
        if !may_come? {
            return self.prevent_move(to);
        }
        if !self.places.may_take_moved(from, to)? {
            return self.refuse_at(to);
        }
        if exchanges && !self.places.may_take_moved(to, from)? {
            return self.refuse_at(from);
        }
        // Another command may move a part of the folder as soon as it is there.
        if self.places.leaves_packages(from, to)? || exchanges && self.places.leaves_packages(to, from)? {
            self.leave_packages()?;
        }
        if let Some((kind, spot)) = replaced {
            // An exchange gives such a name to the other file, too.
            return self.replace(kind, (from, spot), flags);
        }
        if let Err(error) = renameat_with(&from.folder, from.name(), &to.folder, to.name(), flags) {
            return Ok(failed(error));
        }
        let came_elsewhere = |(spot, path, made): &(&Spot, PathBuf, Made)| {
            self.places.came_elsewhere(spot, path, *made).unwrap_or(true)
        };
        let back = if exchanges { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        if judged.iter().any(came_elsewhere)
            && renameat_with(&to.folder, to.name(), &from.folder, from.name(), back).is_ok()
        {
            return self.refuse_at(to);
        }
        let both = [(from, to), (to, from)];
        for (from, to) in both.into_iter().take(if exchanges { 2 } else { 1 }) {
            // If it is unknown whether another command moved something, it did.
            let others_left =
                || self.moves.as_ref().is_some_and(|moves| moves.have_others_left().unwrap_or(true));
            if self.places.moved(from, to, others_left) {
                // The move is done, and the folder is searched in any case.
                let _ = self.leave_packages();
            }
        }
        Ok(Answer::Done)
    }

    /// Tells other commands that a folder leaves the packages.
    fn leave_packages(&mut self) -> io::Result<()> {
        if let (false, Some(moves)) = (self.has_left, &self.moves) {
            moves.leave_packages()?;
            self.has_left = true;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, caller: &Caller<'_>, at: At, flags: u32) -> io::Result<Answer> {
        let spot = caller.spot(at)?;
        if self.places.may_remove(&spot.folder)? {
            return Ok(Answer::Go);
        }
        match self.places.judge(&spot, Made::Other)? {
            // A name that must stay absent may be removed.
            Ruling::Free | Ruling::Protected(_) | Ruling::Replaced(..) if self.places.may_take(&spot)? => {}
            Ruling::Elsewhere => return Ok(Answer::Go),
            _ => return Ok(failed(Errno::ACCESS)),
        }
        let done = unlinkat(&spot.folder, spot.name(), AtFlags::from_bits_retain(flags));
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    /// The owner has to bind a socket itself, since the supervisor cannot do it on another process's behalf.
    /// A protected name that a race gives to a socket is removed when the command has ended.
    pub(super) fn bind(&mut self, caller: &Caller<'_>, address: u64, length: u64) -> io::Result<Answer> {
        self.sockets = true;
        let length = usize::try_from(length.min(MAX_ADDRESS)).unwrap_or_default();
        // The kernel may be able to read memory that this process cannot: without access for reading, or of a program
        // that its user may not read.
        let Ok(address) = caller.bytes(address, length) else { return Ok(failed(Errno::FAULT)) };
        let Some((family, path)) = address.split_first_chunk() else { return Ok(Answer::Go) };
        if i32::from(u16::from_ne_bytes(*family)) != libc::AF_UNIX || matches!(path.first(), None | Some(0)) {
            return Ok(Answer::Go);
        }
        let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
        let spot = caller.spot_of(&path[..end])?;
        match self.places.judge(&spot, Made::Other)? {
            // The guard does not see the socket appear, and it could be the last file that makes the
            // directory a repository.
            Ruling::Free if SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(&folded(spot.bare()))) => {
                self.refuse_at(&spot)
            }
            Ruling::Free => Ok(Answer::Go),
            Ruling::Kept => Ok(failed(Errno::ADDRINUSE)),
            ruling => Ok(self.ruled_out(ruling).unwrap_or(Answer::Go)),
        }
    }
}

/// Returns `true` for the link by which git finds out whether a new git directory can contain links, before it removes
/// the link. It leads to a name beside it.
fn is_probe_of_git(spot: &Spot, text: &[u8]) -> bool {
    const TEXT: &[u8] = b"testing";
    const RANDOM_BYTES: usize = 6;
    let random = spot.bare().as_bytes().strip_prefix(b"t");
    text == TEXT
        && random.is_some_and(|random| {
            random.len() == RANDOM_BYTES && random.iter().all(u8::is_ascii_alphanumeric)
        })
}

/// Hard link to create.
pub(super) struct Link {
    source: Source,
    file: OwnedFd,
    spot: Spot,
}

impl Link {
    /// Resolves the file and the path of the new name; returns the answer if that is not possible.
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

/// Kind of reference to the linked file.
enum Source {
    Place(Spot),
    OwnDescriptor,
    /// Open file of another process.
    Open,
}

/// Opens the file that gets the second name.
fn find_source(
    caller: &Caller<'_>,
    from: At,
    flags: AtFlags,
) -> io::Result<rustix::io::Result<(Source, OwnedFd)>> {
    if flags.contains(AtFlags::EMPTY_PATH) && caller.text(from.path)?.is_empty() {
        return Ok(Ok((Source::OwnDescriptor, caller.descriptor(from.folder)?)));
    }
    let mut spot = caller.spot(from)?;
    // With a trailing slash the path can only be a directory.
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

/// Returns `true` if `file` itself lies at this path, not the target of a link there.
fn is_at(spot: &Spot, file: &OwnedFd) -> io::Result<bool> {
    let found = statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(reach::identity(&found) == identity_of(file)?)
}

/// Returns the kind of what is moved to a path. Only the guard creates names, so the kind does not change
/// meanwhile.
fn made_of(spot: &Spot) -> io::Result<Made> {
    match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Made::of(FileType::from_raw_mode(found.st_mode))),
        // In this case nothing is moved.
        Err(Errno::NOENT) => Ok(Made::Other),
        Err(error) => Err(error.into()),
    }
}

/// Returns the file type of a mode; the default is a regular file.
fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        0 => FileType::RegularFile,
        _ => FileType::from_raw_mode(mode),
    }
}
