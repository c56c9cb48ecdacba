//! Programs that know a secret.

use std::path::Path;
use std::time::Duration;

use scorpiox_cell::program::{Answered, Task, ask};
use scorpiox_paths::programs::check_own;
use scorpiox_text::line;

use scorpiox_operator::{MAX_PASSWORD_BYTES, one_password};

use super::Reader;

/// Longest time: one that has to ask its own server, or the person, needs some seconds.
const MAX_TIME: Duration = Duration::from_mins(1);
/// What is shown of a program's complaint.
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

    /// Runs a program that nobody else can have put where it is.
    pub(super) fn run(&self, program: &Path, arguments: &[String], input: &[u8]) -> Result<Answered, String> {
        check_own(program, &self.writable).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{} does not exist", program.display()),
            _ => error.to_string(),
        })?;
        // Where nobody else has put a file, as was just seen.
        let (folder, most) = (program.parent().unwrap_or(program), MAX_PASSWORD_BYTES);
        let task = Task { program, arguments, input, folder, time: MAX_TIME, most };
        ask(task).map_err(|error| format!("{}: {error}", program.display()))
    }
}

/// How it ended, and what it complained of; nothing of what it printed for this program.
pub(super) fn failed(done: &Answered, said: &str) -> String {
    let said = line::clean(said, MAX_SAID_CHARS);
    if said.is_empty() {
        format!("it ended with {}", done.status)
    } else {
        format!("it ended with {}: {said}", done.status)
    }
}
