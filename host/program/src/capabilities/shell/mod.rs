//! Running commands.
//!
//! A command runs in a cell under a profile of the operator's policy; see `scorpiox-cell` for
//! how it is confined and `scorpiox-policy` for what profiles say. This folder puts the two
//! together: [`survey`] and [`protect`] find what in the workspace needs a rule of its own,
//! [`plan`] turns a profile into a cell, [`cells`] keeps the built ones and chooses the tier,
//! [`run`] runs a command to its end and [`background`] lets one go on.
//!
//! Invariant: every command of the program starts in [`Shell::start`], under a policy that was
//! read whole, in a tier that it allows. Where that cannot be, nothing runs. The browser and the
//! dialogs of questions are no commands: their own modules build cells for them.

mod background;
mod cells;
mod environment;
mod error;
mod exports;
mod host;
mod met;
mod plan;
mod protect;
mod run;
mod survey;
mod writable;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use scorpiox_audit::Uses;
use scorpiox_cell::{CommandSpec, Outcome, RawPath, Running, Tier};
use scorpiox_gitdirs::starts_programs;
pub use scorpiox_policy::{DEFAULT_PROFILE, READONLY as READ_ONLY_PROFILE};
use scorpiox_policy::{DenySet, Files, Idle, Loaded, MANAGED_FILE, Places, Policy, Problem, Profile};
use scorpiox_proxy::{Proxy, Reached, Refusal};

pub use background::{Begun, Listed, ReadPiece, TaskEnd, TaskState};
pub use error::{NoTier, ShellError};
pub use host::{ShellFailure, ShellView};
pub(crate) use plan::PRIVATE_KEY;
pub use plan::tier as cell_tier;
pub use run::{As, Completed, GoesOn, Ran, Request, Wait};

use crate::capabilities::skills::SkillFolders;
pub(crate) use background::Report;
use background::Tasks;
use cells::{Cells, Ready, Rules};
use met::Met;
use protect::View;
pub(crate) use protect::{Area, Special};
use survey::Survey;

/// Times that a command is tried when the workspace changes under it.
const TRIES: u32 = 20;
/// Most sets of folders whose look is remembered.
const MAX_SURVEYS: usize = 16;
/// Most folders that are named as not seen.
const MAX_NOTES: usize = 5;
/// How often it is looked whether the policy's files are those that were read.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// The name of a person's own policy.
const POLICY_FILE: &str = "policy.toml";
/// Longest command, in bytes: what the kernel takes as one argument.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// What the shell needs to know about this server.
#[derive(Debug, Clone)]
pub struct ShellSetup {
    /// The project's folder.
    pub workspace: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The program's own folder.
    pub own_home: PathBuf,
    /// A name for what belongs to this workspace.
    pub workspace_name: String,
    /// Where skills are looked for.
    pub skills: Arc<SkillFolders>,
    /// Whether nothing is allowed without a policy that holds for all users of the machine.
    pub is_managed_required: bool,
    /// Folders that were worked on before: a link in one of them may be a command's of then.
    pub worked_on: Vec<PathBuf>,
}

impl ShellSetup {
    /// The person's own policy.
    pub fn own_policy(&self) -> PathBuf {
        self.own_home.join(POLICY_FILE)
    }

    /// The files that the policy is read from; `own` is [`own_policy`](Self::own_policy).
    fn policy_files<'a>(&self, own: &'a Path) -> Files<'a> {
        Files { managed: Path::new(MANAGED_FILE), is_managed_required: self.is_managed_required, own }
    }
}

/// The shell of one server. Does nothing until the first command.
#[derive(Debug)]
pub struct Shell {
    setup: ShellSetup,
    policy: OnceLock<Result<Loaded, Arc<ShellError>>>,
    workspace: OnceLock<Result<(), Arc<ShellError>>>,
    has_file: OnceLock<bool>,
    /// When it was last looked whether the policy is the one that was read, and whether it is.
    looked: Mutex<Option<(Instant, bool)>>,
    cells: Cells,
    tasks: Tasks,
    /// Of folders that plugins may write.
    surveys: Mutex<HashMap<Vec<Area>, Arc<Survey>>>,
}

/// A command that was started.
pub(crate) struct Started {
    pub running: Running,
    pub tier: Tier,
    pub profile: String,
    /// Where the profile stands.
    rule: String,
    /// Kept for as long as the command runs.
    pub cell: Arc<Ready>,
    /// Its own way out, where the cell has none for all.
    pub proxy: Option<Proxy>,
    /// What was done before it, and is told once: folders that it does not see, and why.
    pub notes: Vec<String>,
    /// The user's home folder.
    home: Option<PathBuf>,
}

