//! Runs a command in the foreground.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_command_output::{Complaints, Finished, Said, SpillPlace, Transcript, human_duration, prune};
use scorpiox_egress_proxy::Refusal;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_fs::home::instance;
use scorpiox_sandbox::{Happened, Outcome, Status, Tier};

use super::background::{Before, TaskPlace};
use super::met::Met;
use super::plan::outputs;
use super::request::{Request, note_hosts, note_names, note_reached};
use super::unknown_hosts::Ask;
use super::{Listed, RunsIn, Shell, ShellError, Started};

/// Interval between progress updates with the newest output line.
const NEWS_TIME: Duration = Duration::from_millis(500);
/// Note of a command that a changed policy ended.
pub(crate) const ENDED_BY_POLICY: &str = "the command was ended because the policy was changed while it ran, and may no longer allow it; start it again";
/// Interval between cancellation checks while the command is idle.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Interval without a new line after which a heartbeat is sent.
const HEARTBEAT_TIME: Duration = Duration::from_secs(15);
/// Maximum number and total size of stored outputs.
const MAX_OUTPUTS: usize = 50;
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024 * 1024;

/// Options for waiting on a command.
pub struct Wait<'a> {
    /// Cancellation flag of the call.
    pub cancel: &'a Cancel,
    /// Callback for progress updates with the newest output line.
    pub news: Option<&'a dyn Fn(&str)>,
    /// Maximum length of the shown output in UTF-16 units.
    pub shown_chars: usize,
    /// Deadline after which the command moves to the background.
    pub until: Option<Instant>,
    /// Asks a person whether commands may reach a host.
    pub ask: Option<&'a Ask<'a>>,
}

/// State of a command when the wait is over.
#[derive(Debug)]
pub enum Ran {
    /// The command has ended.
    ToItsEnd(Completed),
    /// The command continues in the background.
    IntoBackground(GoesOn),
}

/// A command that continues as a task of the client.
#[derive(Debug)]
pub struct GoesOn {
    /// Output up to the move. Later output belongs to the task.
    pub output: Finished,
    /// The task that the command became.
    pub task: Listed,
    /// Hosts refused so far.
    pub refusals: Vec<Refusal>,
    /// Notes that are reported once, about what preceded the command.
    pub notes: Vec<String>,
}

/// Result of a command that ended.
#[derive(Debug)]
pub struct Completed {
    /// Output of the command.
    pub output: Finished,
    /// Exit status and side effects.
    pub outcome: Outcome,
    /// Tier of the sandbox.
    pub tier: Tier,
    /// Name of the profile.
    pub profile: String,
    /// Hosts refused during the run.
    pub refusals: Vec<Refusal>,
    /// Notes that are reported once, about what preceded the command.
    pub notes: Vec<String>,
}

impl Shell {
    /// Runs a command until it ends, without a deadline.
    pub fn run(
        &self,
        request: &Request,
        cancel: &Cancel,
        shown_chars: usize,
    ) -> Result<Completed, Arc<ShellError>> {
        let mut command = Waited::start(self, request, shown_chars, false)?;
        let wait = Wait { cancel, news: None, shown_chars, until: None, ask: None };
        let outcome = loop {
            if let Some(outcome) = command.follow(&wait)? {
                break outcome;
            }
        };
        Ok(command.completed(request, outcome, cancel))
    }

