//! Running commands, in cells under the operator's policy.
//!
//! A command runs in a cell under a profile of the operator's policy; see `scorpiox-cell` for
//! how it is confined and `scorpiox-policy` for what profiles say. This crate puts the two
//! together: [`survey`] and [`protect`] find what in the workspace needs a rule of its own,
//! [`plan`] turns a profile into a cell, [`cells`] keeps the built ones and chooses the tier,
//! [`run`] runs a command to its end and [`background`] lets one go on.
//!
//! Invariant: every command of the program starts in [`Shell::start`], under a policy that was
//! read whole, in a tier that it allows. Where that cannot be, nothing runs. The browser and the
//! dialogs of questions are no commands: their own modules build cells for them.

mod area;
mod background;
mod cells;
mod environment;
mod error;
mod helper;
mod met;
mod plan;
mod probes;
mod protect;
mod request;
mod run;
pub mod scratch;
mod starts;
mod survey;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_audit::Uses;
use scorpiox_cell::{CommandSpec, Network, Outcome, Repository, Running, Tier};
use scorpiox_gitdirs::{Hidden, Leads, User, hidden, starts_programs};
use scorpiox_operator::{Operator, OperatorError, Site};
use scorpiox_paths::Identity;
pub use scorpiox_policy::{DEFAULT_PROFILE, READONLY as READ_ONLY_PROFILE};
use scorpiox_policy::{DenySet, Places, Policy, Profile, READONLY};
use scorpiox_proxy::{Proxy, Reached, Refusal};
use scorpiox_transcript::Complaints;
pub use scorpiox_untold::{ActiveCommand, ActiveList, Brought};
use scorpiox_untold::{ActiveCommands, Entry, Untold};

pub use background::{Begun, ELSEWHERE, Listed, Owner, ReadPiece, TaskEnd, TaskState};
pub use error::{NoTier, ShellError};
pub use helper::HELPER;
pub use plan::PRIVATE_KEY;
pub use plan::tier as cell_tier;
pub use probes::Probed;
pub use request::{As, Request};
pub use run::{Completed, GoesOn, Ran, Wait};

pub use area::Area;
pub use background::Report;
use background::Tasks;
use cells::{Cells, Ready, Rules};
use met::Met;
pub use protect::Special;
use protect::View;
use survey::Survey;

/// Times that a command is tried when the workspace changes under it.
const TRIES: u32 = 20;
/// Most sets of folders whose look is remembered.
const MAX_SURVEYS: usize = 16;
/// Time after which no more repositories of a command are judged, but named: meanwhile no command moves anything.
const JUDGE_TIME: Duration = Duration::from_secs(1);
/// Most folders that are named as not seen.
const MAX_NOTES: usize = 5;
/// Longest command, in bytes: what the kernel takes as one argument.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// The shell of one server. Does nothing until the first command.
#[derive(Debug)]
pub struct Shell {
    operator: Arc<Operator>,
    cells: Cells,
    tasks: Tasks,
    active: Arc<ActiveCommands>,
    /// What came of trying the sandbox, where that is done.
    held: Mutex<Option<Probed>>,
    /// Names that nobody was told of yet.
    untold: Arc<Untold>,
    /// Of folders that plugins may write.
    surveys: Mutex<HashMap<Vec<Area>, Arc<Survey>>>,
}

/// A command that was started.
struct Started {
    running: Running,
    tier: Tier,
    profile: String,
    /// Where the profile stands.
    rule: String,
    /// Kept for as long as the command runs.
    cell: Arc<Ready>,
    /// Its own way out, where the cell has none for all.
    proxy: Option<Proxy>,
    /// What was done before it, and is told once: folders that it does not see, and why.
    notes: Vec<String>,
    /// The user's home folder.
    home: Option<PathBuf>,
    /// The program's own folder.
    own_home: PathBuf,
    /// The line of the policy that decides about the network.
    network_rule: String,
    /// Keeps the names that it brought until somebody is told.
    untold: Arc<Untold>,
    /// Lists it among those that can change something, if it can.
    active: Option<Entry>,
}

/// Returns the device and number of a file or folder; none where nothing is, or nobody can look.
#[cfg(unix)]
fn identity_of(path: &Path) -> Option<Identity> {
    Some(scorpiox_paths::Stamp::of(&path.symlink_metadata().ok()?).identity())
}

/// Returns nothing: no command's supervisor names anything here.
#[cfg(not(unix))]
fn identity_of(_: &Path) -> Option<Identity> {
    None
}

impl Started {
    /// What came of it, with those of the repositories that it made which start programs.
    fn judged(&self, mut outcome: Outcome) -> Outcome {
        if !outcome.names.repositories.is_empty() {
            let leads = Leads::of(&User::of_process(self.home.as_deref()));
            // Commands move nothing while it is looked at. What they put in its place before is something else.
            let unmoved = starts::begin(&self.own_home);
            let begun = Instant::now();
            outcome.names.repositories.retain(|Repository { path, identity }| {
                let is_there = unmoved.is_ok() && identity_of(path.as_path()) == Some(*identity);
                !is_there || begun.elapsed() > JUDGE_TIME || starts_programs(path.as_path(), &leads)
            });
        }
        outcome
    }

