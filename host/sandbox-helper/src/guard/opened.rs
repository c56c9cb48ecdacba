//! Opens files for writing on the caller's behalf, by name: a file that another process puts in the place of
//! a protected file is protected as well.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, fstat, ftruncate, openat};
use rustix::io::Errno;
use scorpiox_sys::linux::questions::{Answer, Given};
use scorpiox_sys::linux::reach;

use super::absent::Made;
use super::call::{At, Open};
use super::caller::{Beyond, Caller, Spot};
use super::places::Ruling;
use super::unpacked::Kind;
use super::{Decision, Guard, failed};

/// Maximum number of steps to a file that other processes keep creating, removing and replacing by links.
const MAX_STEPS: usize = 64;

/// Result of resolving a path to open.
enum Opened {
    /// Existing file, not yet truncated.
    File(OwnedFd),
    /// File that was created.
    New(OwnedFd, Spot),
    Pipe(Pipe),
    Answer(Answer),
}

impl Guard {
    pub(super) fn open(&mut self, caller: &Caller<'_>, open: Open) -> io::Result<Decision> {
        let flags = OFlags::from_bits_retain(open.flags);
        if flags.intersects(OFlags::CREATE | OFlags::TMPFILE) {
            // Before anything is judged: this can take as long as the command likes.
            self.umasks.take(caller)?;
        }
        if flags.contains(OFlags::TMPFILE) {
            return Ok(Decision::Now(self.open_nameless(caller, open, flags)?));
        }
        if flags.intersects(OFlags::PATH | OFlags::DIRECTORY) {
            return Ok(Decision::Now(Answer::Go));
        }
        Ok(match self.find_file(caller, open.at, flags, open.mode)? {
            Opened::File(file) => {
                let cut = flags.contains(OFlags::TRUNC) && may_write(flags);
                Decision::Now(Answer::File(Given { cut, ..given(file, flags) }))
            }
            Opened::New(file, spot) => {
                let name = spot.bare().to_owned();
                let made = Some((spot.folder, name));
                Decision::Now(Answer::File(Given { made, ..given(file, flags) }))
            }
            Opened::Pipe(pipe) => pipe.first_try(),
            Opened::Answer(answer) => Decision::Now(answer),
        })
    }

    /// Changes the length of the file at a path.
    pub(super) fn truncate(&mut self, caller: &Caller<'_>, at: At, length: u64) -> io::Result<Answer> {
        if length > self.file_size {
            return Ok(failed(Errno::FBIG));
        }
        Ok(match self.find_file(caller, at, OFlags::WRONLY | OFlags::NONBLOCK, 0)? {
            Opened::File(file) => ftruncate(&file, length).map_or_else(failed, |()| Answer::Done),
            Opened::Pipe(_) | Opened::New(..) => failed(Errno::INVAL),
            Opened::Answer(answer) => answer,
        })
    }

    /// Opens an unnamed file in a directory.
    fn open_nameless(&mut self, caller: &Caller<'_>, open: Open, flags: OFlags) -> io::Result<Answer> {
        let folder = caller.folder(open.at)?;
        let ruling = self.places.judge_folder(&folder)?;
        if let Some(answer) = self.ruled_out(ruling) {
            return Ok(answer);
        }
        let mode = Mode::from_raw_mode(open.mode & 0o7777);
        Ok(match openat(&folder, ".", flags | OFlags::CLOEXEC, mode) {
            Ok(file) => Answer::File(given(file, flags)),
            Err(error) => failed(error),
        })
    }

    /// Opens the file at a path, or creates it.
    fn find_file(&mut self, caller: &Caller<'_>, at: At, flags: OFlags, mode: u32) -> io::Result<Opened> {
        let (mut creates, exclusive) = (flags.contains(OFlags::CREATE), flags.contains(OFlags::EXCL));
        let follows = !flags.contains(OFlags::NOFOLLOW);
        let mut spot = caller.spot(at)?;
        for _ in 0..MAX_STEPS {
            if spot.has_slash() {
                break;
            }
            let (ruling, judged) = if creates {
                self.places.judge_new(&spot, Made::File)?
            } else {
                (self.places.judge_change(&spot)?, PathBuf::new())
            };
            if let Ruling::Replaced(_, path) = &ruling {
                return Ok(Opened::Answer(self.prevent_in_place(path)));
            }
            let is_here = matches!(ruling, Ruling::Free);
            if creates && exclusive && !is_here {
                // Something exists already, or must not be created.
                return Ok(Opened::Answer(self.ruled_out(ruling).unwrap_or(Answer::Go)));
            }
            if creates && !matches!(ruling, Ruling::Elsewhere) {
                if let Some(answer) = self.ruled_out(ruling) {
                    return Ok(Opened::Answer(answer));
                }
                match make_file(&spot, flags, mode) {
                    Err(Errno::EXIST) if !exclusive => {}
                    Err(error) => return Ok(Opened::Answer(failed(error))),
                    Ok(file) => {
                        if let Some(refused) = self.taken_back(&spot, &judged, Made::File) {
                            return Ok(Opened::Answer(refused));
                        }
                        self.places.made(&spot, Kind::Other);
                        return Ok(Opened::New(file, spot));
                    }
                }
            }
            spot = match caller.beyond(&spot)? {
                // The file disappeared, so it can be created after all.
                Beyond::Nothing if creates && is_here => continue,
                // The file may exist by the time that the kernel would resolve the path.
                Beyond::Nothing if is_here => return Ok(Opened::Answer(failed(Errno::NOENT))),
                Beyond::Itself if is_here => {
                    if creates && !matches!(self.places.judge_change(&spot)?, Ruling::Free) {
                        break;
                    }
                    match self.open_existing(&spot, flags)? {
                        Some(opened) => return Ok(opened),
                        None if creates => continue,
                        None => return Ok(Opened::Answer(failed(Errno::NOENT))),
                    }
                }
                Beyond::Link(next) if follows => next,
                Beyond::Open(file) if follows => {
                    // The open file is opened again; nothing is created in its place.
                    creates = false;
                    match caller.place_of(&file)? {
                        Some(place) => place,
                        None if caller.is_own_descriptor(&spot)? => return self.open_again(&file, flags),
                        None => break,
                    }
                }
                _ => break,
            };
        }
        Ok(Opened::Answer(Answer::Go))
    }

