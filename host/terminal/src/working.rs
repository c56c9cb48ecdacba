//! Progress line that is displayed during a long operation.

use std::io::{Write, stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::shown::{one_line, terminal_columns, visible};

/// Delay before the line appears. Shorter operations show nothing.
const PATIENCE: Duration = Duration::from_millis(300);
/// Interval between updates.
const STEP: Duration = Duration::from_secs(1);
/// Delay before the only line where standard error is no terminal, as in a pipe or in CI.
const PATIENCE_OF_LOGS: Duration = Duration::from_secs(5);
/// Columns reserved for the elapsed time.
const SECONDS: usize = 12;
/// Columns reserved for the progress.
const FAR: usize = 22;

/// An operation in progress. Dropping it removes the line.
pub struct Working(Option<(Sender<()>, JoinHandle<()>)>);

impl Working {
    /// Displays the operation and the elapsed seconds on standard error. If that is no terminal, a single line names
    /// an operation that takes longer than a few seconds.
    pub fn on(what: &str) -> Self {
        Self::shown(what, SECONDS, String::new)
    }

    /// Like [`on`](Self::on), with a description of the progress.
    pub fn as_far_as(what: &str, far: impl Fn() -> String + Send + 'static) -> Self {
        Self::shown(what, SECONDS + FAR, move || format!("{}, ", far()))
    }

    fn shown(what: &str, besides: usize, far: impl Fn() -> String + Send + 'static) -> Self {
        let Some(columns) = terminal_columns(&stderr()) else {
            return Self::logged(visible(what));
        };
        let what = one_line(what, columns.saturating_sub(besides));
        let (end, ended) = channel();
        // If the thread cannot be created, the work proceeds without a progress line.
        let shown = thread::Builder::new().spawn(move || show(&what, &far, columns, &ended));
        Self(shown.ok().map(|thread| (end, thread)))
    }

    fn logged(what: String) -> Self {
        let (end, ended) = channel();
        let logged =
            thread::Builder::new().spawn(move || log(&what, &ended, PATIENCE_OF_LOGS, &mut stderr()));
        Self(logged.ok().map(|thread| (end, thread)))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

fn log(what: &str, ended: &Receiver<()>, patience: Duration, out: &mut dyn Write) {
    if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
        let _ = writeln!(out, "{what} …");
    }
}

fn show(what: &str, far: &dyn Fn() -> String, columns: usize, ended: &Receiver<()>) {
    let begun = Instant::now();
    // Spaces, because not every terminal knows an escape sequence for clearing a line.
    let clear = format!("\r{}\r", " ".repeat(columns.saturating_sub(1)));
    let mut wait = PATIENCE;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        wait = STEP;
        let _ = write!(stderr(), "{clear}{what} … {}{} s", far(), begun.elapsed().as_secs())
            .and_then(|()| stderr().flush());
    }
    if begun.elapsed() >= PATIENCE {
        let _ = write!(stderr(), "{clear}").and_then(|()| stderr().flush());
    }
}

/// Formats a size for users.
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    if bytes == 1 {
        return "1 byte".to_owned();
    }
    if bytes < KIB {
        return format!("{bytes} bytes");
    }
    let mut tenths = u128::from(bytes) * 10 / u128::from(KIB);
    let mut unit = 0;
    while tenths >= u128::from(KIB) * 10 && unit + 1 < UNITS.len() {
        tenths /= u128::from(KIB);
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_names_what_takes_long_once() {
        let (end, ended) = channel();
        let mut out = Vec::new();
        log("compiling", &ended, Duration::ZERO, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "compiling …\n");
        drop(end);
        log("compiling", &ended, Duration::from_mins(1), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "compiling …\n", "what ends soon is not named");
    }

    #[test]
    fn sizes_have_a_unit_and_a_tenth() {
        let all = [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (3_600_000, "3.4 MiB")];
        for (bytes, said) in all {
            assert_eq!(size(bytes), said);
        }
        assert_eq!(size(u64::MAX), "17179869183.9 GiB");
    }

    #[test]
    fn it_ends_with_the_work() {
        let begun = Instant::now();
        drop(Working::on("compiling a thing"));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
