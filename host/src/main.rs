//! The `scorpiox-code` program. Without arguments it serves MCP over stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Started under another name this is the helper that commands run in: nothing else of
    // the program happens there.
    if let Some(code) = scorpiox_cell::helper_main() {
        return code;
    }
    scorpiox_code::cli::main()
}