    /// Names what the person can open, where its output complains of something that it does not see.
    fn advice(&self, complaints: &Complaints) -> Vec<String> {
        let git = complaints.lacks_repository().then(|| self.repository_elsewhere());
        self.why_offline(complaints).into_iter().chain(git.flatten()).collect()
    }

    /// Says that it has no network, if that is why it reached no host.
    fn why_offline(&self, complaints: &Complaints) -> Option<String> {
        let is_off = self.tier != Tier::None && self.cell.plan.spec.network == Network::Off;
        (is_off && complaints.is_offline()).then(|| {
            let Self { profile, network_rule, tier, .. } = self;
            let off =
                format!("network: off in profile {profile} ({network_rule}), so no host can be reached");
            if profile == READONLY {
                return format!("{off}; that profile, under which plans are made, never has one");
            }
            let how = match tier {
                Tier::T2 => "network = \"open\"",
                _ => "network = { mode = \"allowlist\", hosts = [\"example.com\"] }",
            };
            format!("{off}; the person can open it with `{how}` in [shell.profile.{profile}] of policy.toml")
        })
    }

    /// Says where the workspace's repository is, if commands do not see all of it.
    fn repository_elsewhere(&self) -> Option<String> {
        let hidden = hidden(self.cell.plan.spec.workspace.as_path())?;
        let is_seen = self.cell.plan.areas.iter().any(|area| hidden.path().starts_with(&area.path));
        let list = match &hidden {
            Hidden::Around(_) => None,
            Hidden::Elsewhere(_) => Some("write"),
            Hidden::Borrowed(_) => Some("read"),
        };
        let how = list.map_or_else(
            || "start the server there".to_owned(),
            |list| {
                let path = hidden.path().display();
                format!(
                    "open it with \"{path}\" in `{list}` of [shell.profile.{}] of policy.toml",
                    self.profile
                )
            },
        );
        (!is_seen).then(|| format!("git: {hidden}; the person can {how}"))
    }

    /// Notes the denied files that it met.
    fn note_met(&self, met: &Met, uses: &Uses) {
        met.note(uses, self.cell.plan.spec.workspace.as_path(), self.cell.denied());
    }

    /// Hosts that were reached since then.
    fn reached(&self, since: Instant) -> Vec<Reached> {
        let proxy = self.proxy.as_ref().or(self.cell.proxy.as_ref());
        proxy.map(|proxy| proxy.reached(since)).unwrap_or_default()
    }

    /// Hosts that were refused since then.
    fn refusals(&self, since: Instant) -> Vec<Refusal> {
        let proxy = self.proxy.as_ref().or(self.cell.proxy.as_ref());
        proxy.map(|proxy| proxy.refusals(since)).unwrap_or_default()
    }
}

impl Shell {
    /// The shell of a server, under the operator's policy.
    pub fn new(operator: Arc<Operator>) -> Self {
        Self {
            operator,
            cells: Cells::default(),
            tasks: Tasks::default(),
            active: Arc::default(),
            held: Mutex::default(),
            untold: Arc::default(),
            surveys: Mutex::default(),
        }
    }

    /// Whose policy holds for commands.
    pub fn operator(&self) -> &Arc<Operator> {
        &self.operator
    }

    /// Takes the names that earlier commands brought without anybody having been told. The caller tells them.
    pub fn take_untold(&self) -> Brought {
        let site = self.site();
        self.untold.take(&site.own_home, &site.workspace)
    }

    /// Lists the commands that run and can change something, but for the background tasks of this server and this principal.
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

    /// The best tier that this machine and the policy allow, found by building a cell.
    pub fn tier(&self) -> Result<Tier, Arc<ShellError>> {
        let profile = self.profile(DEFAULT_PROFILE)?;
        Ok(self.cells.get(self.site(), self.policy()?, &profile, &self.places()?)?.tier)
    }

    /// What keeps this machine from each tier above `tier`, for people.
    pub fn why_not_higher(&self, tier: Tier) -> Vec<(Tier, String)> {
        match (self.policy(), self.places(), self.profile(DEFAULT_PROFILE)) {
            (Ok(policy), Ok(places), Ok(profile)) => {
                cells::why_not_higher(self.site(), policy, &profile, &places, tier)
            }
            _ => Vec::new(),
        }
    }

    /// How long a command may run when the call does not say, and at most.
    pub fn timeouts(&self) -> Result<(Duration, Duration), Arc<ShellError>> {
        let shell = &self.policy()?.shell;
        Ok((shell.default_timeout.value, shell.max_timeout.value))
    }

