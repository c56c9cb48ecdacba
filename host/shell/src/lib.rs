//! Runs shell commands in sandboxed cells under the operator's policy.
//!
//! Every command runs in a cell under a profile of the policy. `scorpiox-sandbox` implements the confinement,
//! and `scorpiox-policy` defines the profiles. This crate connects the two: [`survey`] and [`protect`] find
//! the paths in the workspace that need a rule, [`plan`] turns a profile into a cell specification, [`cells`]
//! caches built cells and selects the tier, [`run`] runs a command in the foreground, and [`background`] runs
//! it as a task. [`untold`] remembers changes of running commands until a result reports them.
//!
//! Invariant: every command of the server starts in [`Shell::start`], under a completely loaded policy and in
//! a tier that the policy allows. Otherwise nothing runs. The browser and the question dialogs are not
//! commands; their own modules build cells for them.

mod advice;
mod area;
mod background;
mod cells;
mod environment;
mod error;
mod etc;
mod git_config;
mod gone;
mod helper;
mod hints;
mod judged;
mod local;
mod met;
mod own_identity;
mod plan;
mod probes;
mod protect;
mod publish;
pub mod reach;
mod request;
mod run;
pub mod scratch;
mod ssh;
mod starts;
mod survey;
mod unknown_hosts;
pub mod untold;
mod work_trees;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use crate::untold::{ActiveCommand, ActiveList, Brought};
use crate::untold::{ActiveCommands, Entry, Untold};
use parking_lot::Mutex;
use scorpiox_egress_proxy::{Lost, Proxy, Published, Reached, Refusal, Session};
use scorpiox_executor::Reason;
use scorpiox_git::{Leads, User};
pub use scorpiox_policy::{DEFAULT_PROFILE, READONLY as READ_ONLY_PROFILE};
use scorpiox_policy::{DenySet, Network as NetworkRule, Places, Policy, Profile};
use scorpiox_sandbox::{CommandSpec, Running, Tier};
use scorpiox_workspace_config::{Operator, OperatorError, Site};

pub use background::{Begun, ELSEWHERE, Listed, Owner, ReadPiece, TaskEnd, TaskState};
pub use error::{NoTier, ShellError};
pub use helper::HELPER;
pub use plan::tier as cell_tier;
pub use probes::Probed;
pub use request::{As, Request};
pub use run::{Completed, GoesOn, Ran, Wait};
use unknown_hosts::Asker;
pub use unknown_hosts::{Ask, HostAnswer, Target};

pub use area::Area;
pub use background::Report;
use background::Tasks;
use cells::{Cells, Ready, Rules};
use judged::FoundTraps;
pub use protect::Special;
use protect::View;
use publish::Ports;
use survey::Survey;

/// Maximum time for background tasks to end with their server.
const END_TIME: Duration = Duration::from_secs(1);
/// Maximum number of attempts to start a command while the workspace changes.
const TRIES: u32 = 20;
/// Maximum number of area sets with a cached survey.
const MAX_SURVEYS: usize = 16;
/// Maximum number of unseen folders that the notes of a command name.
const MAX_NOTES: usize = 5;
/// Maximum length of a command in bytes, which is the kernel's limit for a single argument.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// Shell of one server. It stays idle until the first command.
#[derive(Debug)]
pub struct Shell {
    operator: Arc<Operator>,
    cells: Cells,
    tasks: Arc<Tasks>,
    active: Arc<ActiveCommands>,
    /// Cached result of the sandbox probe, on systems that require one.
    held: Mutex<Option<Probed>>,
    /// Names created by commands that no result has reported yet.
    untold: Arc<Untold>,
    /// Surveys of the folders that plugins may write, by area set.
    surveys: Mutex<HashMap<Vec<Area>, Arc<Survey>>>,
}

/// Way in which a command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunsIn {
    Foreground {
        /// `true` if the call asks about unknown hosts while the command runs.
        asks: bool,
    },
    Background,
}

