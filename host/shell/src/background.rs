//! Background tasks: commands that run while the client does other things.
//!
//! A thread per task reads its output into a ring buffer. A task that has ended is retained until its output
//! is read to the end, and for ten more minutes.

mod ends;
mod refusals;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use scorpiox_audit::{ClientName, UnderPolicy, Uses};
use scorpiox_command_output::{Complaints, Cursor, FullOutput, Piece, Ring, Said, Whole};
use scorpiox_egress_proxy::Refusal;
use scorpiox_executor::{Cancel, Reason, threads};
use scorpiox_policy::Policy;
use scorpiox_sandbox::{Happened, Outcome, Tier};

use super::met::Met;
use super::request::{Request, note_hosts, note_names, note_reached};
use super::run::{ENDED_BY_POLICY, output_place};
use super::{RunsIn, Shell, ShellError, Started};
use refusals::Refusals;

/// Retention time of a task that has ended and is read to the end.
const KEPT_TIME: Duration = Duration::from_mins(10);
/// Maximum number of ended tasks that are not read to the end.
const MAX_ENDED: usize = 64;
/// Number of ID blocks. Each server of a shared database draws one block, so that task IDs of different
/// servers do not collide.
const BLOCKS: u32 = 2_000_000;
/// Number of task IDs in a block.
const BLOCK: u32 = 1000;

/// All background tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    table: Mutex<Table>,
    listener: Arc<OnceLock<Listener>>,
}

/// Callback for tasks that have ended.
struct Listener(Box<dyn Fn(Report) + Send + Sync>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// Final report of a task.
pub struct Report {
    /// Resources accessed or refused since the call was recorded, with the client that started the task.
    pub uses: Uses,
    /// Run time of the task.
    pub duration: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// ID before that of the first task.
    before: u32,
    last_id: u32,
    tasks: BTreeMap<u32, Arc<Task>>,
    /// Number of reserved slots whose task is not in the table yet.
    starting: usize,
}

/// Owner of a task. Only the owner can find the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    component: Option<&'a str>,
    principal: Option<&'a str>,
}

impl<'a> Owner<'a> {
    /// Creates the owner from the component that started the task, or `None` for the client, and from the
    /// principal recorded in `uses`.
    pub fn new(component: Option<&'a str>, uses: &'a Uses) -> Self {
        Self { component, principal: uses.client().and_then(|client| client.principal.as_deref()) }
    }
}

/// Hint for clients over HTTP that another server may own the task.
pub const ELSEWHERE: &str = "Background commands are known only to the server that started them. If several servers share this address, try \
     again: the request may reach the right one. Whoever runs them can have the balancer send each client to one server";

/// Returns the error message for a task ID outside of this server's block.
fn elsewhere(id: u32, known: &[String]) -> String {
    let known = if known.is_empty() { String::new() } else { format!("; known tasks: {}", known.join(", ")) };
    format!("this server has no task {id}{known}. {ELSEWHERE}")
}

/// Draws a random block and returns the ID before its first one.
fn draw() -> u32 {
    let mut random = [0; 4];
    // Without randomness, every server uses the first block, and task IDs collide.
    let _ = getrandom::fill(&mut random);
    u32::from_le_bytes(random) % BLOCKS * BLOCK
}

#[derive(Debug)]
struct Task {
    id: u32,
    /// Component that started the task, or `None` for the client.
    owner: Option<Arc<str>>,
    /// Client that made the call, if known.
    client: Option<Arc<ClientName>>,
    /// Policy under which the command runs, if known.
    policy: Option<Arc<dyn UnderPolicy>>,
    command: String,
    tier: Tier,
    profile: String,
    /// `true` if the command can change files or reach the network.
    changes_things: bool,
    started: Instant,
    stop: Cancel,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    whole: Option<FullOutput>,
    /// Read position of the client.
    cursor: Cursor,
    refusals: Refusals,
    /// Advice for the user that the client has not received yet.
    advice: Vec<String>,
    ended: Option<(TaskEnd, Instant)>,
    read_to_end: Option<Instant>,
    /// `true` if a result has told of the end.
    end_is_told: bool,
}