    /// Opens a regular file or a pipe; the caller opens other kinds itself. Returns `None` if the file has
    /// disappeared.
    fn open_existing(&self, spot: &Spot, flags: OFlags) -> io::Result<Option<Opened>> {
        let path = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&spot.folder, spot.bare(), path, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        };
        let stat = fstat(&file)?;
        // The file must be checked before any change.
        if !self.places.may_change(reach::identity(&stat)) {
            return Ok(Some(Opened::Answer(failed(Errno::ACCESS))));
        }
        self.places.changed(spot);
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => open_itself(&file, flags),
            FileType::Fifo => Opened::Pipe(Pipe { file, flags }),
            // The result of Landlock has precedence over the kind of file.
            FileType::Socket => Opened::Answer(failed(Errno::NXIO)),
            _ => Opened::Answer(Answer::Go),
        }))
    }

    /// Opens a file again that the caller has open and that was deleted.
    fn open_again(&self, file: &OwnedFd, flags: OFlags) -> io::Result<Opened> {
        let found = fstat(file)?;
        if found.st_nlink != 0
            || !FileType::from_raw_mode(found.st_mode).is_file()
            || !self.places.hold(file)?
        {
            return Ok(Opened::Answer(Answer::Go));
        }
        Ok(open_itself(file, flags))
    }
}

/// Named pipe to open for writing. Opening one blocks until there is a reader. The supervisor cannot block,
/// so it retries.
#[derive(Debug)]
pub struct Pipe {
    file: OwnedFd,
    flags: OFlags,
}

impl Pipe {
    fn first_try(self) -> Decision {
        match self.open() {
            Some(answer) => Decision::Now(answer),
            None => Decision::Later(self),
        }
    }

    /// Opens the pipe; returns `None` while there is no reader and the caller would block.
    pub fn open(&self) -> Option<Answer> {
        let opened = openat(CWD, itself(&self.file), asked(self.flags), Mode::empty());
        match opened.and_then(|file| may_wait(&file, self.flags).map(|()| file)) {
            Ok(file) => Some(Answer::File(given(file, self.flags))),
            Err(Errno::NXIO) if !self.flags.contains(OFlags::NONBLOCK) => None,
            Err(error) => Some(failed(error)),
        }
    }
}

/// Returns the flags to open an existing file without blocking.
fn asked(flags: OFlags) -> OFlags {
    let flags = flags.difference(OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW);
    flags | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn may_write(flags: OFlags) -> bool {
    flags.intersects(OFlags::WRONLY | OFlags::RDWR)
}

/// Makes the file blocking, if the caller requested that.
fn may_wait(file: &OwnedFd, flags: OFlags) -> rustix::io::Result<()> {
    if flags.contains(OFlags::NONBLOCK) { Ok(()) } else { fcntl_setfl(file, flags) }
}

/// Returns a path that leads to an open file.
pub(super) fn itself(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Reopens the file of a descriptor. Truncation is left to the caller that receives the file, except for a
/// read-only descriptor, which could not truncate it.
fn open_itself(file: &OwnedFd, flags: OFlags) -> Opened {
    let asked = if may_write(flags) { asked(flags).difference(OFlags::TRUNC) } else { asked(flags) };
    let opened = openat(CWD, itself(file), asked, Mode::empty());
    match opened.and_then(|file| may_wait(&file, flags).map(|()| file)) {
        Ok(file) => Opened::File(file),
        Err(error) => Opened::Answer(failed(error)),
    }
}

/// Creates a regular file that must not exist yet; follows no link.
fn make_file(spot: &Spot, flags: OFlags, mode: u32) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::EXCL | OFlags::CLOEXEC;
    openat(&spot.folder, spot.bare(), flags, Mode::from_raw_mode(mode & 0o7777))
}

fn given(file: OwnedFd, flags: OFlags) -> Given {
    Given { file, closes_on_exec: flags.contains(OFlags::CLOEXEC), cut: false, made: None }
}
