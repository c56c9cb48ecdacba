//! macOS: commands under Seatbelt.
//!
//! Each command has a profile of its own, which `sandbox-exec` puts on before the shell begins, and which nothing that the
//! shell starts can take off. All that a command started is told from other processes by that profile.
//!
//! Invariants: a command without a complete profile does not run. What belongs to a command ends with it; when the
//! server is killed, the command's process group does.

mod cell;
mod tree;
pub(crate) mod worker;

pub use self::cell::Cell;

/// The program that puts a profile on.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// A command that runs. Dropped, it is killed.
pub type Running = crate::followed::Followed<tree::Processes>;
