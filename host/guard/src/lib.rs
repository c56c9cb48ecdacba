//! Decides which names a command may make and which files it may change, and does it in the command's place.
//!
//! Nothing can be mounted where nothing is. So in folders that have protected names below them
//! Landlock lets a command make no names at all, and the supervisor makes them in its place: the
//! filter on system calls asks, `call` says what is asked for, `caller` finds the place as
//! who asks would, `places` judges it, and what is allowed is done here.
//!
//! Invariant: what the supervisor did not make is not made. A call that is let go on may be
//! another one by then, since its arguments lie in memory that others can write to; Landlock
//! stops it then. Only who asks for nothing special is let go on. The exception are sockets, which
//! get their names from their owners: see `sockets`.
//!
//! The same holds for opening files to change them: a mount, or what Landlock grants, belongs to a file, and
//! not to the name that protects it. In T2, which has no mounts, it holds for moving and removing, too, in
//! folders that have something protected in them, where Landlock grants all or nothing. And there no mount says
//! who may give a file another mode, other times or another owner, which Landlock does not look at: `changed`.
//!
//! The host says what is protected ([`CommandSpec`]). The helper makes the filter, makes the rules of Landlock with
//! [`guarded_roots`], receives the questions, and sends the answers that [`Guard`] gives.

#![cfg(target_os = "linux")]

mod absent;
mod call;
mod caller;
mod came;
mod changed;
mod frozen;
mod made;
mod mounts;
mod opened;
mod places;
mod repositories;
mod sockets;
mod unpacked;

use std::io;
use std::path::{Path, PathBuf};

use scorpiox_cell::{CellSpec, CommandSpec, Fault, Moves, Names, RawPath, Repository};
use scorpiox_kernel::reach;
use scorpiox_kernel::sys::{Answer, Ask, Question};

use self::call::Call;
pub use self::call::asks_about_modes;
use self::caller::Caller;
pub use self::changed::change_mode;
use self::made::{Link, Umask};
pub use self::opened::Pipe;
use self::places::{Places, Ruling};
pub use self::places::{guarded_roots, writable_roots};

/// Most paths of a kind that are told, and their bytes together.
const MAX_TOLD: usize = 8;
const MAX_TOLD_BYTES: usize = 2500;
/// The same of repositories: as many as are followed. Whether one starts programs is seen after they are told, so that a
/// few harmless ones must not stand for all.
const MAX_TOLD_REPOSITORIES: usize = 64;
const MAX_TOLD_REPOSITORY_BYTES: usize = 24 * 1024;

/// What comes of a question.
#[derive(Debug)]
pub enum Decision {
    /// It is answered.
    Now(Answer),
    /// Who asked waits until somebody reads from a pipe.
    Later(Pipe),
    /// It is to be decided again after a while: another command starts.
    Again,
}

/// What decides about names that a command makes.
#[derive(Debug)]
pub struct Guard {
    places: Places,
    umask: Umask,
    refused: Told,
    /// Longest file of the command.
    file_size: u64,
    /// Whether a socket may have been made, which the caller does by itself.
    sockets: bool,
    /// The locks that keep moves from the starts of other commands.
    moves: Option<Moves>,
}

impl Guard {
    /// The guard of a command; none where nothing needs one.
    pub fn new(cell: &CellSpec, order: &CommandSpec, moves: Option<Moves>) -> Result<Option<Self>, Fault> {
        let Some(places) = Places::new(cell, order)? else { return Ok(None) };
        let file_size = order.limits.file_size;
        Ok(Some(Self {
            places,
            umask: Umask::default(),
            refused: Told::default(),
            file_size,
            sockets: false,
            moves,
        }))
    }

    /// What it is to be asked about.
    pub fn asks(&self) -> Vec<Ask> {
        let mut asks = if self.places.hold_names() { call::asks(self.places.keeps()) } else { Vec::new() };
        if self.places.is_shared_tree() {
            asks.extend(call::asks_about_attributes());
        } else {
            asks.extend(asks_about_modes());
        }
        asks
    }

