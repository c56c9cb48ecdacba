//! Mediates file creation and modification for a sandboxed command.
//!
//! A path that does not exist yet cannot be protected by a mount. In directories that contain protected
//! names, Landlock therefore denies all creation, and the supervisor creates files on the command's behalf:
//! seccomp forwards the system call, `call` decodes it, `caller` resolves the path from the caller's point of
//! view, `places` applies the policy, and this crate performs the operation.
//!
//! Invariant: only the supervisor creates names in these directories. A call that continues in the kernel
//! could change its arguments after the check (they live in writable memory), but Landlock would still deny
//! it. A call continues only if it needs nothing beyond the Landlock grants. Sockets are the exception,
//! because their owner has to bind them: see `sockets`.
//!
//! The same applies to opening files for writing: a mount or a Landlock grant belongs to a file, not to the
//! name that protects it. Tier T2 has no mounts, so there it also applies to moving and removing entries of
//! directories that contain something protected, where Landlock can only grant all or nothing. In T2 no mount
//! controls changes of mode, times or owner either, and Landlock does not check them: see `changed`.
//!
//! The host specifies what is protected ([`CommandSpec`]). The helper installs the seccomp filter, builds the
//! Landlock rules with [`guarded_roots`], receives the seccomp notifications, and sends the answers that
//! [`Guard`] returns.

#![cfg(target_os = "linux")]

mod absent;
mod call;
mod caller;
mod came;
mod changed;
mod frozen;
mod made;
mod mounts;
mod old;
mod opened;
mod places;
mod replaced;
mod repositories;
mod shared_tree;
mod sockets;
mod times;
mod umask;
mod unpacked;

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use scorpiox_sandbox::{CellSpec, CommandSpec, Fault, Moves, Names, RawPath, Repository};
use scorpiox_sys::linux::questions::{Answer, Ask, Question};
use scorpiox_sys::linux::reach;
use scorpiox_sys::linux::shared_set::SharedSet;

use self::call::Call;
pub use self::call::{asks_about_modes, asks_about_new_modes, makes_set_id};
pub(super) use self::caller::{Caller, path_of};
pub use self::changed::change_mode;
use self::made::Link;
pub use self::opened::Pipe;
use self::places::{Places, Ruling};
pub use self::places::{guarded_roots, writable_roots};
use self::replaced::AllPrevented;
use self::repositories::Found;
use self::umask::Umasks;

/// Maximum number of reported paths of a kind, and their total size in bytes.
const MAX_TOLD: usize = 8;
const MAX_TOLD_BYTES: usize = 2500;
/// The same limits for repositories. Whether a repository starts programs is only known after it was reported, so
/// harmless ones must not displace the rest.
const MAX_TOLD_REPOSITORIES: usize = 4096;
const MAX_TOLD_REPOSITORY_BYTES: usize = 1024 * 1024;

/// Maximum time of the search for protected names when a command has ended, of each wait before, and of the judgement on
/// repositories. Nothing moves during the search.
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// Ratio of the interval between two looks to the time that one takes.
const LOOK_RATIO: u32 = 20;

/// Decision about a seccomp notification.
#[derive(Debug)]
pub enum Decision {
    /// The call is answered immediately.
    Now(Answer),
    /// The caller waits until a reader opens the pipe.
    Later(Pipe),
    /// The decision has to be retried later, because another command is starting.
    Again,
}

/// Decides about the names that a command creates.
#[derive(Debug)]
pub struct Guard {
    places: Places,
    umasks: Umasks,
    refused: Told,
    prevented: AllPrevented,
    /// Number of files that were put in the place of others.
    copies: u64,
    /// Maximum size of a file that the command writes, in bytes.
    file_size: u64,
    /// `true` if the command may have bound a socket itself.
    sockets: bool,
    /// Locks that keep moves apart from the starts of other commands.
    moves: Option<Moves>,
    /// `true` if other commands know that a folder left the packages.
    has_left: bool,
    /// Time of the next look at directories while the command runs.
    next_look: Option<Instant>,
}

