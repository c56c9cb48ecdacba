//! Signals to this process.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::ptr;

/// Returns `true` if this process was started so that it survives the end of its terminal, as by `nohup`.
pub fn ignores_hang_up() -> bool {
    // SAFETY: the all-zero bit pattern is a valid `sigaction`.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only writes the current one to `now`, which lives until it returns.
    let found = unsafe { libc::sigaction(libc::SIGHUP, ptr::null(), &raw mut now) };
    found == 0 && now.sa_sigaction == libc::SIG_IGN
}
