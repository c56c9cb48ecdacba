//! Copies of the lines, to other places: a file, the journal, a log server.
//!
//! What is sent is what lies in the audit's own files, byte for byte and in its order: so nothing is held in memory
//! for a place that takes no lines, a place gets what it missed when it is there again, and who has the copy can
//! verify the chain. How far each export is lies beside the lines, so that the next server goes on.
//!
//! Each export has a thread of its own, which the first line starts; nobody waits for it who does not ask
//! [`Export::ensure`].

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

pub(crate) use place::taken;
pub use syslog::{Authorities, LogServer};
use work::Work;

/// Messages say that they are from this program.
const APP_NAME: &str = "scorpiox-code";
/// `log audit` and `informational`, as RFC 5424 numbers them.
const FACILITY: u8 = 13;
const SEVERITY: u8 = 6;
/// Longest time until there is a connection.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Longest time until something is taken, or answered.
const SEND_TIME: Duration = Duration::from_secs(3);
/// A connection whose other end confirms nothing for so long is broken. Elsewhere the system decides, by its own time.
#[cfg(target_os = "linux")]
const UNHEARD_TIME: Duration = Duration::from_secs(10);
/// What was sent so long ago on a connection that is not broken has arrived.
const CONFIRM_TIME: Duration = Duration::from_secs(if cfg!(target_os = "linux") { 15 } else { 60 });
/// Between two tries of a place that takes nothing, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// How long somebody waits who wants a place to have all lines.
const ENSURE_TIME: Duration = Duration::from_secs(5);
/// The same where the place took none before: a call is refused soon, so that another server can be asked.
const RECOVER_TIME: Duration = Duration::from_secs(1);
/// Most bytes of lines that wait and that the audit cannot take. What is more is in the audit alone, when it takes it.
const MAX_APART_BYTES: usize = 256 * 1024;
/// Enough for TLS.
const STACK_BYTES: usize = 1024 * 1024;

/// A place that lines are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, by its absolute path.
    File(PathBuf),
    /// The journal of systemd.
    Journald,
    /// A log server.
    Syslog(LogServer),
}

/// An export as messages call it.
#[derive(Debug, Clone)]
pub struct Named {
    /// The place.
    pub place: String,
    /// The rule that wants it.
    pub rule: String,
    /// The machine, for log servers.
    pub machine: String,
}

/// Why a place takes no lines.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the export to {place} ({rule}) takes no lines: {why}")]
pub struct ExportError {
    place: String,
    rule: String,
    why: Arc<str>,
}

/// A way to a place. Sends whole lines, or fails.
pub trait Sink: Send {
    /// Makes sure that it takes lines now. Fails also where what was sent before may not have arrived; the next
    /// check begins anew then.
    fn check(&mut self) -> io::Result<()>;

    /// Sends lines after a check: how many of them it cannot take at all.
    fn send(&mut self, lines: &[u8]) -> io::Result<u64>;

    /// Whether what was sent may still be on its way.
    fn is_remote(&self) -> bool {
        false
    }

    /// Ends: whether all that was sent has arrived.
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

/// The journal of systemd, where there is none: each check says so.
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

/// Tells the operator something.
pub type Tell = fn(&str);

/// One export of an audit.
pub struct Export {
    shared: Arc<Shared>,
    /// What the thread will do, until it is started.
    work: Mutex<Option<Work>>,
}

/// What the thread and those who ask it know of each other.
struct Shared {
    named: Named,
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    /// How often somebody had news, and how many of these were seen to.
    asked: u64,
    seen: u64,
    /// Somebody waits.
    is_urgent: bool,
    /// Lines that the audit cannot take now.
    apart: Vec<u8>,
    failed: Option<ExportError>,
    /// The server ends: nothing is begun after this.
    ends_at: Option<Instant>,
    has_ended: bool,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Export").field(&self.shared.named.place).finish()
    }
}

impl Export {
    /// Of the audit in this folder. Nothing is opened before the first line.
    pub fn new(folder: &Path, target: &Target, named: Named, tell: Tell) -> Self {
        Self::to(folder, sink(target, &named.machine), named, tell)
    }

    /// The same, by a way that others know.
    pub fn to(folder: &Path, sink: Box<dyn Sink>, named: Named, tell: Tell) -> Self {
        let shared = Shared { named, state: Mutex::default(), bell: Condvar::new() };
        let shared = Arc::new(shared);
        let work = Work::new(folder, sink, Arc::clone(&shared), tell);
        Self { shared, work: Mutex::new(Some(work)) }
    }

    /// Whether a place takes lines, for a person who asks.
    pub fn check(target: &Target, named: &Named) -> Result<(), ExportError> {
        Self::check_sink(&mut *sink(target, &named.machine), named)
    }

    /// The same, by a way that others know.
    pub fn check_sink(sink: &mut dyn Sink, named: &Named) -> Result<(), ExportError> {
        let checked = sink.check().map_err(|error| named.failed(&error));
        sink.close();
        checked
    }

    /// There are new lines. Does not wait.
    pub fn wake(&self) {
        self.shared.lock().asked += 1;
        self.ring();
    }

    /// Sends a line that the audit itself cannot take now, so that somebody has it. It has no place in the chain, and
    /// comes again with one when the audit takes it. Does not wait.
    pub fn send_apart(&self, line: &[u8]) {
        let mut state = self.shared.lock();
        if state.apart.len() + line.len() <= MAX_APART_BYTES {
            state.apart.extend_from_slice(line);
        }
        drop(state);
        self.wake();
    }

    /// Waits until the place has all lines that are written by now, for a bounded time: for a shorter one where it took
    /// none before.
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

    /// The place, as messages call it.
    pub fn place(&self) -> &str {
        &self.shared.named.place
    }

    /// Reports whether it took lines when that was tried last. Waits for nothing.
    pub fn takes(&self) -> bool {
        self.shared.lock().failed.is_none()
    }

    /// The server ends: sends what there is until then, and no longer.
    pub fn end(&self, until: Instant) {
        self.shared.lock().ends_at = Some(until);
        self.shared.bell.notify_all();
    }

    /// Waits until it has ended, or until its time is over.
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
        // The thread is not left waiting for news.
        let mut state = self.shared.lock();
        state.ends_at.get_or_insert_with(Instant::now);
        drop(state);
        self.shared.bell.notify_all();
    }
}

impl Named {
    fn failed(&self, why: &dyn fmt::Display) -> ExportError {
        ExportError { place: self.place.clone(), rule: self.rule.clone(), why: why.to_string().into() }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