impl Guard {
    /// Creates the guard of a command, or returns `None` if the command needs none.
    /// `by_commands` is shared by all commands of the cell.
    pub fn new(
        cell: &CellSpec,
        order: &CommandSpec,
        moves: Option<Moves>,
        by_commands: &Rc<SharedSet>,
    ) -> Result<Option<Self>, Fault> {
        let Some(places) = Places::new(cell, order, by_commands)? else { return Ok(None) };
        let file_size = order.limits.file_size;
        Ok(Some(Self {
            places,
            umasks: Umasks::default(),
            refused: Told::default(),
            prevented: AllPrevented::default(),
            copies: 0,
            file_size,
            sockets: false,
            moves,
            has_left: false,
            next_look: None,
        }))
    }

    /// Returns the system calls that seccomp has to forward to this guard.
    pub fn asks(&self) -> Vec<Ask> {
        let mut asks = if self.places.hold_names() {
            call::asks(self.places.keeps())
        } else {
            asks_about_new_modes().collect()
        };
        if self.places.is_shared_tree() {
            asks.extend(call::asks_about_attributes());
        } else {
            asks.extend(asks_about_modes());
        }
        asks
    }

    /// Decides about a notification; returns `None` if the call does not concern names. `waits` returns
    /// `true` while the caller is still blocked in the call.
    pub fn decide(&mut self, question: &Question, waits: &dyn Fn() -> bool) -> Option<Decision> {
        let call = Call::of(question).filter(|call| self.places.hold_names() || call.is_change())?;
        let caller = Caller::new(question.thread, waits);
        // If the arguments cannot be inspected, the call continues and fails in Landlock. Landlock permits
        // sockets, though, so that programs can bind them.
        let is_socket = matches!(call, Call::Make { what, .. } if what.is_socket());
        let otherwise = if is_socket { Answer::Fail(libc::EACCES) } else { Answer::Go };
        Some(match self.carry_out(&caller, call) {
            Ok(decision) => decision,
            // The parent directory may exist by the time that the kernel would resolve the path.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                Decision::Now(Answer::Fail(libc::ENOENT))
            }
            // The kernel could read an argument that nobody judged, from memory that is mapped only for writing.
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {
                Decision::Now(Answer::Fail(libc::EFAULT))
            }
            Err(_) => Decision::Now(otherwise),
        })
    }

    fn carry_out(&mut self, caller: &Caller<'_>, call: Call) -> io::Result<Decision> {
        let answer = match call {
            Call::Open(open) => return self.open(caller, open),
            Call::Truncate { at, length } => self.truncate(caller, at, length),
            Call::Make { at, what } => self.make(caller, at, what),
            // Both move an existing file to another path.
            Call::Link { from, to, flags } => {
                return match Link::find(caller, from, to, flags)? {
                    Ok(link) => self.while_nobody_starts(|guard| guard.link(caller, &link)),
                    Err(answer) => Ok(Decision::Now(answer)),
                };
            }
            Call::Rename { from, to, flags } => {
                let (from, to) = (caller.spot(from)?, caller.spot(to)?);
                return self.while_nobody_starts(|guard| guard.rename(&from, &to, flags));
            }
            Call::Remove { at, flags } => self.remove(caller, at, flags),
            Call::Bind { address, length } => self.bind(caller, address, length),
            Call::Change { which, attributes } => Ok(self.change(caller, which, attributes)),
            Call::Umask => {
                self.umasks.may_differ(caller);
                Ok(Answer::Go)
            }
        };
        answer.map(Decision::Now)
    }

    /// Performs a move, unless another command is starting: the scan for that command could miss the moved
    /// directory. `act` must not read the caller's memory, because the command could delay such a read.
    fn while_nobody_starts(
        &mut self,
        act: impl FnOnce(&mut Self) -> io::Result<Answer>,
    ) -> io::Result<Decision> {
        let may_begin = self.moves.as_ref().map_or(Ok(true), Moves::begin_move);
        match may_begin {
            Ok(true) => {}
            Ok(false) => return Ok(Decision::Again),
            // It is unknown whether another command is starting.
            Err(error) => {
                return Ok(Decision::Now(Answer::Fail(error.raw_os_error().unwrap_or(libc::EIO))));
            }
        }
        let answer = act(self);
        if let Some(moves) = &self.moves {
            moves.end_move()?;
        }
        answer.map(Decision::Now)
    }

    /// Gives waiting moves priority over the next start of a command, or withdraws that priority.
    pub fn insist_on_moves(&self, insists: bool) {
        // Only affects fairness: on failure the moves wait longer.
        let _ = self.moves.as_ref().map(|moves| moves.insist(insists));
    }

    /// Denies a name that must stay absent, and records it for the result.
    fn refuse(&mut self, path: &Path) -> Answer {
        self.refused.add(path);
        Answer::Fail(libc::EACCES)
    }

    /// Returns the answer that `ruling` alone determines, or `None` if the name may be created.
    fn ruled_out(&mut self, ruling: Ruling) -> Option<Answer> {
        match ruling {
            Ruling::Free => None,
            // Landlock lets no process change this path. If it is covered by a mount, the kernel returns the
            // proper error.
            Ruling::Elsewhere | Ruling::Kept => Some(Answer::Go),
            Ruling::Protected(path) => Some(self.refuse(&path)),
            Ruling::Replaced(_, path) => Some(self.prevent_in_place(&path)),
            Ruling::Closed => Some(Answer::Fail(libc::EACCES)),
        }
    }

    /// Searches while no other command moves anything: it could move a folder from where the search was
    /// not yet to where it already was. `search` gets the time until which nothing moves.
    fn while_nothing_moves<T>(&self, search: impl FnOnce(&Places, Instant) -> T) -> T {
        let moves = self.moves.as_ref().filter(|_| !self.places.is_untouched());
        let now = Instant::now();
        let until = match moves.map_or(Ok(()), |moves| moves.begin_search(SEARCH_TIME)) {
            Ok(()) => Instant::now() + SEARCH_TIME,
            // Something may move, so nothing is searched.
            Err(_) => now,
        };
        let found = search(&self.places, until);
        if let Some(moves) = moves {
            // The supervisor ends soon, and this announcement with it.
            let _ = moves.end_start();
        }
        found
    }

    /// Looks for traces that the command can remove before it ends. Takes a small part of the time.
    pub fn look(&mut self) {
        let begun = Instant::now();
        if self.next_look.is_none_or(|next| next <= begun) {
            self.places.look_for_others();
            self.next_look = Some(Instant::now() + LOOK_RATIO * begun.elapsed());
        }
    }

    /// Returns the protected names and repositories that the command left behind. Must be called after the
    /// last process of the command has ended.
    pub fn end(self) -> Names {
        if self.sockets {
            self.places.remove_sockets();
        }
        let unpacked = self.while_nothing_moves(Places::unpacked);
        let (unpacked, unpacked_others) = Told::of(unpacked, MAX_TOLD, MAX_TOLD_BYTES);
        let (repositories, repositories_others) =
            reported(self.places.repositories(Instant::now() + SEARCH_TIME));
        let (refused, refused_others) = self.refused.into_paths();
        let (prevented, prevented_others) = self.prevented.into_parts();
        Names {
            refused,
            refused_others,
            prevented,
            prevented_others,
            unpacked,
            unpacked_others,
            repositories,
            repositories_others,
            ..Names::default()
        }
    }
}

