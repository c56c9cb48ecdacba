//! Names that a command must not make.
//!
//! Nothing can be mounted where nothing is. So in folders that have such names below them
//! Landlock lets a command make no names at all, and the supervisor makes them in its place: the
//! filter on system calls asks, [`call`] says what is asked for, [`caller`] finds the place as
//! who asks would, [`places`] judges it, and what is allowed is done here.
//!
//! Invariant: what the supervisor did not make is not made. A call that is let go on may be
//! another one by then, since its arguments lie in memory that others can write to; Landlock
//! stops it then. Only who asks for nothing special is let go on.
//!
//! In T2, which has no mounts, the same holds for moving, removing and opening what lies in one
//! folder with something protected, where Landlock grants all or nothing.

mod call;
mod caller;
mod made;
mod places;

use std::path::{Path, PathBuf};

use self::call::Call;
use self::caller::Caller;
use self::made::Umask;
pub(super) use self::places::guarded_roots;
use self::places::{Places, Ruling};
use super::reach;
use crate::sys::{Answer, Ask, Question};
use crate::wire::{CellSpec, CommandSpec, Fault, RawPath};

/// Most refusals that are told, and their bytes together: they travel in one packet.
const MAX_REFUSED: usize = 8;
const MAX_REFUSED_BYTES: usize = 4000;

/// What decides about names that a command makes.
#[derive(Debug)]
pub(super) struct Guard {
    places: Places,
    umask: Umask,
    refused: Vec<PathBuf>,
    /// Whether a socket may have been made, which the caller does by itself.
    sockets: bool,
}

impl Guard {
    /// The guard of a command; none where nothing needs one.
    pub(super) fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Option<Self>, Fault> {
        let Some(places) = Places::new(cell, order)? else { return Ok(None) };
        Ok(Some(Self { places, umask: Umask::default(), refused: Vec::new(), sockets: false }))
    }

    /// What it is to be asked about.
    pub(super) fn asks(&self) -> Vec<Ask> {
        call::asks(self.places.keeps(), self.places.is_shared_tree())
    }

    /// The answer to a question; none where it is not about names. `waits` says whether who asked
    /// still does.
    pub(super) fn decide(&mut self, question: &Question, waits: &dyn Fn() -> bool) -> Option<Answer> {
        let call = Call::of(question)?;
        let caller = Caller::new(question.thread, waits);
        // What cannot be looked at goes on to fail as it would: Landlock does not need to look.
        Some(self.carry_out(&caller, call).unwrap_or(Answer::Go))
    }

    fn carry_out(&mut self, caller: &Caller<'_>, call: Call) -> std::io::Result<Answer> {
        match call {
            Call::Open(open) => self.open(caller, open),
            Call::Make { at, what } => self.make(caller, at, what),
            Call::Link { from, to, flags } => self.link(caller, from, to, flags),
            Call::Rename { from, to, flags } => self.rename(caller, from, to, flags),
            Call::Remove { at, flags } => self.remove(caller, at, flags),
            Call::Bind { address, length } => self.bind(caller, address, length),
            Call::Umask => {
                self.umask.may_differ();
                Ok(Answer::Go)
            }
        }
    }

    /// Refuses a name that must stay absent, and remembers it for the result.
    fn refuse(&mut self, path: &Path) -> Answer {
        let bytes: usize = self.refused.iter().map(|path| path.as_os_str().len()).sum();
        let is_told = self.refused.len() < MAX_REFUSED && bytes + path.as_os_str().len() < MAX_REFUSED_BYTES;
        if is_told && !self.refused.iter().any(|known| known == path) {
            self.refused.push(path.to_owned());
        }
        Answer::Fail(libc::EACCES)
    }

    /// What does not depend on the name: `None` where it may be made.
    fn ruled_out(&mut self, ruling: Ruling) -> Option<Answer> {
        match ruling {
            Ruling::Free => None,
            Ruling::Elsewhere => Some(Answer::Go),
            Ruling::Protected(path) => Some(self.refuse(&path)),
            Ruling::Closed => Some(Answer::Fail(libc::EACCES)),
        }
    }

    /// The names that were refused. Called when no process of the command is left.
    pub(super) fn end(self) -> Vec<RawPath> {
        if self.sockets {
            self.places.remove_sockets();
        }
        self.refused.into_iter().map(RawPath::from).collect()
    }
}

/// The error of a system call, for who asked.
fn failed(error: rustix::io::Errno) -> Answer {
    Answer::Fail(error.raw_os_error())
}

/// What a folder or file is told by.
fn identity_of(fd: &std::os::fd::OwnedFd) -> std::io::Result<reach::Identity> {
    Ok(reach::identity(&rustix::fs::fstat(fd)?))
}
