//! Runs the program that the operator's policy names to obtain a password, and this program itself to try it.
//!
//! The program runs for a user at the command line, without a sandbox: the user trusts it as much as their
//! own shell. Invariant: no tool and no plugin can reach this module (`host/cli/tests/layers.rs` verifies
//! it), and nothing but the policy chooses another program and its arguments. Its time and its output are limited.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between checks for the end of the program.
const LOOK_TIME: Duration = Duration::from_millis(20);
/// Time to read the remaining output after the program has ended. A process left behind may keep the pipe
/// open longer.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);
/// Bytes of a read, and maximum number of queued chunks.
const PIECE_BYTES: usize = 4 * 1024;
const PIECES: usize = 16;
/// Maximum number of stored bytes of standard error: a sentence or two.
const MAX_SAID_BYTES: usize = 4 * 1024;

/// Program to run.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// Arguments of the program.
    pub arguments: &'a [String],
    /// Standard input, which must fit into the buffer of a pipe.
    pub input: &'a [u8],
    /// Working directory, to which no other user can write, since many programs read settings from there.
    pub folder: &'a Path,
    /// Time limit.
    pub time: Duration,
    /// Maximum output in bytes.
    pub most: usize,
}

/// Result of a program that ended. It has no `Debug`: the output may be a secret.
pub struct Answered {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error, truncated.
    pub said: String,
}

/// Error of a program run.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The program cannot be started or waited for.
    #[error("it cannot be run: {0}")]
    Start(#[from] io::Error),
    /// The time limit is exceeded.
    #[error("it was not done within {} s, and was ended", .0.as_secs())]
    Time(Duration),
    /// The output limit is exceeded.
    #[error("it printed more than {0} bytes")]
    Output(usize),
}

/// Source of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Errors,
}

/// Message of a reading thread: a chunk, or an empty one at the end.
type News = (Stream, Vec<u8>);

/// Process that is killed on drop. Its own children share the terminal and end with it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program and waits for its end.
pub fn ask(task: Task<'_>) -> Result<Answered, TaskError> {
    let until = Instant::now() + task.time;
    let mut child = Killed(command(&task).spawn()?);
    let (teller, news) = sync_channel(PIECES);
    if let Some(output) = child.0.stdout.take() {
        read(output, Stream::Output, teller.clone())?;
    }
    if let Some(errors) = child.0.stderr.take() {
        read(errors, Stream::Errors, teller)?;
    }
    if let Some(mut input) = child.0.stdin.take() {
        // A program that needs no input closes the pipe.
        let _ = input.write_all(task.input);
    }
    follow(&mut child.0, &news, until, &task)
}

#[allow(clippy::disallowed_methods)] // the third place that starts a program: the operator's own
fn command(task: &Task<'_>) -> std::process::Command {
    let mut command = std::process::Command::new(task.program);
    command.args(task.arguments).current_dir(task.folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn follow(
    child: &mut Child,
    news: &Receiver<News>,
    until: Instant,
    task: &Task<'_>,
) -> Result<Answered, TaskError> {
    let (mut output, mut said, mut open) = (Vec::new(), Vec::new(), 2);
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        match news.recv_timeout(LOOK_TIME) {
            Ok((_, piece)) if piece.is_empty() => open -= 1,
            Ok((Stream::Output, piece)) => output.extend(piece),
            Ok((Stream::Errors, piece)) => {
                let room = MAX_SAID_BYTES.saturating_sub(said.len());
                said.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Both streams have ended; the program may still run.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_TIME),
        }
        if output.len() > task.most {
            return Err(TaskError::Output(task.most));
        }
        let now = Instant::now();
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, now));
        }
        match ended {
            Some((status, since)) if open == 0 || now - since > LAST_WORDS_TIME => {
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                return Ok(Answered { status, output, said });
            }
            None if now >= until => return Err(TaskError::Time(task.time)),
            _ => {}
        }
    }
}

/// Reads a stream to its end in a separate thread.
fn read(mut from: impl Read + Send + 'static, what: Stream, teller: SyncSender<News>) -> io::Result<()> {
    let work = move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            // An error means that the other end is closed.
            let got = from.read(&mut piece).unwrap_or(0);
            // The receiver is gone after the time limit.
            if teller.send((what, piece[..got].to_vec())).is_err() || got == 0 {
                return;
            }
        }
    };
    thread::Builder::new().name("program".to_owned()).spawn(work).map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn asked(script: &str, input: &[u8], time: Duration) -> Result<Answered, TaskError> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let (program, folder) = (Path::new("/bin/sh"), Path::new("/"));
        ask(Task { program, arguments: &arguments, input, folder, time, most: 100 })
    }

    #[test]
    fn a_program_gets_its_input_and_gives_what_it_printed() {
        let done = asked("cat; pwd; echo oh >&2; exit 3", b"in\n", Duration::from_secs(30)).expect("an end");
        assert_eq!((done.output.as_slice(), done.said.as_str()), (&b"in\n/\n"[..], "oh"));
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_takes_too_long_or_prints_too_much_is_ended() {
        let begun = Instant::now();
        let late = asked("exec sleep 600", b"", Duration::from_millis(200));
        assert!(matches!(late, Err(TaskError::Time(_))));
        let endless = asked("while :; do echo more; done", b"", Duration::from_secs(30));
        assert!(matches!(endless, Err(TaskError::Output(100))));
        // A process that is left behind and keeps the pipe open delays nothing.
        let left = asked("sleep 20 & echo done", b"", Duration::from_secs(30)).expect("an end");
        assert!(left.status.success() && left.output == b"done\n");
        assert!(begun.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_program_that_complains_at_length_is_heard_to_a_bound() {
        let script = "i=0; while [ $i -lt 2000 ]; do echo a-line-of-words >&2; i=$((i+1)); done; echo out";
        let done = asked(script, b"", Duration::from_secs(30)).expect("an end");
        assert!(done.said.len() <= MAX_SAID_BYTES && done.said.starts_with("a-line-of-words"));
        assert!(done.status.success() && done.output == b"out\n");
    }

    #[test]
    fn what_is_no_program_does_not_start() {
        let (program, folder) = (Path::new("/no/such/program"), Path::new("/"));
        let task =
            Task { program, arguments: &[], input: b"", folder, time: Duration::from_secs(9), most: 9 };
        assert!(matches!(ask(task), Err(TaskError::Start(_))));
    }
}
