//! A hostile worker for tests on Linux.

#[cfg(target_os = "linux")]
mod attacks;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    attacks::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
