//! The `scorpiox-code` program. Without arguments, it serves MCP over standard input and output.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Must run first, while the process has a single thread.
    scorpiox_sys::linux::start_clean();
    scorpiox_code::cli::main()
}