/// End state of a task.
#[derive(Debug, Clone)]
pub enum TaskEnd {
    /// The shell of the task ended.
    Ended(Box<Outcome>),
    /// The sandbox failed and took the command with it.
    Lost(String),
}

/// State of a task.
#[derive(Debug, Clone)]
pub enum TaskState {
    /// Running, with the elapsed time.
    Running(Duration),
    /// Ended, with the total run time.
    Ended(TaskEnd, Duration),
}

/// A task as shown in listings.
#[derive(Debug, Clone)]
pub struct Listed {
    /// ID of the task.
    pub id: u32,
    /// Command line.
    pub command: String,
    /// Tier of the sandbox.
    pub tier: Tier,
    /// Name of the profile.
    pub profile: String,
    /// Current state.
    pub state: TaskState,
    /// Number of bytes printed so far.
    pub printed_bytes: u64,
    /// Reason for which the server stopped the task, if it did.
    pub stopped: Option<Reason>,
}

/// A task that was started.
#[derive(Debug)]
pub struct Begun {
    /// The task.
    pub task: Listed,
    /// Notes that are reported once, about what preceded the command.
    pub notes: Vec<String>,
}

/// Result of reading a task.
#[derive(Debug)]
pub struct ReadPiece {
    /// New output.
    pub piece: Piece,
    /// File with all of it, if it is long.
    pub whole: Option<FullOutput>,
    /// Hosts refused since the last read.
    pub refusals: Vec<Refusal>,
    /// Advice for the user on how to open a refused resource, reported once.
    pub advice: Vec<String>,
    /// The task.
    pub task: Listed,
}

impl Shell {
    /// Starts a command as a background task.
    pub fn start_task(&self, request: &Request) -> Result<Begun, Arc<ShellError>> {
        let policy = self.policy()?;
        let most = policy.shell.max_background_tasks.value;
        let place = self.tasks.reserve(policy).ok_or_else(|| {
            let error = Arc::new(ShellError::TooManyTasks(most));
            request.uses.denied("shell", "", &error.to_string(), error.rule(self.policy().ok()));
            error
        })?;
        let mut started = self.start(request, RunsIn::Background)?;
        let notes = std::mem::take(&mut started.notes);
        let task = place.fill(request, started, Before::nothing())?;
        Ok(Begun { task, notes })
    }

    /// Reserves a task slot for a running command, or returns `None` if all slots are taken.
    pub(super) fn place_for_task(&self) -> Result<Option<TaskPlace<'_>>, Arc<ShellError>> {
        Ok(self.tasks.reserve(self.policy()?))
    }

    /// Returns the tasks of an owner in the order of their start. A result tells of all of them.
    pub fn tasks(&self, owner: Owner<'_>) -> Vec<Listed> {
        let table = self.tasks.lock();
        let own = table.tasks.values().filter(|task| task.owner() == owner);
        own.inspect(|task| _ = task.take_end()).map(|task| task.listed()).collect()
    }

    /// Returns the tasks of all owners, each with the principal that started it.
    pub fn all_tasks(&self) -> Vec<(Option<String>, Listed)> {
        let table = self.tasks.lock();
        let listed = |task: &Arc<Task>| (task.owner().principal.map(str::to_owned), task.listed());
        table.tasks.values().map(listed).collect()
    }

    /// Returns the running tasks of a principal that can change anything, each with the component that
    /// started it, or `None` for the client.
    pub fn tasks_that_change_things(&self, principal: Option<&str>) -> Vec<(Option<Arc<str>>, Listed)> {
        let table = self.tasks.lock();
        let running = table.tasks.values().filter(|task| task.changes_things && task.state().ended.is_none());
        running
            .filter(|task| task.owner().principal == principal)
            .map(|task| (task.owner.clone(), task.listed()))
            .collect()
    }

    /// Reads the output of a task since the last read, at most `most_bytes`.
    pub fn read_task(
        &self,
        owner: Owner<'_>,
        id: u32,
        most_bytes: usize,
    ) -> Result<ReadPiece, Arc<ShellError>> {
        let task = self.tasks.get(owner, id)?;
        let mut state = task.state();
        let ended = state.ended.is_some();
        let advice = std::mem::take(&mut state.advice);
        let State { ring, cursor, refusals, .. } = &mut *state;
        let piece = ring.read(cursor, most_bytes, ended);
        let (refusals, whole) = (refusals.news(), state.whole.clone());
        if ended && !piece.more {
            state.read_to_end.get_or_insert_with(Instant::now);
        }
        state.end_is_told |= ended;
        drop(state);
        // A component does not show the created names.
        if ended && !piece.more && task.owner.is_none() {
            self.untold.told(id);
        }
        Ok(ReadPiece { piece, whole, refusals, advice, task: task.listed() })
    }

    /// Ends a task and waits for its end. The returned flag is `true` if it was still running.
    pub fn kill_task(
        &self,
        owner: Owner<'_>,
        id: u32,
        cancel: &Cancel,
    ) -> Result<(Listed, bool), Arc<ShellError>> {
        let task = self.tasks.get(owner, id)?;
        let ran = task.state().ended.is_none();
        task.stop.set(Reason::Client);
        let mut state = task.state();
        while state.ended.is_none() && !cancel.is_set() {
            task.changed.wait_for(&mut state, Duration::from_millis(200));
        }
        state.end_is_told = state.ended.is_some();
        drop(state);
        if task.owner.is_none() && !cancel.is_set() {
            self.untold.told(id);
        }
        Ok((task.listed(), ran))
    }
}

