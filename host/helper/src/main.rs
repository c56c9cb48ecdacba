//! The program that the host carries and starts: see [`scorpiox_helper`].

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    scorpiox_helper::main()
}

/// There are no cells here.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
