//! macOS: commands under Seatbelt.
//!
//! Each command has its own profile, which `sandbox-exec` applies before the shell starts, and which no
//! process of the command can remove. The profile also identifies all processes of the command.
//!
//! Invariants: a command without a complete profile does not run. All processes of a command end with it. If
//! the server is killed, at least the command's process group is killed.

mod cell;
mod tree;
pub(crate) mod worker;

pub use self::cell::Cell;

/// Program that applies a profile.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Running command, which is killed on drop.
pub type Running = crate::followed::Followed<tree::Processes>;