/// A reserved task slot, freed on drop.
pub(super) struct TaskPlace<'a>(&'a Tasks);

/// State of a command before it becomes a task.
pub(super) struct Before<'a> {
    pub since: Instant,
    /// Initial content of the output.
    pub printed: &'a [u8],
    /// Refused hosts that the client already received.
    pub refusals: Vec<Refusal>,
}

impl Before<'_> {
    /// Returns the state of a command that starts as a task.
    fn nothing() -> Self {
        Self { since: Instant::now(), printed: &[], refusals: Vec::new() }
    }
}

impl TaskPlace<'_> {
    /// Turns the command into a task in this slot.
    pub(super) fn fill(
        self,
        request: &Request,
        started: Started,
        before: Before<'_>,
    ) -> Result<Listed, Arc<ShellError>> {
        let Before { since, printed, refusals } = before;
        if let Some(active) = &started.active {
            active.becomes_task();
        }
        let mut ring = Ring::new();
        ring.push(printed);
        let known = refusals.iter().map(|refusal| (refusal.host.clone(), refusal.port)).collect();
        let refusals = Refusals { told: refusals.len(), recorded: refusals.len(), all: refusals, known };
        let state = State {
            ring,
            whole: None,
            cursor: Cursor::default(),
            refusals,
            advice: Vec::new(),
            ended: None,
            read_to_end: None,
            end_is_told: false,
        };
        let listener = Arc::clone(&self.0.listener);
        let mut table = self.0.lock();
        table.last_id += 1;
        let task = Arc::new(Task {
            id: table.last_id,
            owner: request.run_as.owner(),
            client: request.uses.client().cloned(),
            policy: request.uses.policy().cloned(),
            command: request.command.clone(),
            tier: started.tier,
            profile: started.profile.clone(),
            changes_things: started.cell.changes_things(),
            started: since,
            stop: Cancel::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let follower = Arc::clone(&task);
        let spawned =
            threads::start(format!("task-{}", task.id), move || follower.follow(started, &listener));
        spawned.map_err(|error| Arc::new(ShellError::io("starting a thread for the task")(error)))?;
        table.tasks.insert(task.id, Arc::clone(&task));
        Ok(task.listed())
    }
}

impl Drop for TaskPlace<'_> {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}

impl Tasks {
    /// Reserves a slot, if one is free.
    fn reserve(&self, policy: &Policy) -> Option<TaskPlace<'_>> {
        let most = policy.shell.max_background_tasks.value;
        let mut table = self.lock();
        // Servers that share a database may answer under the same address, so their task IDs must not
        // collide.
        if table.last_id == 0 && policy.store.database.is_some() {
            table.before = draw();
            table.last_id = table.before;
        }
        let running = table.tasks.values().filter(|task| task.state().ended.is_none()).count();
        if running + table.starting >= most {
            return None;
        }
        table.starting += 1;
        Some(TaskPlace(self))
    }

    fn get(&self, owner: Owner<'_>, id: u32) -> Result<Arc<Task>, Arc<ShellError>> {
        let table = self.lock();
        let own = |task: &&Arc<Task>| task.owner() == owner;
        // A task of another owner is reported as if it never existed.
        let was_there = id > table.before && id <= table.last_id && !table.tasks.contains_key(&id);
        table.tasks.get(&id).filter(own).cloned().ok_or_else(|| {
            let known: Vec<_> = table.tasks.values().filter(own).map(|task| task.id.to_string()).collect();
            let is_own_number = id > table.before && id - table.before <= BLOCK;
            if owner.principal.is_some() && !is_own_number {
                return Arc::new(ShellError::NoTask(elsewhere(id, &known)));
            }
            if known.is_empty() {
                return Arc::new(ShellError::NoTasks(id));
            }
            Arc::new(ShellError::NoTask(if was_there {
                format!(
                    "task {id} has ended and was read; what it printed is gone. There are: {}",
                    known.join(", ")
                )
            } else {
                format!("there is no task {id}; known tasks: {}", known.join(", "))
            }))
        })
    }

    /// Registers a callback for tasks that end. It runs on the thread of the task.
    pub(super) fn on_end(&self, tell: impl Fn(Report) + Send + Sync + 'static) {
        let _ = self.listener.set(Listener(Box::new(tell)));
    }

    /// Signals all tasks to stop, without waiting.
    pub(super) fn stop_all(&self, why: Reason) {
        for task in self.lock().tasks.values() {
            task.stop.set(why);
        }
    }

    /// Signals the tasks of a principal to stop, without waiting.
    pub(super) fn stop_of(&self, principal: Option<&str>, why: Reason) {
        for task in self.lock().tasks.values().filter(|task| task.owner().principal == principal) {
            task.stop.set(why);
        }
    }

    /// Waits until all tasks have ended, at most for this `time`.
    pub(super) fn wait_for_ends(&self, time: Duration) {
        let until = Instant::now() + time;
        let tasks: Vec<_> = self.lock().tasks.values().cloned().collect();
        for task in tasks {
            let mut state = task.state();
            while state.ended.is_none() && !task.changed.wait_until(&mut state, until).timed_out() {}
        }
    }

    /// Locks the table and removes expired tasks.
    fn lock(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock();
        table.tasks.retain(|_, task| {
            let state = task.state();
            state.read_to_end.is_none_or(|read| read.elapsed() < KEPT_TIME)
        });
        let ended: Vec<u32> =
            table.tasks.values().filter(|task| task.state().ended.is_some()).map(|task| task.id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            table.tasks.remove(id);
        }
        table
    }
}

