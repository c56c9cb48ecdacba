//! Commands that go on while the client does other things.
//!
//! Each has a thread that reads what it prints into a ring. A task that has ended stays until
//! its end was read, and ten minutes more.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use scorpiox_audit::{ClientName, Uses};
use scorpiox_cell::{Happened, Outcome, Tier};
use scorpiox_executor::{Cancel, Reason, threads};
use scorpiox_policy::Policy;
use scorpiox_proxy::Refusal;
use scorpiox_transcript::{Complaints, Cursor, Piece, Ring};

use super::met::Met;
use super::request::{Request, note_hosts, note_names, note_reached};
use super::{Shell, ShellError, Started};

/// How long a task that has ended and was read stays.
const KEPT_TIME: Duration = Duration::from_mins(10);
/// Most tasks that have ended and were not read.
const MAX_ENDED: usize = 64;
/// Most refused hosts of a task that are remembered.
const MAX_REFUSALS: usize = 32;
/// Servers that share a database number their tasks in blocks, of which each draws one: the number of a task of one server
/// is no other's.
const BLOCKS: u32 = 2_000_000;
/// Numbers of a block.
const BLOCK: u32 = 1000;

/// All tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    table: Mutex<Table>,
    listener: Arc<OnceLock<Listener>>,
}

/// Who is told of tasks that have ended.
struct Listener(Box<dyn Fn(Report) + Send + Sync>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// A task that has ended.
pub struct Report {
    /// What it was refused since its call was recorded, the hosts that it reached, and who had called.
    pub uses: Uses,
    /// How long it ran.
    pub duration: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// The number before that of the first task.
    before: u32,
    last_id: u32,
    tasks: BTreeMap<u32, Arc<Task>>,
    /// Being started, and counted already.
    starting: usize,
}

/// Whose a task is. Nobody else finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    component: Option<&'a str>,
    principal: Option<&'a str>,
}

impl<'a> Owner<'a> {
    /// The component that started it, or none for the client, in a call that is recorded there.
    pub fn new(component: Option<&'a str>, uses: &'a Uses) -> Self {
        Self { component, principal: uses.client().and_then(|client| client.principal.as_deref()) }
    }
}

/// The other place where tasks may be, for a client over HTTP: this server does not know of them.
pub const ELSEWHERE: &str = "Background commands are known only to the server that started them. If several servers share this address, try \
     again: the request may reach the right one. Whoever runs them can have the balancer send each client to one server";

/// Why there is no task of a number that this server would not give.
fn elsewhere(id: u32, known: &[String]) -> String {
    let known = if known.is_empty() { String::new() } else { format!("; known tasks: {}", known.join(", ")) };
    format!("this server has no task {id}{known}. {ELSEWHERE}")
}

/// The number before those of a block.
fn draw() -> u32 {
    let mut random = [0; 4];
    // Without it all servers have the first block, and their tasks the same numbers.
    let _ = getrandom::fill(&mut random);
    u32::from_le_bytes(random) % BLOCKS * BLOCK
}

#[derive(Debug)]
struct Task {
    id: u32,
    /// The component that started it; none for the client.
    owner: Option<Arc<str>>,
    /// Who called, where that is known.
    client: Option<Arc<ClientName>>,
    command: String,
    tier: Tier,
    profile: String,
    /// It can change files, or reach the network.
    changes_things: bool,
    started: Instant,
    stop: Cancel,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    /// Where the client's reading is.
    cursor: Cursor,
    refusals: Refusals,
    /// Advice for the person, until the client is told.
    advice: Vec<String>,
    ended: Option<(TaskEnd, Instant)>,
    read_to_end: Option<Instant>,
}

/// Hosts that a task was refused, each once.
#[derive(Debug)]
struct Refusals {
    all: Vec<Refusal>,
    /// How many of them the client was told of.
    told: usize,
    /// How many of them the record of the call that started it has.
    recorded: usize,
}

