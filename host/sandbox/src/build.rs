//! Runs the build of a plugin that its author is working on.
//!
//! The build runs for a user at the command line, without a sandbox and at the user's terminal, as if they had
//! typed it. Invariant: no tool and no plugin can reach this module (`host/cli/tests/layers.rs` verifies it).

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

/// Program that builds a folder.
const MAKE: &str = "make";

/// Runs `make` in a folder and waits for its end. Its output goes to the terminal.
#[allow(clippy::disallowed_methods)] // the fourth place that starts a program: the author's own build
pub fn make(folder: &Path) -> io::Result<ExitStatus> {
    let mut command = std::process::Command::new(MAKE);
    command.arg("--silent").arg("-C").arg(folder).stdin(Stdio::null());
    command.status()
}
