//! What builds the sandboxes of commands: a small program, which this one carries.

use scorpiox_cell::Helper;

/// The helper, as `make build` prepared it.
pub(crate) const HELPER: Helper =
    Helper { image: include_bytes!(concat!(env!("SCORPIOX_COMPONENTS"), "/helper")) };
