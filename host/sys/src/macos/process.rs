//! Processes of this user.

use std::io;
use std::mem::{size_of, zeroed};

/// Spare list entries for processes that start while the list is read.
const SPARE: usize = 64;

/// Process ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pid(libc::pid_t);

/// Signal that can be sent to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Suspends the process.
    Stop,
    /// Asks the process to terminate.
    Term,
    /// Kills the process.
    Kill,
}

impl Pid {
    /// Returns the PID of a child of this process.
    pub fn of(child: &std::process::Child) -> Option<Self> {
        child.id().try_into().ok().map(Self)
    }

    pub(crate) fn raw(self) -> libc::pid_t {
        self.0
    }

    /// Sends a signal. Succeeds if the process has already ended.
    #[allow(unsafe_code)]
    pub fn send(self, signal: Signal) -> io::Result<()> {
        let signal = match signal {
            Signal::Stop => libc::SIGSTOP,
            Signal::Term => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        };
        // SAFETY: passes no pointers.
        if unsafe { libc::kill(self.0, signal) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }

    /// Returns the physical memory footprint in bytes, or 0 if the process has ended.
    #[allow(unsafe_code)]
    pub fn memory(self) -> u64 {
        // SAFETY: the structure contains only integers, for which zero is valid.
        let mut used: libc::rusage_info_v0 = unsafe { zeroed() };
        // SAFETY: the buffer has the type that this flavor requires.
        let asked = unsafe { libc::proc_pid_rusage(self.0, libc::RUSAGE_INFO_V0, (&raw mut used).cast()) };
        if asked == 0 { used.ri_phys_footprint } else { 0 }
    }
}

/// Returns all processes of this user.
#[allow(unsafe_code)]
pub fn own() -> io::Result<Vec<Pid>> {
    const BY_USER: u32 = 4; // PROC_UID_ONLY
    // SAFETY: takes no arguments.
    let user = unsafe { libc::getuid() };
    let mut room = SPARE;
    loop {
        let mut pids = vec![0 as libc::pid_t; room];
        let bytes = libc::c_int::try_from(room * size_of::<libc::pid_t>()).map_err(io::Error::other)?;
        // SAFETY: the buffer has the given number of writable bytes.
        let filled = unsafe { libc::proc_listpids(BY_USER, user, pids.as_mut_ptr().cast(), bytes) };
        if filled < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = usize::try_from(filled).unwrap_or_default() / size_of::<libc::pid_t>();
        // A full list may be incomplete.
        if count < room {
            pids.truncate(count);
            return Ok(pids.into_iter().filter(|pid| *pid > 0).map(Pid).collect());
        }
        room = room.saturating_mul(2);
    }
}
