//! Changes modes, times and owners of files on the caller's behalf, in tiers where only this guard checks
//! them.
//!
//! Invariant: none of these calls continues in the kernel. The file that was judged is the file that changes,
//! through the same descriptor.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Stat, Timespec, Timestamps, UTIME_NOW, chmodat, chownat, fstat, utimensat,
};
use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use scorpiox_sys::linux::questions::{Answer, Question};
use scorpiox_sys::linux::reach;

use super::absent::Made;
use super::call::{Attributes, Call, Times, Which};
use super::caller::{Caller, Spot};
use super::opened::itself;
use super::places::Ruling;
use super::{Guard, failed};

const FLAGS: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::EMPTY_PATH);
/// Permitted bits of a mode. The set-user-ID and set-group-ID bits are dropped silently, as the kernel drops
/// the latter if the caller is not in the file's group.
const MODE_BITS: u32 = 0o1777;
#[cfg(target_arch = "x86_64")]
const MICROSECONDS: std::ops::Range<i64> = 0..1_000_000;

impl Guard {
    pub(super) fn change(&mut self, caller: &Caller<'_>, which: Which, attributes: Attributes) -> Answer {
        let changed = self.try_change(caller, which, attributes);
        // No error may let the call continue.
        changed.unwrap_or_else(|error| Answer::Fail(error.raw_os_error().unwrap_or(libc::EACCES)))
    }

    fn try_change(
        &mut self,
        caller: &Caller<'_>,
        which: Which,
        attributes: Attributes,
    ) -> io::Result<Answer> {
        let file = find(caller, which)?;
        let found = fstat(&file)?;
        // In other tiers mounts and the kernel decide, as they do without a guard.
        let ruling =
            if self.places.is_shared_tree() { self.judge_open(caller, &file, &found)? } else { Ruling::Free };
        match ruling {
            Ruling::Free => {}
            Ruling::Protected(path) => return Ok(self.refuse(&path)),
            Ruling::Replaced(_, path) => return Ok(self.prevent_in_place(&path)),
            Ruling::Elsewhere | Ruling::Kept | Ruling::Closed => return Ok(failed(Errno::ACCESS)),
        }
        let done = match attributes {
            Attributes::Mode(mode) => set_mode(&file, &found, mode),
            Attributes::Times(times) => {
                utimensat(&file, "", &read_times(caller, times)?, AtFlags::EMPTY_PATH)
            }
            // Only the current owner is accepted: programs such as `tar` and `cp` set it explicitly when root
            // starts them.
            Attributes::Owner(user, group) => {
                let (own_user, own_group) = (getuid(), getgid());
                if is_own(user, own_user.as_raw()) && is_own(group, own_group.as_raw()) {
                    let user = (user != u32::MAX).then_some(own_user);
                    let group = (group != u32::MAX).then_some(own_group);
                    chownat(&file, "", user, group, AtFlags::EMPTY_PATH)
                } else {
                    Err(Errno::PERM)
                }
            }
        };
        Ok(done.map_or_else(failed, |()| Answer::Done))
    }

    /// Rules on an open file by its identity and location; how the caller obtained it does not matter.
    fn judge_open(&self, caller: &Caller<'_>, file: &OwnedFd, found: &Stat) -> io::Result<Ruling> {
        let identity = reach::identity(found);
        // The rule holds for every name of the file, and without one.
        if !self.places.may_change(identity) {
            return Ok(Ruling::Closed);
        }
        if self.places.is_root(identity) {
            return Ok(Ruling::Free);
        }
        let Some(spot) = place(caller, file, found)? else { return Ok(Ruling::Closed) };
        let what = match kind(found) {
            FileType::Directory => Made::Folder,
            other => Made::of(other),
        };
        self.places.judge_attributes(&spot, what)
    }
}

/// Changes the mode of a file on the caller's behalf, for a command without a guard: mounts and the kernel
/// decide whether this is permitted. Returns `None` for any other call.
pub fn change_mode(question: &Question, waits: &dyn Fn() -> bool) -> Option<Answer> {
    let Some(Call::Change { which, attributes: Attributes::Mode(mode) }) = Call::of(question) else {
        return None;
    };
    let file = find(&Caller::new(question.thread, waits), which);
    let done = file.and_then(|file| Ok(set_mode(&file, &fstat(&file)?, mode)?));
    Some(
        done.map_or_else(
            |error| Answer::Fail(error.raw_os_error().unwrap_or(libc::EACCES)),
            |()| Answer::Done,
        ),
    )
}

fn set_mode(file: &OwnedFd, found: &Stat, mode: u32) -> rustix::io::Result<()> {
    if kind(found).is_symlink() {
        return Err(Errno::OPNOTSUPP);
    }
    // A directory keeps its set-group-ID bit if the new mode has it, so that new files keep inheriting its
    // group.
    let kept = if kind(found).is_dir() { mode & found.st_mode & libc::S_ISGID } else { 0 };
    chmodat(CWD, itself(file), Mode::from_raw_mode(mode & MODE_BITS | kept), AtFlags::empty())
}

/// Opens the file of the call. All later steps use this descriptor.
fn find(caller: &Caller<'_>, which: Which) -> io::Result<OwnedFd> {
    match which {
        Which::Open(number) => caller.descriptor(number),
        Which::Path(at, flags) => {
            let flags = AtFlags::from_bits_retain(flags);
            if FLAGS.contains(flags) { caller.file(at, flags) } else { Err(Errno::INVAL.into()) }
        }
    }
}

/// Returns the location of an open file, or its former location if it was deleted. Returns `None` for files
/// without a path (pipes, memory files), and for those that may have other names than the known one.
fn place(caller: &Caller<'_>, file: &OwnedFd, found: &Stat) -> io::Result<Option<Spot>> {
    match caller.place_of(file)? {
        None if found.st_nlink == 0 => caller.former_place_of(file),
        place => Ok(place),
    }
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Returns `true` if an ID is that of this process, which equals the caller's, or the one that leaves the
/// owner unchanged.
fn is_own(number: u32, own: u32) -> bool {
    number == own || number == u32::MAX
}

fn read_times(caller: &Caller<'_>, times: Times) -> io::Result<Timestamps> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let [last_access, last_modification] = match times {
        Times::Nanoseconds(0) => [now; 2],
        Times::Nanoseconds(address) => {
            let [one, two, three, four] = numbers(caller, address)?;
            [Timespec { tv_sec: one, tv_nsec: two }, Timespec { tv_sec: three, tv_nsec: four }]
        }
        #[cfg(target_arch = "x86_64")]
        Times::Microseconds(0) | Times::Seconds(0) => [now; 2],
        #[cfg(target_arch = "x86_64")]
        Times::Microseconds(address) => {
            let [one, two, three, four] = numbers(caller, address)?;
            if ![two, four].iter().all(|part| MICROSECONDS.contains(part)) {
                return Err(Errno::INVAL.into());
            }
            [(one, two), (three, four)].map(|(tv_sec, part)| Timespec { tv_sec, tv_nsec: part * 1000 })
        }
        #[cfg(target_arch = "x86_64")]
        Times::Seconds(address) => {
            numbers::<2>(caller, address)?.map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 })
        }
    };
    Ok(Timestamps { last_access, last_modification })
}

/// Reads consecutive numbers from the caller's memory.
fn numbers<const COUNT: usize>(caller: &Caller<'_>, address: u64) -> io::Result<[i64; COUNT]> {
    let bytes = caller.bytes(address, COUNT * size_of::<i64>())?;
    let mut numbers = [0; COUNT];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = i64::from_ne_bytes(*bytes);
    }
    Ok(numbers)
}
