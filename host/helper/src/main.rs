//! The program that the host carries and starts: see [`scorpiox_helper`].

use std::process::ExitCode;

/// The allocator of musl maps and unmaps pages for each size, and most of a helper's own time before a command was
/// spent in it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    scorpiox_helper::main()
}

/// There are no cells here.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