    /// The profile that somebody's commands run under.
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
                // What was approved narrows, and what the operator wrote narrows it further.
                for by in profile.iter().chain(granted) {
                    let by = self.profile(by)?;
                    own = Cow::Owned(own.narrowed(&by, &self.places()?));
                }
                Ok(own)
            }
        }
    }

    /// Starts a command: the only way to. Tells what was decided.
    fn start(&self, request: &Request) -> Result<Started, Arc<ShellError>> {
        let started = self.check_sandbox().and_then(|()| self.try_to_start(request));
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

    fn try_to_start(&self, request: &Request) -> Result<Started, Arc<ShellError>> {
        check_command(&request.command)?;
        let profile = self.profile_as(&request.run_as)?;
        let policy = self.policy()?;
        let mut tries = 0;
        loop {
            tries += 1;
            let cell = self.cells.get(self.site(), policy, &profile, &self.places()?)?;
            match self.start_in(Arc::clone(&cell), &profile, request) {
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
    ) -> Result<Started, ShellError> {
        // Without a sandbox nothing is looked for.
        let moves = (cell.tier != Tier::None).then(|| starts::begin(&self.site().own_home)).transpose()?;
        let Rules { covers, granted, unseen, reopened } = cell.special(self.site())?;
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
        };
        let site = self.site();
        // Before it can run: a server that is killed leaves word of it.
        let add = || self.active.add(&site.own_home, &site.workspace, request.described());
        let active = cell.changes_things().then(add);
        let mut running = cell.cell.run(command, None, moves.as_ref())?;
        running.wait_until_started()?;
        let listener = running.take_listener();
        let proxy = listener.map(|listener| plan::proxy(profile, listener)).transpose();
        let proxy = proxy.map_err(ShellError::io("starting the proxy"))?;
        // They are told once, so by a command that runs, and to who passes them on.
        let notes = match request.run_as {
            As::Client { .. } => notes(&cell.news(unseen), &reopened),
            As::Component { .. } => Vec::new(),
        };
        let (home, own_home) = (site.home.clone(), site.own_home.clone());
        let (tier, rule) = (cell.tier, profile.origins.profile.to_string());
        let untold = Arc::clone(&self.untold);
        let network_rule = profile.network.source.to_string();
        let name = profile.name.clone();
        Ok(Started {
            running,
            tier,
            profile: name,
            rule,
            cell,
            proxy,
            notes,
            home,
            own_home,
            network_rule,
            untold,
            active,
        })
    }

    /// The names that commands of a cell make in no folder that is there: those that programs obey, and those that the person's
    /// git does in each repository.
    fn absent_names(&self, cell: &Ready) -> Result<Vec<String>, ShellError> {
        let mut names = scorpiox_policy::protected_names().to_vec();
        if cell.tier != Tier::None && cell.plan.areas.iter().any(|area| area.write) {
            let leads = Leads::of(&User::of_process(self.site().home.as_deref()));
            names.extend(leads.names().ok_or(ShellError::Led)?);
        }
        Ok(names)
    }

    /// What stays closed in folders that are opened otherwise than to commands.
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

    /// Whether commands can run under a profile as it is written, on the best tier.
    pub fn check_profile(&self, name: &str) -> Result<(), Arc<ShellError>> {
        plan::check_system(&*self.profile(name)?, &self.places()?).map_err(Arc::new)
    }

    /// What stays closed to commands of a profile, as the next one would find it.
    pub fn closes(&self, profile: &Profile, path: &Path, write: bool) -> Result<Option<String>, ShellError> {
        // Also where the policy closes the workspace: what would be closed is asked, and nothing runs.
        let writable = self.site().writable(&self.operator.loaded()?.policy);
        let places = self.operator.places()?;
        let areas = plan::areas(self.site(), profile, &places, &writable)?;
        let survey = Survey::new(&areas, profile.denied(&places));
        let programs = plan::programs_inside(self.site(), &areas);
        let special = View::new(self.site(), &areas, &programs).special(&survey)?;
        Ok(special.closes(path, write).map(|why| why.to_string()))
    }

    /// Tells of each task that ends from now on, in a thread of the task's.
    pub fn on_task_end(&self, tell: impl Fn(Report) + Send + Sync + 'static) {
        self.tasks.on_end(tell);
    }

    /// Ends everything that runs, and waits until it is gone.
    pub fn shut_down(&self) {
        self.tasks.stop_all();
        self.cells.clear();
    }
}

/// Why the policy refuses, as the shell says it.
fn refused(error: Arc<OperatorError>) -> Arc<ShellError> {
    Arc::new(error.into())
}

/// What a command is told of what was done before it.
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

fn check_command(command: &str) -> Result<(), ShellError> {
    if command.trim().is_empty() {
        return Err(ShellError::Command("command is empty".to_owned()));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(ShellError::Command(format!(
            "command has {} bytes; at most {MAX_COMMAND_BYTES} are possible. Write it to a file and run that",
            command.len()
        )));
    }
    if command.contains('\0') {
        return Err(ShellError::Command("command has a NUL character, which no command can have".to_owned()));
    }
    Ok(())
}
