//! Signals to this process.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr;
use std::sync::Arc;

/// Signals that ask a process to end.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];

/// Writes a byte to `bell` on each signal that asks this process to end. It needs no other descriptor.
pub fn ring_at_end(bell: OwnedFd) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&bell, true)?;
    let bell = Arc::new(bell);
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
        unsafe { signal_hook::low_level::register(signal, ring) }?;
    }
    Ok(())
}

/// Returns `true` if this process was started so that it survives the end of its terminal, as by `nohup`.
fn ignores_hang_up() -> bool {
    // SAFETY: the all-zero bit pattern is a valid `sigaction`.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only writes the current one to `now`, which lives until it returns.
    let found = unsafe { libc::sigaction(libc::SIGHUP, ptr::null(), &raw mut now) };
    found == 0 && now.sa_sigaction == libc::SIG_IGN
}
