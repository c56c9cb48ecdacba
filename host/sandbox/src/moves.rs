//! Keeps directories in place while a command starts.
//!
//! The host scans directories before each command, and the helper mounts covers on the paths found. The scan
//! could miss a directory that another command moves meanwhile. All hosts and supervisors of a user therefore
//! share a lock file: a host announces that it *starts* a command, from before the scan until the command is
//! confined, and a supervisor announces that it *moves* an entry. Each announces first and then checks for
//! the other. The supervisor backs off and retries. The host waits for moves in progress, which do not read
//! the command's memory and take microseconds unless the file system stalls. Both name the [`Trees`]
//! concerned, so that commands in unrelated directories do not wait for each other.
//!
//! Invariant: nothing is moved in a tree of a command that starts. Starts do not exclude each other, nor do
//! moves.
//!
//! A supervisor *searches* in the same way when its command has ended, for protected names in folders
//! that the command moved out of the packages. Until the search is over, it also announces that something
//! *left* them. Any other command's supervisor thereby knows that a folder that it moves may hold such
//! names, too.
//!
//! A supervisor that has backed off for long *insists*: no further command starts until its move is done.
//! This is for fairness only, so a host that waits too long for it proceeds.
//!
//! Locks belong to an open file description and end with its last descriptor. The host passes its description
//! to the supervisor, so nothing moves in between, and a killed host or supervisor leaves no lock behind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::trees::{Tree, Trees};

/// Sections of the lock file. The first byte of a section is locked by every announcement of its kind; the
/// bytes of the trees follow. The file itself is empty.
const INSIST: i64 = 0;
const START: i64 = PART_BYTES;
const MOVE: i64 = 2 * PART_BYTES;
const LEFT: i64 = 3 * PART_BYTES;
const PART_BYTES: i64 = 1 << 60;
/// Maximum time that a start waits for moves: far more than any move takes that is not stuck.
const MAX_MOVE_TIME: Duration = Duration::from_secs(10);
/// Maximum time that a start waits for insisting supervisors.
const MAX_TURN_TIME: Duration = Duration::from_secs(10);
/// Interval between checks of the locks.
const PAUSE: Duration = Duration::from_micros(50);

/// Lock file, as opened for one command.
#[derive(Debug)]
pub struct Moves {
    file: OwnedFd,
    /// Trees that a start scans.
    seen: Trees,
    /// Trees in which the command can move entries.
    changed: Trees,
}

