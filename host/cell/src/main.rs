//! The helper process, which the host carries as bytes and starts: see [`scorpiox_cell`].

use std::process::ExitCode;

fn main() -> ExitCode {
    scorpiox_cell::helper_main()
}
