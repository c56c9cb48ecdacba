//! What builds the sandboxes of commands: a small program, which this one carries.

use scorpiox_cell::Helper;

/// The helper, as `make build` prepared it.
pub const HELPER: Helper = Helper { image: include_bytes!(env!("SCORPIOX_HELPER")) };
