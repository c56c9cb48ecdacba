//! The `scorpiox-code` program. Without arguments it serves MCP over stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else, since no other thread may be there.
    scorpiox_kernel::start_clean();
    scorpiox_code::cli::main()
}