/// A started command.
struct Started {
    running: Running,
    tier: Tier,
    profile: String,
    /// Policy source that defines the profile.
    rule: String,
    /// Cell of the command, retained while the command runs.
    cell: Arc<Ready>,
    /// The right to ask about unknown hosts, in the foreground.
    asker: Option<Asker>,
    /// Connections of the command, if it has a proxy.
    session: Option<Session>,
    /// Proxy of this command, if the cell has no shared one.
    _proxy: Option<Proxy>,
    /// Notes that are reported once, such as folders hidden from the command and the reason.
    notes: Vec<String>,
    operator: Arc<Operator>,
    /// Policy line that decides about the network.
    network_rule: String,
    /// `true` if the policy lists hosts.
    lists_hosts: bool,
    /// Stores the names that the command created until a result reports them.
    untold: Arc<Untold>,
    /// Entry in the list of active commands, if the command can change anything.
    active: Option<Entry>,
    /// Ports that are published while the command runs.
    _ports: Vec<Published>,
    /// Git directories that were there when the command started.
    repositories: Vec<PathBuf>,
    /// Time before the command started.
    begun: SystemTime,
    /// Facts for hints about the result.
    facts: hints::Facts,
    /// Files that git trusts, found while the command runs.
    traps: FoundTraps,
}

impl Started {
    /// Closes the connections of the command. No host is reached afterwards.
    fn end_connections(&self) {
        self.session.iter().for_each(Session::end);
    }

    /// Returns the hosts that the command has reached.
    fn reached(&self) -> Vec<Reached> {
        self.session.as_ref().map(Session::reached).unwrap_or_default()
    }

    /// Returns the hosts that the command was refused.
    fn refusals(&self) -> Vec<Refusal> {
        self.session.as_ref().map(Session::refusals).unwrap_or_default()
    }

    /// Returns the numbers of requests that the other two functions leave out.
    fn lost_hosts(&self) -> Lost {
        self.session.as_ref().map(Session::lost).unwrap_or_default()
    }
}

impl Shell {
    /// Creates the shell of a server under the operator's policy.
    pub fn new(operator: Arc<Operator>) -> Self {
        Self {
            operator,
            cells: Cells::default(),
            tasks: Arc::default(),
            active: Arc::default(),
            held: Mutex::default(),
            untold: Arc::default(),
            surveys: Mutex::default(),
        }
    }

    /// Creates the shell under a changed policy. Both shells share the background tasks and the names that no
    /// result has reported.
    #[must_use]
    pub fn renewed(&self, operator: Arc<Operator>) -> Self {
        let (tasks, active, untold) =
            (Arc::clone(&self.tasks), Arc::clone(&self.active), Arc::clone(&self.untold));
        Self { tasks, active, untold, ..Self::new(operator) }
    }

    /// Returns the operator, which holds the policy for commands.
    pub fn operator(&self) -> &Arc<Operator> {
        &self.operator
    }

    /// Takes the unreported names that earlier commands created. The caller must report them.
    pub fn take_untold(&self) -> Brought {
        let site = self.site();
        self.untold.take(&site.own_home, &site.workspace)
    }

    /// Lists the active commands that can change anything, except background tasks of this server and
    /// `principal`.
    pub fn active_commands(&self, principal: Option<&str>) -> ActiveList {
        self.active.list(&self.site().own_home, &self.site().workspace, principal)
    }

    fn site(&self) -> &Site {
        self.operator.site()
    }

    fn policy(&self) -> Result<&Policy, Arc<ShellError>> {
        self.operator.policy().map_err(refused)
    }

    fn places(&self) -> Result<Places, Arc<ShellError>> {
        self.operator.places().map_err(refused)
    }

