//! The `scorpiox-code` program. Without arguments it serves MCP over stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    // What the client left open to this program goes to none that it starts.
    scorpiox_cell::keep_descriptors();
    scorpiox_code::cli::main()
}