impl Refusals {
    fn add(&mut self, refusals: Vec<Refusal>) {
        for refusal in refusals {
            if self.all.len() < MAX_REFUSALS && !self.all.contains(&refusal) {
                self.all.push(refusal);
            }
        }
    }

    /// Those that the client is not told of yet, and is now.
    fn news(&mut self) -> Vec<Refusal> {
        let news = self.all[self.told..].to_vec();
        self.told = self.all.len();
        news
    }
}

/// How a task ended.
#[derive(Debug, Clone)]
pub enum TaskEnd {
    /// Its shell ended.
    Ended(Outcome),
    /// The sandbox failed, and the command with it.
    Lost(String),
}

/// Whether a task runs.
#[derive(Debug, Clone)]
pub enum TaskState {
    /// It does, for this long.
    Running(Duration),
    /// It ended after this time.
    Ended(TaskEnd, Duration),
}

/// A task in a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What it is called by.
    pub id: u32,
    /// The command.
    pub command: String,
    /// How it is confined.
    pub tier: Tier,
    /// Under which profile.
    pub profile: String,
    /// Whether it runs.
    pub state: TaskState,
    /// Bytes that it printed.
    pub printed_bytes: u64,
}

/// A task that was started.
#[derive(Debug)]
pub struct Begun {
    /// The task.
    pub task: Listed,
    /// What was done before it, and is told once.
    pub notes: Vec<String>,
}

/// What a read gave.
#[derive(Debug)]
pub struct ReadPiece {
    /// What is new.
    pub piece: Piece,
    /// Hosts that were refused since the last read.
    pub refusals: Vec<Refusal>,
    /// Advice for the person, once: names what opens it.
    pub advice: Vec<String>,
    /// The task.
    pub task: Listed,
}

impl Shell {
    /// Starts a task.
    pub fn start_task(&self, request: &Request) -> Result<Begun, Arc<ShellError>> {
        let policy = self.policy()?;
        let most = policy.shell.max_background_tasks.value;
        let place = self.tasks.reserve(policy).ok_or_else(|| {
            let error = Arc::new(ShellError::TooManyTasks(most));
            request.uses.denied("shell", "", &error.to_string(), error.rule(self.policy().ok()));
            error
        })?;
        let mut started = self.start(request)?;
        let notes = std::mem::take(&mut started.notes);
        let task = place.fill(request, started, Before::nothing())?;
        Ok(Begun { task, notes })
    }

    /// A place for a command that runs already, if there is room for one more.
    pub(super) fn place_for_task(&self) -> Result<Option<TaskPlace<'_>>, Arc<ShellError>> {
        Ok(self.tasks.reserve(self.policy()?))
    }

    /// All tasks of an owner, in the order they were started.
    pub fn tasks(&self, owner: Owner<'_>) -> Vec<Listed> {
        let table = self.tasks.lock();
        table.tasks.values().filter(|task| task.owner() == owner).map(|task| task.listed()).collect()
    }

    /// All tasks of all owners, each with the principal that started it.
    pub fn all_tasks(&self) -> Vec<(Option<String>, Listed)> {
        let table = self.tasks.lock();
        let listed = |task: &Arc<Task>| (task.owner().principal.map(str::to_owned), task.listed());
        table.tasks.values().map(listed).collect()
    }

    /// Tasks of a principal that run and can change something: with the component that started each, or none where
    /// the client did.
    pub fn tasks_that_change_things(&self, principal: Option<&str>) -> Vec<(Option<Arc<str>>, Listed)> {
        let table = self.tasks.lock();
        let running = table.tasks.values().filter(|task| task.changes_things && task.state().ended.is_none());
        running
            .filter(|task| task.owner().principal == principal)
            .map(|task| (task.owner.clone(), task.listed()))
            .collect()
    }

    /// What is new in a task's output since the last read, at most so many bytes of it.
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
        let refusals = refusals.news();
        if ended && !piece.more {
            state.read_to_end.get_or_insert_with(Instant::now);
        }
        drop(state);
        // A component shows nothing of what it brought.
        if ended && !piece.more && task.owner.is_none() {
            self.untold.told(id);
        }
        Ok(ReadPiece { piece, refusals, advice, task: task.listed() })
    }

    /// Ends a task, and waits for it. Whether it ran until then.
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
        drop(state);
        if task.owner.is_none() && !cancel.is_set() {
            self.untold.told(id);
        }
        Ok((task.listed(), ran))
    }
}

