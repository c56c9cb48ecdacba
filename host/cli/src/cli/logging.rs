//! The log on standard error: quiet by default, with a rate limit.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use scorpiox_client_config::unfilled;

/// Maximum number of lines in a [`WINDOW`]. Some clients store the complete log.
const LINES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(10);
/// Maximum length of a line: a pipe accepts it atomically (`PIPE_BUF` on Linux).
const MAX_LINE_BYTES: usize = 4096;

/// Starts the log. The filter is `SCORPIOX_LOG`, or else `RUST_LOG`. The default is warnings; `guests` adds
/// the output of components. A service's log has timestamps; clients add their own for other servers.
pub(super) fn start(guests: bool, is_service: bool) {
    let filter =
        ["SCORPIOX_LOG", "RUST_LOG"].iter().find_map(|name| unfilled::variable(name)?.into_string().ok());
    let parsed = filter.as_deref().map(str::parse::<Targets>);
    let guest_level = if guests { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let fallback = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("guest", guest_level)
        // A trial prints the result beside the log.
        .with_target("guest::shown", LevelFilter::WARN);
    let targets = match &parsed {
        Some(Ok(targets)) => targets.clone(),
        _ => fallback,
    };
    let layer =
        tracing_subscriber::fmt::layer().with_writer(Limited::default()).with_ansi(false).with_target(false);
    let layer = if is_service { layer.boxed() } else { layer.without_time().boxed() };
    let _ = tracing_subscriber::registry().with(layer).with(targets).try_init();
    if let (Some(Err(error)), Some(filter)) = (parsed, filter) {
        tracing::warn!("the log filter {filter:?} is not usable: {error}");
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!("internal error: {panic}")));
}

/// Standard error with a rate limit.
#[derive(Default)]
struct Limited(Mutex<Budget>);

struct Budget {
    since: Instant,
    lines: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { since: Instant::now(), lines: 0 }
    }
}

impl Budget {
    /// Returns whether a line may be written at `now`, and a note to write before it.
    fn spend(&mut self, now: Instant) -> (bool, Option<String>) {
        let mut note = None;
        if now.duration_since(self.since) >= WINDOW {
            let dropped = self.lines.saturating_sub(LINES);
            note = (dropped > 0).then(|| format!("({dropped} lines of log were dropped)\n"));
            *self = Self { since: now, lines: 0 };
        }
        self.lines += 1;
        (self.lines <= LINES, note)
    }
}

impl<'a> MakeWriter<'a> for Limited {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        let (allowed, note) = self.0.lock().spend(Instant::now());
        Line { note: note.unwrap_or_default().into_bytes(), text: Vec::new(), allowed }
    }
}

/// Serializes writes, since `can_take_a_line` only guarantees space for a single line.
static WRITING: Mutex<()> = Mutex::new(());

/// A log line, written at once when it is complete.
struct Line {
    /// Note to write before the line.
    note: Vec<u8>,
    text: Vec<u8>,
    allowed: bool,
}

impl Write for Line {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.allowed {
            self.text.extend_from_slice(buf);
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let shown = shown(&self.text);
        self.text = std::mem::take(&mut self.note);
        self.text.extend(shown);
        if self.text.len() > MAX_LINE_BYTES {
            self.text.truncate(MAX_LINE_BYTES - 1);
            self.text.push(b'\n');
        }
        let _writing = WRITING.lock();
        if can_take_a_line() {
            let _ = io::stderr().write_all(&self.text);
        }
    }
}

/// Escapes a log entry to a single line that is safe for terminals. It may contain untrusted names.
fn shown(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let body = text.strip_suffix('\n').unwrap_or(&text);
    if body.is_empty() {
        Vec::new()
    } else {
        (scorpiox_text::line::escaped(body).into_owned() + "\n").into_bytes()
    }
}

/// Returns `true` if standard error accepts a line without blocking: a client that does not read it must not
/// stop the server. A writable pipe accepts at least `PIPE_BUF` bytes.
#[cfg(unix)]
fn can_take_a_line() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let errors = rustix::stdio::stderr();
    let mut polled = [PollFd::new(&errors, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(not(unix))]
fn can_take_a_line() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_the_next_window_says_so() {
        let mut budget = Budget::default();
        let start = budget.since;
        let written = (0..LINES + 50).filter(|_| budget.spend(start).0).count();
        assert_eq!(written, LINES as usize);
        let (allowed, note) = budget.spend(start + WINDOW);
        assert!(allowed);
        assert_eq!(note.expect("note"), "(50 lines of log were dropped)\n");
    }

    #[test]
    fn a_line_is_one_line_and_moves_no_cursor() {
        for (line, expected) in [
            ("at /w/a\u{1b}[2Jb\n", "at /w/a\\u{1b}[2Jb\n"),
            ("one\ntwo\rthree\n", "one\\u{a}two\\u{d}three\n"),
            ("a\u{202e}b", "a\\u{202e}b\n"),
            ("", ""),
        ] {
            assert_eq!(shown(line.as_bytes()), expected.as_bytes(), "{line:?}");
        }
    }
}
