//! A command from its start to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use scorpiox_audit::Uses;
use scorpiox_cell::{Happened, Outcome, Tier};
use scorpiox_proxy::Refusal;
use scorpiox_transcript::{Finished, SpillPlace, Transcript, human_duration, prune};

use super::{Shell, ShellError, Started};
use crate::cancel::Cancel;

/// How often the newest line is looked at, for who wants to know how far a command is.
const NEWS_TIME: Duration = Duration::from_millis(500);
/// Without a new line for this long, a sign of life is given.
const HEARTBEAT_TIME: Duration = Duration::from_secs(15);
/// Whole outputs that are kept, and their bytes together.
const MAX_OUTPUTS: usize = 50;
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024 * 1024;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// For `bash -c`, in the workspace.
    pub command: String,
    /// On whose behalf.
    pub run_as: As,
    /// After this time it is ended.
    pub timeout: Option<Duration>,
    /// Told of where it runs, or why it does not, and of hosts that it is refused.
    pub uses: Uses,
}

/// On whose behalf a command runs, which decides its profile and whose task it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum As {
    /// The client's.
    Client {
        /// Whether nothing may be changed at the moment.
        read_only: bool,
    },
    /// A component's, as far as the policy grants it.
    Component {
        /// Its name.
        name: Arc<str>,
        /// The profile that was approved, of one that others ship.
        profile: Option<String>,
        /// Whether nothing may be changed at the moment.
        read_only: bool,
    },
}

impl As {
    /// The component, if it is one.
    pub(super) fn owner(&self) -> Option<Arc<str>> {
        match self {
            Self::Client { .. } => None,
            Self::Component { name, .. } => Some(Arc::clone(name)),
        }
    }
}

/// What became of it.
#[derive(Debug)]
pub struct Completed {
    /// What it printed.
    pub output: Finished,
    /// How it ended.
    pub outcome: Outcome,
    /// How it was confined.
    pub tier: Tier,
    /// Under which profile.
    pub profile: String,
    /// Hosts that were refused meanwhile.
    pub refusals: Vec<Refusal>,
    /// Folders in which nothing new could be made, as the tier cannot tell names apart.
    pub closed: Vec<PathBuf>,
    /// What was done before it, and is told once.
    pub notes: Vec<String>,
}

impl Shell {
    /// Runs a command to its end. `news`, where given, is told the newest line now and then.
    pub fn run(
        &self,
        request: &Request,
        cancel: &Cancel,
        news: Option<&dyn Fn(&str)>,
    ) -> Result<Completed, Arc<ShellError>> {
        let since = Instant::now();
        let mut started = self.start(request)?;
        let mut transcript = Transcript::new(output_place(&started.cell.plan.outputs));
        let running = &mut started.running;
        let mut ticker = news.map(|tell| News { tell, told: since, last: String::new(), begun: since });
        let mut stopped = false;
        let outcome = loop {
            if cancel.is_set() && !stopped {
                stopped = true;
                running.stop(false);
            }
            let bell = if stopped { None } else { cancel.bell() };
            let time = if ticker.is_some() { NEWS_TIME } else { Duration::from_secs(1) };
            match running.next(Some(time), bell).map_err(|error| Arc::new(error.into()))? {
                Happened::Output(bytes) => transcript.push(bytes),
                Happened::Nothing => {}
                Happened::Done(outcome) => break outcome,
            }
            if let Some(ticker) = &mut ticker {
                ticker.look(&transcript);
            }
        };
        let refusals = started.refusals(since);
        for refusal in &refusals {
            let host = format_args!("{}:{}", refusal.host, refusal.port);
            request.uses.note("network", host, Err(&refusal.why));
        }
        let Started { tier, profile, closed, notes, .. } = started;
        Ok(Completed { output: transcript.finish(), outcome, tier, profile, refusals, closed, notes })
    }
}

/// Where the whole output of the next command goes, if it is long.
fn output_place(folder: &Path) -> SpillPlace {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    if count.is_multiple_of(16) {
        prune(folder, MAX_OUTPUTS, MAX_OUTPUT_BYTES);
    }
    SpillPlace::new(folder, &format!("{}-{count}", std::process::id()))
}

struct News<'a> {
    tell: &'a dyn Fn(&str),
    begun: Instant,
    told: Instant,
    last: String,
}

impl News<'_> {
    fn look(&mut self, transcript: &Transcript) {
        if self.told.elapsed() < NEWS_TIME {
            return;
        }
        match transcript.newest_line().filter(|line| *line != self.last) {
            Some(line) => {
                (self.tell)(&line);
                self.last = line;
                self.told = Instant::now();
            }
            None if self.told.elapsed() >= HEARTBEAT_TIME => {
                (self.tell)(&format!("running for {}", human_duration(self.begun.elapsed())));
                self.told = Instant::now();
            }
            None => {}
        }
    }
}
