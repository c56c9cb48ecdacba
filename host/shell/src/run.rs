//! A command from its start to its end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use scorpiox_cell::{Happened, Outcome, Status, Tier};
use scorpiox_executor::Cancel;
use scorpiox_home::instance;
use scorpiox_proxy::Refusal;
use scorpiox_transcript::{Complaints, Finished, SpillPlace, Transcript, human_duration, prune};

use super::background::{Before, TaskPlace};
use super::met::Met;
use super::plan::outputs;
use super::request::{Request, note_hosts, note_names, note_reached};
use super::{Listed, Shell, ShellError, Started};

/// How often the newest line is looked at, for who wants to know how far a command is.
const NEWS_TIME: Duration = Duration::from_millis(500);
/// How often it is looked whether the call is to stop, where nothing else happens.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Without a new line for this long, a sign of life is given.
const HEARTBEAT_TIME: Duration = Duration::from_secs(15);
/// Whole outputs that are kept, and their bytes together.
const MAX_OUTPUTS: usize = 50;
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024 * 1024;

/// How a command is waited for.
pub struct Wait<'a> {
    /// Set when it must stop.
    pub cancel: &'a Cancel,
    /// Told the newest line now and then.
    pub news: Option<&'a dyn Fn(&str)>,
    /// UTF-16 units of its output that are shown.
    pub shown_chars: usize,
    /// When it goes on in the background, if it has not ended by then.
    pub until: Option<Instant>,
}

/// What there is when the waiting is over.
#[derive(Debug)]
pub enum Ran {
    /// It has ended.
    ToItsEnd(Completed),
    /// It goes on.
    IntoBackground(GoesOn),
}

/// A command that goes on as a task of the client's.
#[derive(Debug)]
pub struct GoesOn {
    /// What it printed so far. What it prints from here on is the task's.
    pub output: Finished,
    /// What it has become.
    pub task: Listed,
    /// Hosts that were refused so far.
    pub refusals: Vec<Refusal>,
    /// What was done before it, and is told once.
    pub notes: Vec<String>,
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
    /// What was done before it, and is told once.
    pub notes: Vec<String>,
}

impl Shell {
    /// Runs a command to its end, for as long as that takes.
    pub fn run(
        &self,
        request: &Request,
        cancel: &Cancel,
        shown_chars: usize,
    ) -> Result<Completed, Arc<ShellError>> {
        let mut command = Waited::start(self, request, shown_chars)?;
        let wait = Wait { cancel, news: None, shown_chars, until: None };
        let outcome = loop {
            if let Some(outcome) = command.follow(&wait)? {
                break outcome;
            }
        };
        Ok(command.completed(request, outcome, cancel))
    }

    /// Runs a command for as long as `wait` says. Where the client has no room for one more task, it
    /// is waited for until there is.
    pub fn run_within(&self, request: &Request, wait: &Wait<'_>) -> Result<Ran, Arc<ShellError>> {
        let mut command = Waited::start(self, request, wait.shown_chars)?;
        loop {
            if let Some(outcome) = command.follow(wait)? {
                return Ok(Ran::ToItsEnd(command.completed(request, outcome, wait.cancel)));
            }
            if let Some(place) = self.place_for_task()? {
                return command.go_on(request, place).map(Ran::IntoBackground);
            }
        }
    }
}

/// A command that is waited for.
pub(super) struct Waited {
    started: Started,
    transcript: Transcript,
    met: Met,
    complaints: Complaints,
    since: Instant,
    told: Option<OutputProgress>,
    stopped: bool,
}

impl Waited {
    fn start(shell: &Shell, request: &Request, shown_chars: usize) -> Result<Self, Arc<ShellError>> {
        let since = Instant::now();
        Ok(Self { since, ..Self::of(shell.start(request)?, shown_chars) })
    }

    /// Of one that was started.
    pub(super) fn of(started: Started, shown_chars: usize) -> Self {
        let transcript = Transcript::new(output_place(&started.cell.plan.outputs), shown_chars);
        let (met, complaints) = (Met::default(), Complaints::default());
        Self { started, transcript, met, complaints, since: Instant::now(), told: None, stopped: false }
    }