/// A place among the tasks, which is free again when it is dropped.
pub(super) struct TaskPlace<'a>(&'a Tasks);

/// What there was of a command before it became a task.
pub(super) struct Before<'a> {
    pub since: Instant,
    /// What its output begins with.
    pub printed: &'a [u8],
    /// Hosts that it was refused, which the client is told of.
    pub refusals: Vec<Refusal>,
}

impl Before<'_> {
    /// It starts now.
    fn nothing() -> Self {
        Self { since: Instant::now(), printed: &[], refusals: Vec::new() }
    }
}

impl TaskPlace<'_> {
    /// Puts a command there.
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
        let refusals = Refusals { told: refusals.len(), recorded: refusals.len(), all: refusals };
        let state = State {
            ring,
            cursor: Cursor::default(),
            refusals,
            advice: Vec::new(),
            ended: None,
            read_to_end: None,
        };
        let listener = Arc::clone(&self.0.listener);
        let mut table = self.0.lock();
        table.last_id += 1;
        let task = Arc::new(Task {
            id: table.last_id,
            owner: request.run_as.owner(),
            client: request.uses.client().cloned(),
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
    /// Takes a place for one more task, if there is one.
    fn reserve(&self, policy: &Policy) -> Option<TaskPlace<'_>> {
        let most = policy.shell.max_background_tasks.value;
        let mut table = self.lock();
        // Who shares a database is one of several servers of one address.
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
        // What is another's is not there, and never was.
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

    /// Tells of each task that ends from now on, in a thread of the task's.
    pub(super) fn on_end(&self, tell: impl Fn(Report) + Send + Sync + 'static) {
        let _ = self.listener.set(Listener(Box::new(tell)));
    }

    /// Ends all tasks, without waiting.
    pub(super) fn stop_all(&self) {
        for task in self.lock().tasks.values() {
            task.stop.set(Reason::Shutdown);
        }
    }

    /// The table, without tasks whose time is over.
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

    /// Reads what the command prints until it has ended.
    fn follow(&self, mut started: Started, listener: &OnceLock<Listener>) {
        let mut met = Met::default();
        let end = self.drain(&mut started, &mut met);
        let uses = self.touched(&end);
        note_reached(&uses, &started.reached(self.started));
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

    /// What it was refused since its call was recorded.
    fn touched(&self, end: &TaskEnd) -> Uses {
        let uses = Uses::default();
        if let Some(client) = &self.client {
            uses.called_by(Arc::clone(client));
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
        loop {
            if let (false, Some(reason)) = (stopped, self.stop.reason()) {
                stopped = true;
                started.running.stop(reason == Reason::Client);
            }
            let bell = if stopped { None } else { self.stop.bell() };
            let end = match started.running.next(Some(Duration::from_secs(1)), bell) {
                Ok(Happened::Output(bytes)) => {
                    met.look(bytes);
                    complaints.look(bytes);
                    self.state().ring.push(bytes);
                    None
                }
                Ok(Happened::Nothing) => None,
                Ok(Happened::Done(outcome)) => Some(TaskEnd::Ended(started.judged(outcome))),
                Err(error) => Some(TaskEnd::Lost(error.to_string())),
            };
            self.state().refusals.add(started.refusals(self.started));
            let complained = (complaints.is_offline(), complaints.lacks_repository());
            if complained != told {
                told = complained;
                self.state().advice = started.advice(&complaints);
            }
            if let Some(end) = end {
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
        }
    }
}