impl Moves {
    /// Creates the locks of a command that sees these trees. The `file` must be open for reading and writing
    /// and not be shared. The command may change the trees with `true`.
    pub fn new<'a>(file: File, areas: impl Iterator<Item = (&'a Path, bool)> + Clone) -> Self {
        let changed = areas.clone().filter(|(_, may_change)| *may_change);
        let seen = Trees::of(areas.map(|(path, _)| path));
        Self { file: file.into(), seen, changed: Trees::of(changed.map(|(path, _)| path)) }
    }

    /// Creates the locks of a command's supervisor from the host's descriptor ([`as_fd`](AsFd::as_fd)), which
    /// shares its locks, and the host's [`changed`](Self::changed) trees.
    pub fn of_descriptor(file: OwnedFd, changed: Trees) -> Self {
        Self { file, seen: Trees::default(), changed }
    }

    /// Returns the trees in which the command can move entries.
    pub(crate) fn changed(&self) -> &Trees {
        &self.changed
    }

    /// Returns the same locks with another descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        let (seen, changed) = (self.seen.clone(), self.changed.clone());
        Ok(Self { file: self.file.try_clone()?, seen, changed })
    }

    /// Announces a start: after this returns, nothing is moved in its trees until
    /// [`end_start`](Self::end_start).
    pub fn begin_start(&self) -> io::Result<()> {
        self.keep_in_place(&self.seen, MAX_TURN_TIME, MAX_MOVE_TIME)
    }

    /// Like [`begin_start`](Self::begin_start), for a search in the trees that the command could change.
    /// Waits at most for this `time`, twice.
    pub fn begin_search(&self, time: Duration) -> io::Result<()> {
        self.keep_in_place(&self.changed, time, time)
    }

    fn keep_in_place(&self, trees: &Trees, turn_time: Duration, move_time: Duration) -> io::Result<()> {
        let since = Instant::now();
        while self.is_with_others(INSIST, trees)? && since.elapsed() < turn_time {
            thread::sleep(PAUSE);
        }
        self.say(START, trees)?;
        let since = Instant::now();
        while self.is_with_others(MOVE, trees)? {
            if since.elapsed() >= move_time {
                self.end_start()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Withdraws the announcement when the command is completely confined, or the search is over.
    pub fn end_start(&self) -> io::Result<()> {
        self.unsay(START)
    }

    /// Announces a move; returns `false` and withdraws it if a command that scans these trees is starting.
    pub fn begin_move(&self) -> io::Result<bool> {
        self.say(MOVE, &self.changed)?;
        let starts = self.is_with_others(START, &self.changed);
        if !matches!(starts, Ok(false)) {
            self.end_move()?;
        }
        starts.map(|starts| !starts)
    }

    /// Withdraws the announcement of a move.
    pub fn end_move(&self) -> io::Result<()> {
        self.unsay(MOVE)
    }

    /// Announces that the command moves a folder out of the packages, until the last descriptor is closed.
    pub fn leave_packages(&self) -> io::Result<()> {
        self.say(LEFT, &self.changed)
    }

    /// Returns `true` if another command moved a folder out of the packages in these trees, and nothing has
    /// searched it yet.
    pub fn have_others_left(&self) -> io::Result<bool> {
        self.is_with_others(LEFT, &self.changed)
    }

    /// Holds back further starts in these trees, or allows them again.
    pub fn insist(&self, insists: bool) -> io::Result<()> {
        if insists { self.say(INSIST, &self.changed) } else { self.unsay(INSIST) }
    }

    /// Locks the bytes of an announcement. Other processes may see a part of it until this returns, so the
    /// caller checks for them afterwards.
    fn say(&self, part: i64, trees: &Trees) -> io::Result<()> {
        let own = trees.roots().map(|tree| part + byte_of(tree));
        let above = trees.above().map(|tree| part + byte_of(tree) + 1);
        let mut bytes = [part].into_iter().chain(own).chain(above);
        let said = bytes.try_for_each(|byte| self.set(about(byte, 1, libc::F_RDLCK)));
        if said.is_err() {
            self.unsay(part)?;
        }
        said
    }

    fn unsay(&self, part: i64) -> io::Result<()> {
        self.set(about(part, PART_BYTES, libc::F_UNLCK))
    }

    /// Returns `true` if another process announced this for one of the trees, for a parent, or for a tree
    /// below.
    fn is_with_others(&self, part: i64, trees: &Trees) -> io::Result<bool> {
        if !self.is_locked(about(part, 1, libc::F_WRLCK))? {
            return Ok(false);
        }
        for tree in trees.roots() {
            if self.is_locked(about(part + byte_of(tree), 2, libc::F_WRLCK))? {
                return Ok(true);
            }
        }
        for tree in trees.above() {
            if self.is_locked(about(part + byte_of(tree), 1, libc::F_WRLCK))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn set(&self, lock: libc::flock) -> io::Result<()> {
        fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock))?;
        Ok(())
    }

    fn is_locked(&self, mut lock: libc::flock) -> io::Result<bool> {
        fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK)
    }
}

impl AsFd for Moves {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the byte of a tree in each section. The byte itself is locked for the tree, and the next one for
/// each tree below.
fn byte_of(tree: Tree) -> i64 {
    2 + 2 * i64::from(tree)
}

/// Returns a lock of some bytes for the system call.
fn about(byte: i64, length: i64, kind: libc::c_int) -> libc::flock {
    libc::flock {
        // The lock kinds are single-digit numbers.
        l_type: libc::c_short::try_from(kind).unwrap_or_default(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: byte,
        l_len: length,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;
    use crate::trees::ALL;

    /// Returns the locks of a command that sees and may change a single tree.
    fn opened(path: &Path) -> Moves {
        of(path, Trees::by_numbers(&[7], &[1]), Trees::by_numbers(&[7], &[1]))
    }

    fn of(path: &Path, seen: Trees, changed: Trees) -> Moves {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        Moves { file: file.expect("a file").into(), seen, changed }
    }

    #[test]
    fn commands_that_share_no_folder_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let locks = folder.path().join("locks");
        // A workspace (20) in a directory (10) of the root (1), and tools (11).
        let seen = Trees::by_numbers(&[20, 11], &[10, 1, ALL]);
        let start = of(&locks, seen.clone(), Trees::by_numbers(&[20], &[10, 1, ALL]));
        let elsewhere = [Trees::by_numbers(&[21], &[10, 1, ALL]), Trees::by_numbers(&[], &[])];
        let shared = [
            Trees::by_numbers(&[20], &[10, 1, ALL]),
            Trees::by_numbers(&[11], &[1, ALL]),
            Trees::by_numbers(&[21, 11], &[10, 1, ALL]),
            Trees::by_numbers(&[10], &[1, ALL]),
            Trees::by_numbers(&[30], &[20, 10, 1, ALL]),
            Trees::by_numbers(&[ALL], &[ALL]),
        ];
        start.begin_start().expect("a lock");
        for (trees, may_move) in
            elsewhere.iter().map(|trees| (trees, true)).chain(shared.iter().map(|trees| (trees, false)))
        {
            let mover = of(&locks, seen.clone(), trees.clone());
            assert_eq!(mover.begin_move().expect("a lock"), may_move, "{trees:?}");
            mover.end_move().expect("a lock");
        }
        start.end_start().expect("a lock");
        for (trees, waits) in
            elsewhere.iter().map(|trees| (trees, false)).chain(shared.iter().map(|trees| (trees, true)))
        {
            let mover = of(&locks, Trees::default(), trees.clone());
            assert!(mover.begin_move().expect("a lock"), "nobody starts");
            mover.insist(true).expect("a lock");
            assert_eq!(start.is_with_others(MOVE, &seen).expect("a lock"), waits, "{trees:?}");
            assert_eq!(start.is_with_others(INSIST, &seen).expect("a lock"), waits, "{trees:?}");
        }
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
        // A passed descriptor shares the locks of the original.
        let handed = second.try_clone().expect("a descriptor");
        drop(second);
        assert!(!mover.begin_move().expect("a lock"));
        handed.end_start().expect("a lock");
        assert!(mover.begin_move().expect("a lock"));
        assert!(other.begin_move().expect("a lock"), "moves do not exclude each other");
    }

    #[test]
    fn nothing_moves_while_somebody_searches_and_a_search_does_not_wait_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("locks");
        let trees = || Trees::by_numbers(&[7], &[1]);
        let supervisor = || of(&path, Trees::default(), trees());
        let (search, mover) = (supervisor(), supervisor());
        let elsewhere = of(&path, Trees::default(), Trees::by_numbers(&[8], &[1]));
        assert!(mover.begin_move().expect("a lock"));
        let timed_out = search.begin_search(PAUSE).expect_err("something moves").kind();
        assert_eq!(timed_out, io::ErrorKind::TimedOut);
        mover.end_move().expect("a lock");
        search.begin_search(PAUSE).expect("nothing moves");
        assert!(!mover.begin_move().expect("a lock") && elsewhere.begin_move().expect("a lock"));
        search.end_start().expect("a lock");
        assert!(mover.begin_move().expect("a lock"));
    }

    #[test]
    fn others_know_that_something_left_the_packages() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("locks");
        let supervisor = |tree| of(&path, Trees::default(), Trees::by_numbers(&[tree], &[1]));
        let (first, second, elsewhere) = (supervisor(7), supervisor(7), supervisor(8));
        assert!(!second.have_others_left().expect("a lock"));
        first.leave_packages().expect("a lock");
        assert!(!first.have_others_left().expect("a lock"), "it is no other");
        assert!(second.have_others_left().expect("a lock"));
        assert!(!elsewhere.have_others_left().expect("a lock"));
        assert!(second.begin_move().expect("a lock"), "it may move");
        first.end_start().and_then(|()| first.end_move()).expect("a lock");
        assert!(second.have_others_left().expect("a lock"));
        drop(first);
        assert!(!second.have_others_left().expect("a lock"));
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
                // Long enough for a start that does not wait.
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
                        // A supervisor insists after a while.
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

    /// Ends the other thread, even if this one panics.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}
