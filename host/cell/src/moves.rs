//! Keeps folders where they are while a command starts.
//!
//! The host looks through folders before each command, and the helper puts mounts on what it found. A folder that
//! another command moves meanwhile could be missed. So all hosts and supervisors of a user share a file of locks: a
//! host says that it *starts* a command, from before it looks until the command is confined, and a supervisor
//! says that it *moves* something. Each says so first and then looks for the other. The supervisor gives way and
//! tries again; the host waits for moves that have begun, which read nothing of the
//! command's memory meanwhile and take microseconds.
//!
//! Invariant: nothing is moved while somebody starts. Starts do not exclude each other, nor do moves.
//!
//! A supervisor that gave way for long *insists*: then no more commands start until it was let through. That is for
//! fairness alone, so whoever waits for it too long goes on.
//!
//! Locks belong to an open file description and end with its last descriptor. The host hands its own on to the
//! supervisor, so that nothing moves between the two, and what either is killed by leaves nothing locked.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Bytes of the file that stand for something; the file is empty.
const INSIST: i64 = 0;
const START: i64 = 1;
const MOVE: i64 = 2;
/// Longest time that a start waits for moves: far more than any takes that is not stuck.
const MAX_MOVE_TIME: Duration = Duration::from_secs(10);
/// Longest time that it lets others go first.
const MAX_TURN_TIME: Duration = Duration::from_secs(10);
/// Between two looks at what others do.
const PAUSE: Duration = Duration::from_micros(50);

/// The file of locks, as one command has it open.
#[derive(Debug)]
pub struct Moves(OwnedFd);

/// The kind of lock of a byte.
#[derive(Debug, Clone, Copy)]
enum Lock {
    Shared,
    None,
}

impl Moves {
    /// The locks in a file that is open for reading and writing, and nobody else's.
    pub fn new(file: File) -> Self {
        Self(file.into())
    }

    /// A descriptor that came from [`as_fd`](AsFd::as_fd) of another one, which has the same locks.
    pub fn of_descriptor(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// The same locks by another descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Begins a start: when this returns nothing is moved until [`end_start`](Self::end_start).
    pub fn begin_start(&self) -> io::Result<()> {
        let since = Instant::now();
        while self.is_with_others(INSIST)? && since.elapsed() < MAX_TURN_TIME {
            thread::sleep(PAUSE);
        }
        self.set(START, Lock::Shared)?;
        let since = Instant::now();
        while self.is_with_others(MOVE)? {
            if since.elapsed() >= MAX_MOVE_TIME {
                self.set(START, Lock::None)?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Everything that confines the command is in place.
    pub fn end_start(&self) -> io::Result<()> {
        self.set(START, Lock::None)
    }

    /// Begins a move, unless somebody starts a command; whether it may be made.
    pub fn begin_move(&self) -> io::Result<bool> {
        self.set(MOVE, Lock::Shared)?;
        let starts = self.is_with_others(START);
        if !matches!(starts, Ok(false)) {
            self.end_move()?;
        }
        starts.map(|starts| !starts)
    }

    /// The move is over.
    pub fn end_move(&self) -> io::Result<()> {
        self.set(MOVE, Lock::None)
    }

    /// Has commands that are to start wait, or lets them go on.
    pub fn insist(&self, insists: bool) -> io::Result<()> {
        self.set(INSIST, if insists { Lock::Shared } else { Lock::None })
    }

    fn set(&self, byte: i64, lock: Lock) -> io::Result<()> {
        let kind = match lock {
            Lock::Shared => libc::F_RDLCK,
            Lock::None => libc::F_UNLCK,
        };
        fcntl(&self.0, FcntlArg::F_OFD_SETLK(&about(byte, kind)))?;
        Ok(())
    }

    fn is_with_others(&self, byte: i64) -> io::Result<bool> {
        let mut found = about(byte, libc::F_WRLCK);
        fcntl(&self.0, FcntlArg::F_OFD_GETLK(&mut found))?;
        Ok(libc::c_int::from(found.l_type) != libc::F_UNLCK)
    }
}

impl AsFd for Moves {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A lock of one byte, as the system call has it.
fn about(byte: i64, kind: libc::c_int) -> libc::flock {
    libc::flock {
        // The numbers of kinds are single digits.
        l_type: libc::c_short::try_from(kind).unwrap_or_default(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    fn opened(path: &Path) -> Moves {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        Moves::new(file.expect("a file"))
    }

    #[test]
    fn nothing_moves_while_somebody_starts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("locks");
        let (first, second, mover, other) = (opened(&path), opened(&path), opened(&path), opened(&path));
        first.begin_start().expect("a lock");
        second.begin_start().expect("starts do not exclude each other");
        assert!(!mover.begin_move().expect("a lock"));
        drop(first);
        assert!(!mover.begin_move().expect("a lock"), "the second still starts");
        // What was handed on is what was opened.
        let handed = second.try_clone().expect("a descriptor");
        drop(second);
        assert!(!mover.begin_move().expect("a lock"));
        handed.end_start().expect("a lock");
        assert!(mover.begin_move().expect("a lock"));
        assert!(other.begin_move().expect("a lock"), "moves do not exclude each other");
    }

    #[test]
    fn a_start_waits_for_a_move_and_for_who_insists() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("locks");
        let (start, mover) = (opened(&path), opened(&path));
        for insists in [false, true] {
            let is_over = AtomicBool::new(false);
            if insists {
                mover.insist(true).expect("a lock");
            } else {
                assert!(mover.begin_move().expect("a lock"));
            }
            thread::scope(|scope| {
                let starting = scope.spawn(|| {
                    start.begin_start().expect("a lock");
                    is_over.load(Ordering::SeqCst)
                });
                // Long enough for one that does not wait.
                thread::sleep(10 * PAUSE);
                is_over.store(true, Ordering::SeqCst);
                mover.end_move().and_then(|()| mover.insist(false)).expect("a lock");
                assert!(starting.join().expect("no panic"), "it waited");
            });
            start.end_start().expect("a lock");
        }
    }

    #[test]
    fn who_moves_all_the_time_meets_no_start_and_both_get_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("locks");
        let (is_moving, is_over, moved) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
        let (rival, start) = (opened(&path), opened(&path));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut refused = 0_u32;
                while !is_over.load(Ordering::SeqCst) {
                    if rival.begin_move().expect("a lock") {
                        is_moving.store(true, Ordering::SeqCst);
                        moved.fetch_add(1, Ordering::SeqCst);
                        is_moving.store(false, Ordering::SeqCst);
                        rival.end_move().expect("a lock");
                        rival.insist(false).expect("a lock");
                        refused = 0;
                    } else {
                        // As a supervisor does after a while.
                        refused += 1;
                        if refused == 100 {
                            rival.insist(true).expect("a lock");
                        }
                    }
                }
                rival.insist(false).expect("a lock");
            });
            let _over = Over(&is_over);
            let (begin, mut starts) = (Instant::now(), 0);
            while starts < 2000 || moved.load(Ordering::SeqCst) < 10 {
                assert!(begin.elapsed() < Duration::from_mins(1), "{starts} starts, {moved:?} moves");
                starts += 1;
                start.begin_start().expect("a lock");
                for _ in 0..20 {
                    assert!(!is_moving.load(Ordering::SeqCst));
                }
                start.end_start().expect("a lock");
            }
        });
    }

    /// Lets the other thread end, also where this one fails.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}
