//! Exports audit lines to other destinations: a file, the systemd journal, or a log server.
//!
//! An export sends the contents of the audit files, byte for byte and in order. Nothing is buffered in memory
//! while a destination is unavailable, and a destination that returns receives the lines it missed. Copies
//! can be verified with the chain. The position of each export is stored next to the audit files, so another
//! server can continue.
//!
//! Each export has its own thread, started by the first line. Only [`Export::ensure`] waits for it.

mod feed;
mod file;
#[cfg(unix)]
mod journal;
mod place;
mod syslog;
mod work;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) use place::{Taken, taken};
pub use syslog::{Authorities, LogServer};
use work::Work;

/// Application name in messages.
const APP_NAME: &str = "scorpiox-code";
/// `log audit` and `informational` in the numbering of RFC 5424.
const FACILITY: u8 = 13;
const SEVERITY: u8 = 6;
/// Timeout for establishing a connection.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Timeout for a single read or write.
const SEND_TIME: Duration = Duration::from_secs(3);
/// Time without acknowledgment after which a connection counts as broken. Other systems use their own
/// default.
#[cfg(target_os = "linux")]
const UNHEARD_TIME: Duration = Duration::from_secs(10);
/// Age at which data sent over an unbroken connection counts as delivered.
const CONFIRM_TIME: Duration = Duration::from_secs(if cfg!(target_os = "linux") { 15 } else { 60 });
/// Initial and maximum delay between retries of a failing destination.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Maximum time that [`Export::ensure`] waits for a destination.
const ENSURE_TIME: Duration = Duration::from_secs(5);
/// Maximum wait if the destination failed before. It is short, so that the client can try another server.
const RECOVER_TIME: Duration = Duration::from_secs(1);
/// Maximum size of queued lines that the audit log cannot record. Excess lines are exported only if the audit
/// log records them later.
const MAX_APART_BYTES: usize = 256 * 1024;
/// Thread stack size, sufficient for TLS.
const STACK_BYTES: usize = 1024 * 1024;

/// Destination of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// File with an absolute path.
    File(PathBuf),
    /// The systemd journal.
    Journald,
    /// Log server.
    Syslog(LogServer),
}

/// Export as named in messages.
#[derive(Debug, Clone)]
pub struct Named {
    /// Destination, which identifies the position up to which it has lines.
    pub place: String,
    /// Destination as shown to people, without what may be a secret.
    pub shown: String,
    /// Policy rule that requires the export.
    pub rule: String,
    /// Host name sent to log servers.
    pub machine: String,
}

/// Reason why a destination accepts no lines.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the export to {place} ({rule}) takes no lines: {why}")]
pub struct ExportError {
    place: String,
    rule: String,
    why: Arc<str>,
}

/// Connection to a destination. Sends complete lines or fails.
pub trait Sink: Send {
    /// Verifies that the destination accepts lines. Also fails if earlier lines may be lost; the next check
    /// then reconnects.
    fn check(&mut self) -> io::Result<()>;

    /// Sends lines after a check. Returns the number of lines that the destination can never accept.
    fn send(&mut self, lines: &[u8]) -> io::Result<u64>;

    /// Returns `true` if lines may still be in transit after [`Sink::send`].
    fn is_remote(&self) -> bool {
        false
    }

    /// Closes the connection. Returns `true` if everything sent has arrived.
    fn close(&mut self) -> bool {
        true
    }
}

fn sink(target: &Target, machine: &str) -> Box<dyn Sink> {
    match target {
        Target::File(path) => Box::new(file::FileSink::new(path.clone())),
        #[cfg(unix)]
        Target::Journald => Box::new(journal::JournalSink::new(journal::SOCKET.into())),
        #[cfg(not(unix))]
        Target::Journald => Box::new(NoJournal),
        Target::Syslog(server) => Box::new(syslog::SyslogSink::new(server.clone(), machine)),
    }
}

/// Stand-in for the systemd journal on systems without it; each check fails.
#[cfg(not(unix))]
struct NoJournal;

#[cfg(not(unix))]
impl Sink for NoJournal {
    fn check(&mut self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no journal of systemd"))
    }

    fn send(&mut self, _: &[u8]) -> io::Result<u64> {
        self.check().map(|()| 0)
    }
}

/// Reports a message to the operator.
pub type Tell = fn(&str);

/// Export of an audit log.
pub struct Export {
    shared: Arc<Shared>,
    /// Task of the thread, until the thread is started.
    work: Mutex<Option<Work>>,
}

