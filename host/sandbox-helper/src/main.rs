//! The program that the host contains and starts: see [`scorpiox_sandbox_helper`].

use std::process::ExitCode;

/// Allocator for musl, whose own one maps and unmaps pages for each size. It dominated the time that a helper
/// spent before a command.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    scorpiox_sandbox_helper::main()
}

/// Fails: there are no cells on this system.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
