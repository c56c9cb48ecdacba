//! Processes of this user.

use std::io;
use std::mem::{size_of, zeroed};

/// Room for processes that begin between the question how many there are and the list.
const SPARE: usize = 64;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pid(libc::pid_t);

/// What a process may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// It stands still.
    Stop,
    /// It is asked to end.
    Term,
    /// It ends.
    Kill,
}

impl Pid {
    /// Of a child of this process.
    pub fn of(child: &std::process::Child) -> Option<Self> {
        child.id().try_into().ok().map(Self)
    }

    pub(crate) fn raw(self) -> libc::pid_t {
        self.0
    }

    /// Sends it a signal. That it has ended is no error.
    #[allow(unsafe_code)]
    pub fn send(self, signal: Signal) -> io::Result<()> {
        let signal = match signal {
            Signal::Stop => libc::SIGSTOP,
            Signal::Term => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        };
        // SAFETY: nothing is pointed to.
        if unsafe { libc::kill(self.0, signal) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }

    /// The memory that counts as its own, in bytes; nothing, once it has ended.
    #[allow(unsafe_code)]
    pub fn memory(self) -> u64 {
        // SAFETY: numbers alone, of which zero is one.
        let mut used: libc::rusage_info_v0 = unsafe { zeroed() };
        // SAFETY: the buffer is of the kind that this flavor names.
        let asked = unsafe { libc::proc_pid_rusage(self.0, libc::RUSAGE_INFO_V0, (&raw mut used).cast()) };
        if asked == 0 { used.ri_phys_footprint } else { 0 }
    }
}

/// All processes of this user.
#[allow(unsafe_code)]
pub fn own() -> io::Result<Vec<Pid>> {
    const BY_USER: u32 = 4; // PROC_UID_ONLY
    // SAFETY: it has no arguments.
    let user = unsafe { libc::getuid() };
    let mut room = SPARE;
    loop {
        let mut pids = vec![0 as libc::pid_t; room];
        let bytes = libc::c_int::try_from(room * size_of::<libc::pid_t>()).map_err(io::Error::other)?;
        // SAFETY: as many bytes are there as are said to be.
        let filled = unsafe { libc::proc_listpids(BY_USER, user, pids.as_mut_ptr().cast(), bytes) };
        if filled < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = usize::try_from(filled).unwrap_or_default() / size_of::<libc::pid_t>();
        // A list that is full may have lost some.
        if count < room {
            pids.truncate(count);
            return Ok(pids.into_iter().filter(|pid| *pid > 0).map(Pid).collect());
        }
        room = room.saturating_mul(2);
    }
}