    /// Takes what it prints: until it ends, or until the time is over.
    pub(super) fn follow(&mut self, wait: &Wait<'_>) -> Result<Option<Outcome>, Arc<ShellError>> {
        let Self { started, transcript, met, complaints, since, told, stopped } = self;
        let Started { running, untold, active, .. } = started;
        loop {
            if wait.cancel.is_set() && !*stopped {
                *stopped = true;
                running.stop(false);
            }
            let bell = if *stopped { None } else { wait.cancel.bell() };
            let left =
                wait.until.filter(|_| !*stopped).map(|until| until.saturating_duration_since(Instant::now()));
            let time = if wait.news.is_some() { NEWS_TIME } else { LOOK_TIME };
            // The one that found no room looks again after a while.
            let time = left.filter(|left| !left.is_zero()).map_or(time, |left| left.min(time));
            let happened = running.next(Some(time), bell).map_err(|error| {
                // Whether the result arrives nobody knows, which says so too.
                untold.lose(None, active.take());
                Arc::new(error.into())
            });
            match happened? {
                Happened::Output(bytes) => {
                    met.look(bytes);
                    complaints.look(bytes);
                    transcript.push(bytes);
                }
                Happened::Nothing => {}
                Happened::Done(outcome) => return Ok(Some(outcome)),
            }
            if let Some(tell) = wait.news {
                told.get_or_insert_with(|| OutputProgress::since(*since)).look(tell, transcript);
            }
            let is_over = wait.until.is_some_and(|until| until <= Instant::now());
            if is_over && !*stopped {
                return Ok(None);
            }
        }
    }

    pub(super) fn completed(mut self, request: &Request, outcome: Outcome, cancel: &Cancel) -> Completed {
        let outcome = self.started.judged(outcome);
        // A cancelled call has no result, and a component shows nothing of this.
        if cancel.is_set() || request.run_as.owner().is_some() {
            let entry = self.started.active.take();
            self.started.untold.keep(None, &outcome.names, entry);
        }
        let refusals = self.refusals(request);
        note_names(&request.uses, &outcome);
        request.uses.took_processor(Duration::from_micros(outcome.processor_us));
        let failed = outcome.ended.is_some() || outcome.status != Status::Code(0);
        let advice = if failed { self.started.advice(&self.complaints) } else { Vec::new() };
        let Started { tier, profile, mut notes, .. } = self.started;
        notes.extend(advice);
        Completed { output: self.transcript.finish(), outcome, tier, profile, refusals, notes }
    }

    fn go_on(mut self, request: &Request, place: TaskPlace<'_>) -> Result<GoesOn, Arc<ShellError>> {
        let refusals = self.refusals(request);
        let mut notes = std::mem::take(&mut self.started.notes);
        notes.extend(self.started.advice(&self.complaints));
        let (output, open) = self.transcript.hand_over();
        let before = Before { since: self.since, printed: &open, refusals: refusals.clone() };
        let task = place.fill(request, self.started, before)?;
        Ok(GoesOn { output, task, refusals, notes })
    }

    /// Hosts that were refused so far, which the call's record has, too.
    fn refusals(&self, request: &Request) -> Vec<Refusal> {
        let refusals = self.started.refusals(self.since);
        note_hosts(&request.uses, &refusals);
        note_reached(&request.uses, &self.started.reached(self.since));
        self.started.note_met(&self.met, &request.uses);
        refusals
    }
}

impl Shell {
    /// A new place for a whole text that is too long for a result. Commands can read it.
    pub fn place_for_text(&self) -> SpillPlace {
        output_place(&outputs(self.site()))
    }
}

/// Where the whole output of the next command goes, if it is long.
fn output_place(folder: &Path) -> SpillPlace {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    if count.is_multiple_of(16) {
        prune(folder, MAX_OUTPUTS, MAX_OUTPUT_BYTES);
    }
    SpillPlace::new(folder, &format!("{}-{count}", instance::name()))
}

/// What somebody who waits was told last.
struct OutputProgress {
    begun: Instant,
    told: Instant,
    last: String,
}

impl OutputProgress {
    fn since(begun: Instant) -> Self {
        Self { begun, told: begun, last: String::new() }
    }

    fn look(&mut self, tell: &dyn Fn(&str), transcript: &Transcript) {
        if self.told.elapsed() < NEWS_TIME {
            return;
        }
        match transcript.newest_line().filter(|line| *line != self.last) {
            Some(line) => {
                tell(&line);
                self.last = line;
                self.told = Instant::now();
            }
            None if self.told.elapsed() >= HEARTBEAT_TIME => {
                tell(&format!("running for {}", human_duration(self.begun.elapsed())));
                self.told = Instant::now();
            }
            None => {}
        }
    }
}