impl Task {
    fn owner(&self) -> Owner<'_> {
        let principal = self.client.as_ref().and_then(|client| client.principal.as_deref());
        Owner { component: self.owner.as_deref(), principal }
    }

    /// Reads the output until the command ends.
    fn follow(&self, mut started: Started, listener: &OnceLock<Listener>) {
        let mut met = Met::default();
        let end = self.drain(&mut started, &mut met);
        let uses = self.touched(&end);
        note_reached(&uses, &started.reached());
        let lost = started.lost_hosts();
        uses.left_out(lost.reached, lost.refused + self.unknown(&started.refusals()));
        started.note_met(&met, &uses);
        let entry = started.active.take();
        match &end {
            TaskEnd::Ended(outcome) => started.untold.keep(Some(self.id), &outcome.names, entry),
            TaskEnd::Lost(_) => started.untold.lose(Some(self.id), entry),
        }
        drop(started);
        if let Some(Listener(tell)) = listener.get() {
            tell(Report { uses, duration: self.started.elapsed() });
        }
        self.state().ended = Some((end, Instant::now()));
        self.changed.notify_all();
    }

    /// Returns the number of refused hosts that were too many to remember.
    fn unknown(&self, refusals: &[Refusal]) -> usize {
        let known = &self.state().refusals.known;
        refusals.iter().filter(|refusal| !known.contains(&(refusal.host.clone(), refusal.port))).count()
    }

    /// Returns the accesses and refusals since the call was recorded.
    fn touched(&self, end: &TaskEnd) -> Uses {
        let uses = Uses::default();
        if let Some(client) = &self.client {
            uses.called_by(Arc::clone(client));
        }
        if let Some(policy) = &self.policy {
            uses.under(Arc::clone(policy));
        }
        let Refusals { all, recorded, .. } = &self.state().refusals;
        note_hosts(&uses, all.get(*recorded..).unwrap_or_default());
        if let TaskEnd::Ended(outcome) = end {
            note_names(&uses, outcome);
            uses.took_processor(Duration::from_micros(outcome.processor_us));
        }
        uses
    }

    fn drain(&self, started: &mut Started, met: &mut Met) -> TaskEnd {
        let mut stopped = false;
        let (mut complaints, mut told) = (Complaints::default(), (false, false));
        let (mut said, mut told_of_ports) = (Said::default(), false);
        let (mut moved, mut whole) = (Vec::new(), Whole::new(output_place(&started.cell.plan.outputs)));
        loop {
            if let (false, Some(reason)) = (stopped, self.stop.reason()) {
                stopped = true;
                started.running.stop(reason != Reason::Shutdown);
            }
            let bell = if stopped { None } else { self.stop.bell() };
            started.watch_traps();
            let end = match started.running.next(Some(Duration::from_secs(1)), bell) {
                Ok(Happened::Output(bytes)) => {
                    met.look(bytes);
                    complaints.look(bytes);
                    said.look(bytes);
                    whole.push(bytes);
                    let mut state = self.state();
                    state.ring.push(bytes);
                    state.whole = whole.file();
                    None
                }
                Ok(Happened::Nothing) => None,
                Ok(Happened::Done(done)) => {
                    let outcome;
                    (outcome, moved) = started.judged(*done);
                    Some(TaskEnd::Ended(Box::new(outcome)))
                }
                Err(error) => Some(TaskEnd::Lost(error.to_string())),
            };
            if end.is_some() {
                started.end_connections();
            }
            let refusals = started.refusals();
            let has_refusals = !refusals.is_empty();
            self.state().refusals.add(refusals);
            let complained = (complaints.is_offline(), complaints.lacks_repository());
            if complained != told {
                told = complained;
                let advice = started.advice(&complaints, has_refusals);
                let known = &mut self.state().advice;
                let news: Vec<_> = advice.into_iter().filter(|said| !known.contains(said)).collect();
                known.extend(news);
            }
            if !told_of_ports && let Some(advice) = started.about_listening(&said) {
                told_of_ports = true;
                self.state().advice.push(advice);
            }
            if let Some(end) = end {
                if let TaskEnd::Ended(outcome) = &end {
                    moved.extend(started.hints(&said, outcome));
                }
                moved.extend(started.about_files(met).into_iter().chain(started.crowded()));
                self.state().advice.append(&mut moved);
                if self.stop.reason() == Some(Reason::PolicyChanged) {
                    self.state().advice.push(ENDED_BY_POLICY.to_owned());
                }
                return end;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn listed(&self) -> Listed {
        let state = self.state();
        let run_time = match &state.ended {
            None => TaskState::Running(self.started.elapsed()),
            Some((end, at)) => TaskState::Ended(end.clone(), at.duration_since(self.started)),
        };
        Listed {
            id: self.id,
            command: self.command.clone(),
            tier: self.tier,
            profile: self.profile.clone(),
            state: run_time,
            printed_bytes: state.ring.total(),
            stopped: self.stop.reason(),
        }
    }
}
