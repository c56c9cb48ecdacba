//! Identifies the sandbox of a process.

use std::ffi::{CStr, c_char, c_int};

use crate::macos::process::Pid;

/// Filter type for a global service name, and the flag that suppresses log entries.
const GLOBAL_NAME: c_int = 2;
const NO_REPORT: c_int = 0x4000_0000;

#[allow(unsafe_code)]
unsafe extern "C" {
    /// Function of libSystem, which browsers use in the same way. Returns 0 if allowed, 1 if denied, and -1
    /// on error.
    fn sandbox_check(pid: libc::pid_t, operation: *const c_char, filter: c_int, ...) -> c_int;
}

/// Answer of a sandbox about a nonexistent service, which distinguishes it from other sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The profile names the service, or the process has no sandbox.
    Allowed,
    /// The profile does not name the service.
    Refused,
    /// The process does not exist, or cannot be queried.
    Unknown,
}

/// Asks whether a process may look up the service `name`.
#[allow(unsafe_code)]
pub fn lookup(pid: Pid, name: &CStr) -> Lookup {
    // SAFETY: both strings end with NUL and outlive the call. The filter takes one string.
    let answer =
        unsafe { sandbox_check(pid.raw(), c"mach-lookup".as_ptr(), GLOBAL_NAME | NO_REPORT, name.as_ptr()) };
    match answer {
        0 => Lookup::Allowed,
        1 => Lookup::Refused,
        _ => Lookup::Unknown,
    }
}