    /// The answer to a question; none where it is not about names. `waits` says whether who asked
    /// still does.
    pub fn decide(&mut self, question: &Question, waits: &dyn Fn() -> bool) -> Option<Decision> {
        let call = Call::of(question)?;
        let caller = Caller::new(question.thread, waits);
        // What cannot be looked at goes on to fail as it would: Landlock does not need to look. But it
        // lets sockets have names, for those that are bound.
        let is_socket = matches!(call, Call::Make { what, .. } if what.is_socket());
        let otherwise = if is_socket { Answer::Fail(libc::EACCES) } else { Answer::Go };
        Some(match self.carry_out(&caller, call) {
            Ok(decision) => decision,
            // What it lies in may be there by the time that the kernel would look.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                Decision::Now(Answer::Fail(libc::ENOENT))
            }
            Err(_) => Decision::Now(otherwise),
        })
    }

    fn carry_out(&mut self, caller: &Caller<'_>, call: Call) -> io::Result<Decision> {
        let answer = match call {
            Call::Open(open) => return self.open(caller, open),
            Call::Truncate { at, length } => self.truncate(caller, at, length),
            Call::Make { at, what } => self.make(caller, at, what),
            // Both bring something that is there to another place.
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
                self.umask.may_differ();
                Ok(Answer::Go)
            }
        };
        answer.map(Decision::Now)
    }

    /// Moves something, unless another command starts: what looks through the folders for that one could miss it. Nothing is
    /// read of who asks meanwhile: its processes can make that last.
    fn while_nobody_starts(
        &mut self,
        act: impl FnOnce(&mut Self) -> io::Result<Answer>,
    ) -> io::Result<Decision> {
        let may_begin = self.moves.as_ref().map_or(Ok(true), Moves::begin_move);
        match may_begin {
            Ok(true) => {}
            Ok(false) => return Ok(Decision::Again),
            // Whether somebody starts is not known then.
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

    /// Lets moves that wait come before the next command starts, or no longer.
    pub fn insist_on_moves(&self, insists: bool) {
        // For fairness alone: where it fails they wait longer.
        let _ = self.moves.as_ref().map(|moves| moves.insist(insists));
    }

    /// Refuses a name that must stay absent, and remembers it for the result.
    fn refuse(&mut self, path: &Path) -> Answer {
        self.refused.add(path);
        Answer::Fail(libc::EACCES)
    }

    /// What does not depend on the name: `None` where it may be made.
    fn ruled_out(&mut self, ruling: Ruling) -> Option<Answer> {
        match ruling {
            Ruling::Free => None,
            // Landlock lets nobody change what lies there. Where it has a mount the kernel says so.
            Ruling::Elsewhere | Ruling::Kept => Some(Answer::Go),
            Ruling::Protected(path) => Some(self.refuse(&path)),
            Ruling::Closed => Some(Answer::Fail(libc::EACCES)),
        }
    }

    /// What came of it. Called when no process of the command is left.
    pub fn end(self) -> Names {
        if self.sockets {
            self.places.remove_sockets();
        }
        let (unpacked, unpacked_others) = Told::of(self.places.unpacked(), MAX_TOLD, MAX_TOLD_BYTES);
        let (found, others) = self.places.repositories();
        let paths = found.iter().map(|(path, _)| path.clone()).collect();
        let (repositories, repositories_others) =
            Told::of((paths, others), MAX_TOLD_REPOSITORIES, MAX_TOLD_REPOSITORY_BYTES);
        let repository = |path: RawPath| {
            let at = found.binary_search_by(|(known, _)| known.as_path().cmp(path.as_path()));
            let identity = at.ok().and_then(|at| found.get(at)).map(|(_, identity)| *identity);
            Repository { path, identity: identity.unwrap_or_default() }
        };
        let repositories = repositories.into_iter().map(repository).collect();
        Names {
            refused: self.refused.into_paths(),
            unpacked,
            unpacked_others,
            repositories,
            repositories_others,
        }
    }
}

/// The first few of some paths: they travel in one packet.
#[derive(Debug, Default)]
struct Told(Vec<PathBuf>);

impl Told {
    /// The first few of these, and how many there are beside them.
    fn of((paths, others): (Vec<PathBuf>, u32), most: usize, most_bytes: usize) -> (Vec<RawPath>, u32) {
        let mut told = Self::default();
        for path in &paths {
            told.add_within(path, most, most_bytes);
        }
        let untold = u32::try_from(paths.len() - told.0.len()).unwrap_or(u32::MAX);
        (told.into_paths(), others.saturating_add(untold))
    }

    fn add(&mut self, path: &Path) {
        self.add_within(path, MAX_TOLD, MAX_TOLD_BYTES);
    }

    fn add_within(&mut self, path: &Path, most: usize, most_bytes: usize) {
        let bytes: usize = self.0.iter().map(|path| path.as_os_str().len()).sum();
        let is_told = self.0.len() < most && bytes + path.as_os_str().len() < most_bytes;
        if is_told && !self.0.iter().any(|known| known == path) {
            self.0.push(path.to_owned());
        }
    }

    fn into_paths(self) -> Vec<RawPath> {
        self.0.into_iter().map(RawPath::from).collect()
    }
}

/// The error of a system call, for who asked.
fn failed(error: rustix::io::Errno) -> Answer {
    Answer::Fail(error.raw_os_error())
}

/// What a folder or file is told by.
fn identity_of(fd: &std::os::fd::OwnedFd) -> io::Result<reach::Identity> {
    Ok(reach::identity(&rustix::fs::fstat(fd)?))
}