    fn profile(&self, name: &str) -> Result<Cow<'_, Profile>, Arc<ShellError>> {
        self.operator.profile(name).map_err(refused)
    }

    /// Returns the best tier that this machine and the policy allow, determined by building a cell.
    pub fn tier(&self) -> Result<Tier, Arc<ShellError>> {
        let profile = self.profile(DEFAULT_PROFILE)?;
        Ok(self.cells.get(self.site(), self.policy()?, &profile, &self.places()?, None)?.tier)
    }

    /// Returns, for each tier above `tier`, a message that explains why it is unavailable.
    pub fn why_not_higher(&self, tier: Tier) -> Vec<(Tier, String)> {
        match (self.policy(), self.places(), self.profile(DEFAULT_PROFILE)) {
            (Ok(policy), Ok(places), Ok(profile)) => {
                cells::why_not_higher(self.site(), policy, &profile, &places, tier)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the default and the maximum timeout of a command.
    pub fn timeouts(&self) -> Result<(Duration, Duration), Arc<ShellError>> {
        let shell = &self.policy()?.shell;
        Ok((shell.default_timeout.value, shell.max_timeout.value))
    }

    /// Returns the effective profile for commands of `who`.
    fn profile_as(&self, who: &As) -> Result<Cow<'_, Profile>, Arc<ShellError>> {
        match who {
            As::Client { read_only: false } => self.profile(DEFAULT_PROFILE),
            As::Client { read_only: true } => self.profile(READ_ONLY_PROFILE),
            As::Component { name, also, profile, read_only } => {
                let grants = &self.policy()?.grants;
                let names = [Some(&**name), also.as_deref()].into_iter().flatten();
                let granted = names.filter_map(|name| grants.get(name)).flat_map(|grant| &grant.shell);
                let granted: Vec<_> = granted.map(|granted| &granted.profile).collect();
                if profile.is_none() && granted.is_empty() {
                    return Err(Arc::new(ShellError::NotGranted(name.to_string())));
                }
                let mut own = self.profile(if *read_only { READ_ONLY_PROFILE } else { DEFAULT_PROFILE })?;
                // The approved profile narrows the base profile, and the operator's grants narrow the result
                // further.
                for by in profile.iter().chain(granted) {
                    let by = self.profile(by)?;
                    own = Cow::Owned(own.narrowed(&by, &self.places()?));
                }
                Ok(own)
            }
        }
    }

    /// Starts a command and records the policy decision. This is the only way to start one.
    fn start(&self, request: &Request, place: RunsIn) -> Result<Started, Arc<ShellError>> {
        let started = self.check_sandbox().and_then(|()| self.try_to_start(request, place));
        match &started {
            Ok(Started { tier, profile, rule, .. }) => {
                request.uses.allowed("shell", format_args!("profile {profile}, sandbox {tier}"), rule);
            }
            Err(error) if error.is_denial() => {
                request.uses.denied("shell", "", &error.to_string(), error.rule(self.policy().ok()));
            }
            Err(_) => {}
        }
        started
    }

    fn try_to_start(&self, request: &Request, place: RunsIn) -> Result<Started, Arc<ShellError>> {
        check_command(&request.command)?;
        let profile = self.profile_as(&request.run_as)?;
        let policy = self.policy()?;
        let mut tries = 0;
        loop {
            tries += 1;
            let cell = self.cells.get(self.site(), policy, &profile, &self.places()?, request.principal())?;
            match self.start_in(Arc::clone(&cell), &profile, request, place) {
                Ok(started) => return Ok(started),
                Err(error) if tries < TRIES && error.is_worth_repeating() => {
                    if error.is_dead_cell() {
                        self.cells.forget(&cell);
                    }
                }
                Err(error) => return Err(Arc::new(error)),
            }
        }
    }

    fn start_in(
        &self,
        cell: Arc<Ready>,
        profile: &Profile,
        request: &Request,
        place: RunsIn,
    ) -> Result<Started, ShellError> {
        // Without a sandbox, no path is searched for or protected.
        let begin = || starts::begin(&self.site().own_home, &cell.plan.areas);
        let moves = (cell.tier != Tier::None).then(begin).transpose()?;
        let Rules { covers, granted, unseen, reopened, repositories } = cell.special(self.site())?;
        let before = SystemTime::now();
        let network = (cell.tier, cell.plan.spec.network);
        let mut session = cell.proxy.as_ref().map(Proxy::session);
        let command = CommandSpec {
            command: request.command.clone(),
            environment: cell.environment.clone(),
            timeout_ms: request.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            limits: plan::limits(profile),
            covers,
            absent_names: self.absent_names(&cell)?,
            packages: vec![scorpiox_policy::PACKAGES.to_owned()],
            areas: area::exposed(&cell.plan.areas),
            granted,
            changed: None,
            publishes: place == RunsIn::Background && publish::applies(profile, request, network),
            source: session.as_ref().map(Session::source),
        };
        let site = self.site();
        // The entry must exist before the command can run, so that it survives a killed server.
        let add = || self.active.add(&site.own_home, &site.workspace, request.described());
        let active = cell.changes_things().then(add);
        // Registered before the command runs: its first connection must wait.
        let asks = place == RunsIn::Foreground { asks: true };
        let asker = cell.unknown.as_ref().filter(|_| asks).map(Asker::of);
        let mut running = cell.cell.run(command, None, moves.as_ref())?;
        running.wait_until_started()?;
        let proxy =
            plan::proxy(profile, running.take_listeners(), &cell.plan.services, cell.unknown.as_ref());
        let proxy = proxy.map_err(ShellError::io("starting the proxy"))?;
        session = session.or_else(|| proxy.as_ref().map(Proxy::session));
        // Each note is reported only once, so only to a caller that passes it on and after the command has
        // started.
        let notes = match request.run_as {
            As::Client { .. } => notes(&cell.news(unseen), &reopened),
            As::Component { .. } => Vec::new(),
        };
        let ports = match place {
            RunsIn::Background => publish::publish(profile, request, network, running.take_dialer()),
            RunsIn::Foreground { .. } => Ports::default(),
        };
        let notes: Vec<_> = notes.into_iter().chain(ports.notes).collect();
        let (tier, rule) = (cell.tier, profile.origins.profile.to_string());
        let untold = Arc::clone(&self.untold);
        let network_rule = profile.network.source.to_string();
        let lists_hosts =
            matches!(&profile.network.value, NetworkRule::Allowlist { hosts, .. } if !hosts.is_empty());
        let name = profile.name.clone();
        Ok(Started {
            running,
            tier,
            profile: name,
            rule,
            cell,
            asker,
            session,
            _proxy: proxy,
            notes,
            operator: Arc::clone(&self.operator),
            network_rule,
            lists_hosts,
            untold,
            active,
            _ports: ports.held,
            repositories,
            begun: before,
            facts: hints::Facts::of(profile, request, place),
            traps: FoundTraps::default(),
        })
    }

    /// Returns the names that commands of a cell must not create in any existing folder: protected names, and
    /// names that the user's git obeys in every repository.
    fn absent_names(&self, cell: &Ready) -> Result<Vec<String>, ShellError> {
        let mut names = scorpiox_policy::protected_names().to_vec();
        if cell.tier != Tier::None && cell.plan.areas.iter().any(|area| area.write) {
            let leads = Leads::of(&User::of_process(self.site().home.as_deref()));
            names.extend(leads.names().ok_or(ShellError::Led)?);
        }
        Ok(names)
    }

    /// Returns the path rules for folders that are exposed to something other than a command, such as a
    /// plugin.
    pub fn guard(&self, areas: &[Area]) -> Result<Special, ShellError> {
        let mut surveys = self.surveys.lock();
        if surveys.len() >= MAX_SURVEYS && !surveys.contains_key(areas) {
            surveys.clear();
        }
        let survey =
            surveys.entry(areas.to_vec()).or_insert_with(|| Arc::new(Survey::new(areas, DenySet::default())));
        let survey = Arc::clone(survey);
        drop(surveys);
        View::new(self.site(), areas, &plan::programs_inside(self.site(), areas)).special(&survey)
    }

    /// Checks that commands can run under the profile in the best tier.
    pub fn check_profile(&self, name: &str) -> Result<(), Arc<ShellError>> {
        plan::check_system(&*self.profile(name)?, &self.places()?).map_err(Arc::new)
    }

    /// Returns why the next command under `profile` cannot read `path`, or write to it if `write` is set.
    pub fn closes(&self, profile: &Profile, path: &Path, write: bool) -> Result<Option<String>, ShellError> {
        // `loaded` also works if the policy closes the workspace. This is a query and runs no command.
        let writable = self.site().writable(&self.operator.loaded()?.policy);
        let places = self.operator.places()?;
        let areas = plan::areas(self.site(), profile, &places, &writable)?;
        let survey = Survey::new(&areas, profile.denied(&places));
        let programs = plan::programs_inside(self.site(), &areas);
        let special = View::new(self.site(), &areas, &programs).special(&survey)?;
        Ok(special.closes(path, write).map(|why| why.to_string()))
    }

    /// Returns why commands under `profile` can read a path below `/etc` that its lists of places do not open.
    pub fn sees_in_etc(&self, profile: &Profile, path: &Path) -> Result<Option<String>, ShellError> {
        Ok(etc::sees(profile, path, &self.operator.places()?))
    }

    /// Registers a callback for tasks that end. It runs on the thread of the task.
    pub fn on_task_end(&self, tell: impl Fn(Report) + Send + Sync + 'static) {
        self.tasks.on_end(tell);
    }

    /// Stops all tasks and cells. Tasks get a moment to end, so that the names that they created are recorded.
    pub fn shut_down(&self) {
        self.stop_tasks(Reason::Shutdown);
        self.tasks.wait_for_ends(END_TIME);
        self.cells.clear();
    }

    /// Signals all background tasks to stop.
    pub fn stop_tasks(&self, why: Reason) {
        self.tasks.stop_all(why);
    }

    /// Signals the background tasks of a principal to stop; without one, those of the person at this machine.
    pub fn stop_tasks_of(&self, principal: Option<&str>, why: Reason) {
        self.tasks.stop_of(principal, why);
    }

    /// Forgets the cells, because no command will start in them. Running commands go on.
    pub fn forget_cells(&self) {
        self.cells.forget_all();
    }
}

/// Wraps a policy error as a shell error.
fn refused(error: Arc<OperatorError>) -> Arc<ShellError> {
    Arc::new(error.into())
}

/// Formats the notes that accompany the result of a command.
fn notes(unseen: &[(PathBuf, &'static str)], reopened: &[PathBuf]) -> Vec<String> {
    let mut notes: Vec<_> = reopened
        .iter()
        .map(|path| format!("{} had been closed to its owner (chmod); it was opened again.", path.display()))
        .collect();
    let named = unseen.iter().take(MAX_NOTES);
    notes.extend(named.map(|(path, why)| format!("{} {why}, so commands do not see it.", path.display())));
    if unseen.len() > MAX_NOTES {
        notes.push(format!("{} more folders are not seen for such reasons.", unseen.len() - MAX_NOTES));
    }
    notes
}

/// Fails for a command that is too long to run.
pub fn check_length(command: &str) -> Result<(), ShellError> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(ShellError::Command(format!(
            "command has {} bytes; at most {MAX_COMMAND_BYTES} are possible. Write it to a file and run that",
            command.len()
        )));
    }
    Ok(())
}

fn check_command(command: &str) -> Result<(), ShellError> {
    if command.trim().is_empty() {
        return Err(ShellError::Command("command is empty".to_owned()));
    }
    check_length(command)?;
    if command.contains('\0') {
        return Err(ShellError::Command("command has a NUL character, which no command can have".to_owned()));
    }
    Ok(())
}