/// The first few of a set of paths, and the number of all others. They travel in one packet.
#[derive(Debug, Default)]
pub(super) struct Told {
    paths: Vec<PathBuf>,
    others: u32,
}

impl Told {
    /// Returns the first few of these paths, and the number of all others.
    fn of((paths, others): (Vec<PathBuf>, u32), most: usize, most_bytes: usize) -> (Vec<RawPath>, u32) {
        let mut told = Self::default();
        for path in &paths {
            told.add_within(path, most, most_bytes);
        }
        let untold = u32::try_from(paths.len() - told.paths.len()).unwrap_or(u32::MAX);
        told.others = others.saturating_add(untold);
        told.into_paths()
    }

    /// Adds a path. A path with a new name takes the place of one with a name that another one has: attempts with
    /// one name must not hide those with another.
    pub(super) fn add(&mut self, path: &Path) {
        if self.paths.iter().any(|known| known == path) || self.add_within(path, MAX_TOLD, MAX_TOLD_BYTES) {
            return;
        }
        self.others = self.others.saturating_add(1);
        let has_name = |known: &Path, of: &Path| known.file_name() == of.file_name();
        if self.paths.iter().any(|known| has_name(known, path)) {
            return;
        }
        let is_double = |at: &usize| self.paths[..*at].iter().any(|known| has_name(known, &self.paths[*at]));
        let Some(last) = (0..self.paths.len()).rev().find(is_double) else { return };
        let replaced = self.paths.remove(last);
        if !self.add_within(path, MAX_TOLD, MAX_TOLD_BYTES) {
            self.paths.insert(last, replaced);
        }
    }

