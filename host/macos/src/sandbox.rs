//! Which sandbox a process is in.

use std::ffi::{CStr, c_char, c_int};

use crate::process::Pid;

/// What a service's name is asked as, and that nothing is written to the log.
const GLOBAL_NAME: c_int = 2;
const NO_REPORT: c_int = 0x4000_0000;

#[allow(unsafe_code)]
unsafe extern "C" {
    /// Of libSystem; browsers ask it the same way. 0: allowed; 1: not; -1: an error.
    fn sandbox_check(pid: libc::pid_t, operation: *const c_char, filter: c_int, ...) -> c_int;
}

/// What a sandbox says about a service that does not exist, which is how it is told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Its profile names it, or it has no sandbox.
    Allowed,
    /// Its profile does not name it.
    Refused,
    /// There is no such process any more, or nothing is known of it.
    Unknown,
}

/// Whether a process may look up the service `name`.
#[allow(unsafe_code)]
pub fn lookup(pid: Pid, name: &CStr) -> Lookup {
    // SAFETY: both texts end with NUL and outlive the call; the filter takes one text.
    let answer =
        unsafe { sandbox_check(pid.raw(), c"mach-lookup".as_ptr(), GLOBAL_NAME | NO_REPORT, name.as_ptr()) };
    match answer {
        0 => Lookup::Allowed,
        1 => Lookup::Refused,
        _ => Lookup::Unknown,
    }
}