impl Started {
    /// What came of it, with those of the repositories that it made which start programs.
    fn judged(&self, mut outcome: Outcome) -> Outcome {
        let starts = |path: &RawPath| starts_programs(path.as_path(), self.home.as_deref());
        outcome.names.repositories.retain(starts);
        outcome
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
    /// The shell of a server.
    pub fn new(setup: ShellSetup) -> Self {
        Self {
            setup,
            policy: OnceLock::new(),
            workspace: OnceLock::new(),
            has_file: OnceLock::new(),
            looked: Mutex::default(),
            cells: Cells::default(),
            tasks: Tasks::default(),
            surveys: Mutex::default(),
        }
    }

    /// The shell of a server under a policy that was read already.
    pub fn under(setup: ShellSetup, loaded: Loaded) -> Self {
        let shell = Self::new(setup);
        _ = shell.policy.set(Ok(loaded));
        shell
    }

    /// The operator's policy, read when it is first asked for.
    pub fn policy(&self) -> Result<&Policy, Arc<ShellError>> {
        let policy = &self.loaded()?.policy;
        self.check_workspace()?;
        Ok(policy)
    }

    /// Whether the policy lets anybody work on this folder. Looked up once.
    fn check_workspace(&self) -> Result<(), Arc<ShellError>> {
        let check = || {
            let places = plan::usual_places(&self.setup);
            let checked = self.loaded()?.policy.workspaces.check(&self.setup.workspace, &places);
            checked.map_err(|refusal| Arc::new(ShellError::NotAWorkspace(refusal)))
        };
        self.workspace.get_or_init(check).clone()
    }

    /// Whether the files that the policy was read from are others by now. Looked at once in a while: a server that
    /// goes on under an older policy would do what the operator has taken back.
    pub(crate) fn check_current(&self) -> Result<(), ShellError> {
        let Ok(loaded) = self.loaded() else { return Ok(()) };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = looked.is_none_or(|(when, _)| when.elapsed() >= LOOK_TIME);
        if is_due {
            *looked = Some((Instant::now(), loaded.is_current()));
        }
        match *looked {
            Some((_, false)) => Err(ShellError::Outdated),
            _ => Ok(()),
        }
    }

    /// Whether there may be more than the built-in policy. Takes two looks and reads nothing: the handshake asks.
    pub(crate) fn has_policy_file(&self) -> bool {
        let is_there = |path: &Path| {
            !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        *self.has_file.get_or_init(|| is_there(Path::new(MANAGED_FILE)) || is_there(&self.setup.own_policy()))
    }

    /// The operator's policy, with what it was read from.
    pub fn loaded(&self) -> Result<&Loaded, Arc<ShellError>> {
        self.policy.get_or_init(|| self.load()).as_ref().map_err(Arc::clone)
    }

    /// All mistakes of the files, where a mistake keeps the policy from being used.
    pub fn mistakes(&self) -> Vec<Problem> {
        match self.loaded() {
            Err(error) if matches!(&*error, ShellError::Policy(_)) => {
                self.setup.policy_files(&self.setup.own_policy()).mistakes()
            }
            _ => Vec::new(),
        }
    }

    /// What of the person's own file changes nothing beside the one for all users.
    pub fn idle(&self) -> Vec<Idle> {
        let own = self.setup.own_policy();
        self.setup.policy_files(&own).idle(&plan::usual_places(&self.setup))
    }

    fn load(&self) -> Result<Loaded, Arc<ShellError>> {
        let own = self.setup.own_policy();
        plan::check_policy_place(&self.setup, &own)?;
        let files = self.setup.policy_files(&own);
        let places = plan::usual_places(&self.setup);
        let loaded =
            Loaded::read(&files, &places).map_err(|problem| Arc::new(ShellError::Policy(problem)))?;
        let writable = writable::writable(&self.setup, &loaded.policy);
        exports::check(&self.setup, &files, &loaded.policy.audit, &writable)
            .map_err(|problem| Arc::new(ShellError::Policy(problem)))?;
        self.setup.skills.set_writable(writable);
        Ok(loaded)
    }

    /// What the shell knows about this server.
    pub fn setup(&self) -> &ShellSetup {
        &self.setup
    }

    /// Where the policy's names for places lead, at this moment.
    pub fn places(&self) -> Result<Places, Arc<ShellError>> {
        Ok(plan::places(&self.setup, &self.loaded()?.policy))
    }

    /// The best tier that this machine and the policy allow, found by building a cell.
    pub fn tier(&self) -> Result<Tier, Arc<ShellError>> {
        let profile = self.profile(DEFAULT_PROFILE)?;
        Ok(self.cells.get(&self.setup, self.policy()?, &profile, &self.places()?)?.tier)
    }

    /// What keeps this machine from each tier above `tier`, for people.
    pub fn why_not_higher(&self, tier: Tier) -> Vec<(Tier, String)> {
        match (self.policy(), self.places(), self.profile(DEFAULT_PROFILE)) {
            (Ok(policy), Ok(places), Ok(profile)) => {
                cells::why_not_higher(&self.setup, policy, &profile, &places, tier)
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
            As::Component { name, profile, read_only } => {
                let grants = &self.policy()?.grants;
                let granted = grants.get(&**name).map(|grant| grant.shell.as_slice()).unwrap_or_default();
                let granted = granted.iter().map(|granted| &granted.profile);
                if profile.is_none() && granted.len() == 0 {
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

    /// A profile of the policy. The one that changes nothing is narrowed by the default one, so
    /// that making a plan never shows what is denied otherwise.
    pub(crate) fn profile(&self, name: &str) -> Result<Cow<'_, Profile>, Arc<ShellError>> {
        let profiles = &self.loaded()?.policy.shell.profiles;
        let unknown = || {
            let known = profiles.keys().cloned().collect();
            Arc::new(ShellError::NoProfile { name: name.to_owned(), known })
        };
        let profile = profiles.get(name).ok_or_else(unknown)?;
        match profiles.get(DEFAULT_PROFILE) {
            Some(default) if name == READ_ONLY_PROFILE => {
                let narrowed = default.narrowed(profile, &self.places()?);
                Ok(Cow::Owned(Profile { name: name.to_owned(), ..narrowed }))
            }
            _ => Ok(Cow::Borrowed(profile)),
        }
    }

    /// Starts a command: the only way to. Tells what was decided.
    fn start(&self, request: &Request) -> Result<Started, Arc<ShellError>> {
        let started = self.try_to_start(request);
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
            let cell = self.cells.get(&self.setup, policy, &profile, &self.places()?)?;
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
        let Rules { covers, granted, unseen, reopened } = cell.special(&self.setup)?;
        let command = CommandSpec {
            command: request.command.clone(),
            environment: cell.environment.clone(),
            timeout_ms: request.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            limits: plan::limits(profile),
            covers,
            absent_names: scorpiox_policy::PROTECTED.iter().map(|name| (*name).to_owned()).collect(),
            packages: vec![scorpiox_policy::PACKAGES.to_owned()],
            areas: protect::exposed(&cell.plan.areas),
            granted,
        };
        let mut running = cell.cell.run(command, None)?;
        running.wait_until_started()?;
        let listener = running.take_listener();
        let proxy = listener.map(|listener| plan::proxy(profile, listener)).transpose();
        let proxy = proxy.map_err(ShellError::io("starting the proxy"))?;
        // They are told once, so by a command that runs, and to who passes them on.
        let notes = match request.run_as {
            As::Client { .. } => notes(&cell.news(unseen), &reopened),
            As::Component { .. } => Vec::new(),
        };
        let home = self.setup.home.clone();
        let (tier, rule) = (cell.tier, profile.origins.profile.to_string());
        Ok(Started { running, tier, profile: profile.name.clone(), rule, cell, proxy, notes, home })
    }

    /// What stays closed in folders that are opened otherwise than to commands.
    pub(crate) fn guard(&self, areas: &[Area]) -> Result<Special, ShellError> {
        let mut surveys = self.surveys.lock().unwrap_or_else(PoisonError::into_inner);
        if surveys.len() >= MAX_SURVEYS && !surveys.contains_key(areas) {
            surveys.clear();
        }
        let survey =
            surveys.entry(areas.to_vec()).or_insert_with(|| Arc::new(Survey::new(areas, DenySet::default())));
        let survey = Arc::clone(survey);
        drop(surveys);
        View::new(&self.setup, areas, &plan::programs_inside(&self.setup, areas)).special(&survey)
    }

    /// Whether commands can run under a profile as it is written, on the best tier.
    pub(crate) fn check_profile(&self, profile: &Profile) -> Result<(), Arc<ShellError>> {
        let places = self.places()?;
        plan::check_system(profile, &places).map_err(Arc::new)
    }

    /// What stays closed to commands of a profile, as the next one would find it.
    pub fn closes(&self, profile: &Profile, path: &Path, write: bool) -> Result<Option<String>, ShellError> {
        let policy = &self.loaded().map_err(|error| ShellError::Unenforceable(error.to_string()))?.policy;
        let places = plan::places(&self.setup, policy);
        let areas = plan::areas(&self.setup, profile, &places, &writable::writable(&self.setup, policy))?;
        let survey = Survey::new(&areas, profile.denied(&places));
        let programs = plan::programs_inside(&self.setup, &areas);
        let special = View::new(&self.setup, &areas, &programs).special(&survey)?;
        Ok(special.closes(path, write).map(|why| why.to_string()))
    }

    /// Tells of each task that ends from now on, in a thread of the task's.
    pub(crate) fn on_task_end(&self, tell: impl Fn(Report) + Send + Sync + 'static) {
        self.tasks.on_end(tell);
    }

    /// Ends everything that runs, and waits until it is gone.
    pub fn shut_down(&self) {
        self.tasks.stop_all();
        self.cells.clear();
    }
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