    /// Adds a new path if there is room for it. Returns `true` if there was.
    fn add_within(&mut self, path: &Path, most: usize, most_bytes: usize) -> bool {
        let bytes: usize = self.paths.iter().map(|path| path.as_os_str().len()).sum();
        let has_room = self.paths.len() < most && bytes + path.as_os_str().len() < most_bytes;
        if has_room && !self.paths.iter().any(|known| known == path) {
            self.paths.push(path.to_owned());
        }
        has_room
    }

    pub(super) fn into_paths(self) -> (Vec<RawPath>, u32) {
        (self.paths.into_iter().map(RawPath::from).collect(), self.others)
    }
}

/// Returns the repositories to report, and the number of the others.
fn reported((found, others): (Vec<Found>, u32)) -> (Vec<Repository>, u32) {
    let (mut repositories, mut bytes, mut others) = (Vec::new(), 0, others);
    for Found { grounds, path, identity } in found {
        bytes += path.as_os_str().len();
        if repositories.len() < MAX_TOLD_REPOSITORIES && bytes < MAX_TOLD_REPOSITORY_BYTES {
            repositories.push(Repository { path: path.into(), identity, grounds });
        } else {
            others = others.saturating_add(1);
        }
    }
    (repositories, others)
}

/// Answers a call with the error of a system call.
fn failed(error: rustix::io::Errno) -> Answer {
    Answer::Fail(error.raw_os_error())
}

/// Returns the identity of an open file or directory.
fn identity_of(fd: &std::os::fd::OwnedFd) -> io::Result<reach::Identity> {
    Ok(reach::identity(&rustix::fs::fstat(fd)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_with_one_name_hide_no_other_name_and_are_counted() {
        let mut told = Told::default();
        for number in 0..20 {
            told.add(Path::new(&format!("/w/{number}/.git")));
        }
        told.add(Path::new("/w/0/.git"));
        told.add(Path::new("/w/.mcp.json"));
        told.add(Path::new("/w/a/.mcp.json"));
        let (paths, others) = told.into_paths();
        let paths: Vec<_> = paths.iter().map(|path| path.as_path().to_owned()).collect();
        assert!(paths.len() == MAX_TOLD && paths.contains(&PathBuf::from("/w/.mcp.json")), "{paths:?}");
        assert!(paths.contains(&PathBuf::from("/w/0/.git")));
        // Twelve did not fit, one gave up its place, and one more came with a known name.
        assert_eq!(others, 12 + 1 + 1);
    }
}