    /// Runs a command until the deadline in `wait`, then moves it to the background. If all task slots are
    /// taken, it stays in the foreground until one is free.
    pub fn run_within(&self, request: &Request, wait: &Wait<'_>) -> Result<Ran, Arc<ShellError>> {
        let mut command = Waited::start(self, request, wait.shown_chars, wait.ask.is_some())?;
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

/// A command in the foreground.
pub(super) struct Waited {
    started: Started,
    transcript: Transcript,
    met: Met,
    complaints: Complaints,
    said: Said,
    since: Instant,
    told: Option<OutputProgress>,
    stopped: bool,
}

impl Waited {
    fn start(
        shell: &Shell,
        request: &Request,
        shown_chars: usize,
        asks: bool,
    ) -> Result<Self, Arc<ShellError>> {
        let since = Instant::now();
        Ok(Self { since, ..Self::of(shell.start(request, RunsIn::Foreground { asks })?, shown_chars) })
    }

    /// Wraps a started command.
    pub(super) fn of(started: Started, shown_chars: usize) -> Self {
        let transcript = Transcript::new(output_place(&started.cell.plan.outputs), shown_chars);
        let (met, complaints, said) = (Met::default(), Complaints::default(), Said::default());
        Self { started, transcript, met, complaints, said, since: Instant::now(), told: None, stopped: false }
    }

    /// Processes the output until the command ends or the deadline passes, and asks about unknown hosts
    /// meanwhile. Returns `None` at the deadline.
    pub(super) fn follow(&mut self, wait: &Wait<'_>) -> Result<Option<Outcome>, Arc<ShellError>> {
        let Some((asker, ask)) = self.started.asker.take().zip(wait.ask) else {
            return self.follow_output(wait);
        };
        let is_over = Cancel::default();
        let mut kept = Vec::new();
        let (followed, asker) = thread::scope(|scope| {
            let serve = || asker.serve(ask, &is_over, &mut kept);
            // Without a thread, unknown hosts are refused.
            let started = thread::Builder::new().name("unknown hosts".to_owned()).spawn_scoped(scope, serve);
            let end = is_over.clone();
            let _watch = wait.cancel.watch(move || end.set(Reason::Client));
            let followed = self.follow_output(wait);
            is_over.set(Reason::Client);
            let asker = started.ok().and_then(|started| started.join().ok().flatten());
            (followed, asker)
        });
        self.started.asker = asker;
        self.started.notes.append(&mut kept);
        followed
    }

    fn follow_output(&mut self, wait: &Wait<'_>) -> Result<Option<Outcome>, Arc<ShellError>> {
        let Self { started, transcript, met, complaints, said, since, told, stopped } = self;
        loop {
            if wait.cancel.is_set() && !*stopped {
                *stopped = true;
                started.running.stop(false);
            }
            let bell = if *stopped { None } else { wait.cancel.bell() };
            let left =
                wait.until.filter(|_| !*stopped).map(|until| until.saturating_duration_since(Instant::now()));
            let time = if wait.news.is_some() { NEWS_TIME } else { LOOK_TIME };
            // After the deadline `left` is zero: the command found no free task slot and retries after
            // `time`.
            let time = left.filter(|left| !left.is_zero()).map_or(time, |left| left.min(time));
            started.watch_traps();
            let happened = started.running.next(Some(time), bell).map_err(|error| {
                // A result may never arrive; `lose` records that the created names are unknown.
                started.untold.lose(None, started.active.take());
                Arc::new(error.into())
            });
            match happened? {
                Happened::Output(bytes) => {
                    met.look(bytes);
                    complaints.look(bytes);
                    said.look(bytes);
                    transcript.push(bytes);
                }
                Happened::Nothing => {}
                Happened::Done(outcome) => return Ok(Some(*outcome)),
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
        self.started.asker = None;
        self.started.end_connections();
        let (outcome, moved) = self.started.judged(outcome);
        // A cancelled call returns no result, and a component does not show created names.
        if cancel.is_set() || request.run_as.owner().is_some() {
            let entry = self.started.active.take();
            self.started.untold.keep(None, &outcome.names, entry);
        }
        let refusals = self.refusals(request);
        note_names(&request.uses, &outcome);
        request.uses.took_processor(Duration::from_micros(outcome.processor_us));
        let failed = outcome.ended.is_some() || outcome.status != Status::Code(0);
        let has_refusals = !refusals.is_empty();
        let advice = if failed {
            self.started.advice(&self.complaints, has_refusals)
        } else {
            self.started.advice_after_success(&self.complaints, has_refusals)
        };
        let mut about_files = self.started.about_files(&self.met);
        about_files.extend(self.started.about_tracked(&self.complaints));
        if failed && about_files.is_empty() {
            about_files.extend(self.started.about_unnamed(&self.met));
        }
        let hints = self.started.hints(&self.said, &outcome);
        let crowded = self.started.crowded();
        let Started { tier, profile, mut notes, .. } = self.started;
        notes.extend(about_files.into_iter().chain(crowded).chain(advice).chain(hints).chain(moved));
        if cancel.reason() == Some(Reason::PolicyChanged) {
            notes.push(ENDED_BY_POLICY.to_owned());
        }
        Completed { output: self.transcript.finish(), outcome, tier, profile, refusals, notes }
    }

    fn go_on(mut self, request: &Request, place: TaskPlace<'_>) -> Result<GoesOn, Arc<ShellError>> {
        self.started.asker = None;
        let refusals = self.refusals(request);
        let mut notes = std::mem::take(&mut self.started.notes);
        notes.extend(self.started.about_files(&self.met));
        notes.extend(self.started.advice(&self.complaints, !refusals.is_empty()));
        let (output, open) = self.transcript.hand_over();
        let before = Before { since: self.since, printed: &open, refusals: refusals.clone() };
        let task = place.fill(request, self.started, before)?;
        Ok(GoesOn { output, task, refusals, notes })
    }

    /// Returns the hosts refused so far, each once, and records all refusals in the audit record of the call.
    fn refusals(&self, request: &Request) -> Vec<Refusal> {
        let refusals = self.started.refusals();
        note_hosts(&request.uses, &refusals);
        note_reached(&request.uses, &self.started.reached());
        let lost = self.started.lost_hosts();
        request.uses.left_out(lost.reached, lost.refused);
        self.started.note_met(&self.met, &request.uses);
        refusals
    }
}

impl Shell {
    /// Returns a new path for a text that is too long for a result. Commands can read it.
    pub fn place_for_text(&self) -> SpillPlace {
        output_place(&outputs(self.site()))
    }
}

/// Returns the path for the complete output of the next command, if that output is long.
pub(super) fn output_place(folder: &Path) -> SpillPlace {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    if count.is_multiple_of(16) {
        prune(folder, MAX_OUTPUTS, MAX_OUTPUT_BYTES);
    }
    SpillPlace::new(folder, &format!("{}-{count}", instance::name()))
}

/// Last progress update sent to the caller.
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
