//! The `scorpiox-code` program. Without arguments it serves MCP over stdin and stdout.

use std::process::ExitCode;

/// With these the system's resolver answers for another name than the one that was asked for, and judged.
const OF_RESOLVER: [&str; 4] = ["LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "RESOLV_HOST_CONF"];

fn main() -> ExitCode {
    // What the client left open to this program goes to none that it starts.
    scorpiox_cell::keep_descriptors();
    forget_variables();
    scorpiox_code::cli::main()
}

#[allow(unsafe_code)]
fn forget_variables() {
    for name in OF_RESOLVER {
        // SAFETY: no other thread is there yet that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}
