//! Runs programs that print a secret.

use std::path::Path;
use std::time::Duration;

use scorpiox_fs::programs::check_own;
use scorpiox_sandbox::program::{Answered, Task, ask};
use scorpiox_text::line;

use scorpiox_workspace_config::{MAX_PASSWORD_BYTES, one_password};

use super::Reader;

/// Maximum running time. A program that asks its own server or the user may need some seconds.
const MAX_TIME: Duration = Duration::from_mins(1);
/// Maximum number of characters of a program's error output in a message.
const MAX_SAID_CHARS: usize = 300;

impl Reader<'_> {
    pub(super) fn password_by(&self, command: &[String]) -> Result<String, String> {
        let (program, arguments) = command.split_first().ok_or("it names no program")?;
        let done = self.run(&self.place(program)?, arguments, b"")?;
        if !done.status.success() {
            return Err(failed(&done, &done.said));
        }
        one_password(done.output)
    }

    /// Runs a program, if only the user or the system's owner can have installed it.
    pub(super) fn run(&self, program: &Path, arguments: &[String], input: &[u8]) -> Result<Answered, String> {
        check_own(program, &self.writable).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{} does not exist", program.display()),
            _ => error.to_string(),
        })?;
        // The check above ensures that nobody else can write to this directory.
        let (folder, most) = (program.parent().unwrap_or(program), MAX_PASSWORD_BYTES);
        let task = Task { program, arguments, input, folder, time: MAX_TIME, most };
        ask(task).map_err(|error| format!("{}: {error}", program.display()))
    }
}

/// Describes the failure of a program with its error output, but without its regular output.
pub(super) fn failed(done: &Answered, said: &str) -> String {
    let said = line::clean(said, MAX_SAID_CHARS);
    if said.is_empty() {
        format!("it ended with {}", done.status)
    } else {
        format!("it ended with {}: {said}", done.status)
    }
}
