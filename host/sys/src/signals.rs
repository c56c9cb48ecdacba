//! Signals to this process.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr;
use std::sync::Arc;

use signal_hook::SigId;

/// Signals that ask a process to end.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];

/// Actions on signals, and the bell that they ring. Both are given up when this is dropped.
#[derive(Debug)]
pub struct Ringing(Vec<SigId>);

impl Drop for Ringing {
    fn drop(&mut self) {
        for action in self.0.drain(..) {
            signal_hook::low_level::unregister(action);
        }
    }
}

/// Writes a byte to `bell` on each signal that asks this process to end. It needs no other descriptor.
pub fn ring_at_end(bell: OwnedFd) -> io::Result<Ringing> {
    rustix::io::ioctl_fionbio(&bell, true)?;
    let (bell, mut ringing) = (Arc::new(bell), Ringing(Vec::new()));
    for signal in ENDING {
        if signal == libc::SIGHUP && ignores_hang_up() {
            continue;
        }
        let bell = Arc::clone(&bell);
        let ring = move || {
            // SAFETY: `write` may be called by a signal handler, reads one byte, and the descriptor is open as long as
            // this action is there. A full pipe has been rung already.
            unsafe { libc::write(bell.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
        };
        // SAFETY: the action only calls `write`, allocates nothing, and takes no lock.
        ringing.0.push(unsafe { signal_hook::low_level::register(signal, ring) }?);
    }
    Ok(ringing)
}

/// Returns `true` if this process was started so that it survives the end of its terminal, as by `nohup`.
fn ignores_hang_up() -> bool {
    // SAFETY: the all-zero bit pattern is a valid `sigaction`.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only writes the current one to `now`, which lives until it returns.
    let found = unsafe { libc::sigaction(libc::SIGHUP, ptr::null(), &raw mut now) };
    found == 0 && now.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[test]
    fn each_signal_rings_until_the_actions_are_given_up() {
        let (mut bell, ringer) = io::pipe().expect("a pipe");
        let ringing = ring_at_end(ringer.into()).expect("actions");
        for signal in [Signal::INT, Signal::TERM, Signal::QUIT] {
            kill_process(getpid(), signal).expect("a signal");
            assert_eq!(bell.read(&mut [0]).expect("a byte"), 1, "{signal:?}");
        }
        drop(ringing);
        assert_eq!(bell.read(&mut [0]).expect("the end"), 0);
    }
}
