//! The `scorpiox-code` program. Without arguments it serves MCP over stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    scorpiox_code::cli::main()
}