/// State shared by the thread and its callers.
struct Shared {
    named: Named,
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    /// Number of requests, and how many of them are served.
    asked: u64,
    seen: u64,
    /// `true` if a caller waits in [`Export::ensure`].
    is_urgent: bool,
    /// Lines that the audit log cannot record at the moment.
    apart: Vec<u8>,
    failed: Option<ExportError>,
    /// Deadline for shutdown; no work starts after it.
    ends_at: Option<Instant>,
    has_ended: bool,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Export").field(&self.shared.named.shown).finish()
    }
}

impl Export {
    /// Creates an export of the audit log in `folder`. Opens nothing before the first line.
    pub fn new(folder: &Path, target: &Target, named: Named, tell: Tell) -> Self {
        Self::to(folder, sink(target, &named.machine), named, tell)
    }

    /// Creates an export through the given sink.
    pub fn to(folder: &Path, sink: Box<dyn Sink>, named: Named, tell: Tell) -> Self {
        let shared = Shared { named, state: Mutex::default(), bell: Condvar::new() };
        let shared = Arc::new(shared);
        let work = Work::new(folder, sink, Arc::clone(&shared), tell);
        Self { shared, work: Mutex::new(Some(work)) }
    }

    /// Tests whether a destination accepts lines, for interactive use.
    pub fn check(target: &Target, named: &Named) -> Result<(), ExportError> {
        Self::check_sink(&mut *sink(target, &named.machine), named)
    }

    /// Tests the given sink.
    pub fn check_sink(sink: &mut dyn Sink, named: &Named) -> Result<(), ExportError> {
        let checked = sink.check().map_err(|error| named.failed(&error));
        sink.close();
        checked
    }

    /// Signals new lines. Does not wait.
    pub fn wake(&self) {
        self.shared.lock().asked += 1;
        self.ring();
    }

    /// Sends a line that the audit log cannot record at the moment, so that it is not lost. The line is not
    /// chained; if the audit log records it later, it is exported again with its link. Does not wait.
    pub fn send_apart(&self, line: &[u8]) {
        let mut state = self.shared.lock();
        if state.apart.len() + line.len() <= MAX_APART_BYTES {
            state.apart.extend_from_slice(line);
        }
        drop(state);
        self.wake();
    }

    /// Waits until the destination has all lines written so far. The timeout is shorter if the destination
    /// failed before.
    pub fn ensure(&self) -> Result<(), ExportError> {
        let (mine, time) = {
            let mut state = self.shared.lock();
            state.asked += 1;
            state.is_urgent = true;
            (state.asked, if state.failed.is_some() { RECOVER_TIME } else { ENSURE_TIME })
        };
        self.ring();
        let is_waiting = |state: &mut State| state.seen < mine && !state.has_ended;
        let mut state = self.shared.lock();
        self.shared.bell.wait_while_for(&mut state, is_waiting, time);
        match &state.failed {
            Some(error) => Err(error.clone()),
            None if state.seen < mine => Err(self.shared.named.failed(&"it does not take them in time")),
            None => Ok(()),
        }
    }

    /// Returns the name of the destination as used in messages.
    pub fn shown(&self) -> &str {
        &self.shared.named.shown
    }

    /// Returns `true` if the last attempt succeeded. Does not wait.
    pub fn takes(&self) -> bool {
        self.shared.lock().failed.is_none()
    }

    /// Starts the shutdown: lines are sent until the deadline.
    pub fn end(&self, until: Instant) {
        self.shared.lock().ends_at = Some(until);
        self.shared.bell.notify_all();
    }

    /// Waits until the thread has ended or the deadline has passed.
    pub fn wait(&self) {
        let is_started = self.work.lock().is_none();
        let mut state = self.shared.lock();
        let until = state.ends_at.filter(|_| is_started);
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        self.shared.bell.wait_while_for(&mut state, |state| !state.has_ended, left);
    }

    fn ring(&self) {
        let mut work = self.work.lock();
        if let Some(work) = work.take() {
            let builder = thread::Builder::new().name("export".to_owned()).stack_size(STACK_BYTES);
            if let Err(error) = builder.spawn(move || work.run()) {
                let mut state = self.shared.lock();
                state.failed = Some(self.shared.named.failed(&error));
                state.has_ended = true;
            }
        }
        self.shared.bell.notify_all();
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // Ends the thread, which otherwise waits for new lines.
        let mut state = self.shared.lock();
        state.ends_at.get_or_insert_with(Instant::now);
        drop(state);
        self.shared.bell.notify_all();
    }
}

impl Named {
    fn failed(&self, why: &dyn fmt::Display) -> ExportError {
        ExportError { place: self.shown.clone(), rule: self.rule.clone(), why: why.to_string().into() }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
