//! Embedded helper program that builds the sandboxes of commands.

use scorpiox_sandbox::Helper;

/// Helper image that `make build` produced.
pub const HELPER: Helper = Helper { image: include_bytes!(env!("SCORPIOX_HELPER")) };
