//! The cells that are built, one for each profile, and which tier they have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_cell::{Cell, CellError, Cover, Granted, Network, Tier};
use scorpiox_operator::Site;
use scorpiox_paths::Writable;
use scorpiox_policy::{DenySet, Places, Policy, Profile};
use scorpiox_proxy::Proxy;

use super::environment;
use super::error::{NoTier, ShellError};
use super::plan::{self, Plan};
use super::protect::View;
use super::survey::Survey;
use crate::helper::HELPER;

/// The tiers that confine, best first.
const TIERS: &[Tier] =
    if cfg!(target_os = "macos") { &[Tier::Seatbelt] } else { &[Tier::T1, Tier::T1b, Tier::T2] };

/// The cells of one server.
#[derive(Debug, Default)]
pub(super) struct Cells(Mutex<BTreeMap<String, Arc<Ready>>>);

/// A cell that runs commands of one profile.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) cell: Cell,
    pub(super) tier: Tier,
    pub(super) plan: Plan,
    /// Of every command.
    pub(super) environment: Vec<(String, String)>,
    survey: Survey,
    /// The folders that it shows, as they were when it was built.
    shown: Vec<(PathBuf, Option<Identity>)>,
    /// The skills that there were.
    skills: Vec<PathBuf>,
    /// Git's folder of the workspace, where it lies outside.
    repository: Option<PathBuf>,
    /// Folders that are not seen, and were told of.
    told: Mutex<Vec<PathBuf>>,
    /// The way out, where the profile has one. Declared after the cell: dropped after it.
    pub(super) proxy: Option<Proxy>,
}

/// What tells a folder from another one that came in its place.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(windows)]
fn identity(path: &Path) -> Option<Identity> {
    scorpiox_paths::Folder::open(path).and_then(|folder| folder.identity()).ok()
}

impl Cells {
    /// The cell of a profile; it is built when it is first asked for.
    pub(super) fn get(
        &self,
        site: &Site,
        policy: &Policy,
        profile: &Profile,
        places: &Places,
    ) -> Result<Arc<Ready>, ShellError> {
        // Held while one is built, so that many first commands build one cell.
        let mut cells = self.lock();
        // One that shows a folder which was exchanged since is of no use to the next command;
        // those that run in it have it until they end.
        if let Some(ready) = cells.get(&profile.name).filter(|ready| ready.is_current(places)) {
            return Ok(Arc::clone(ready));
        }
        let ready = Arc::new(build_best(site, policy, profile, places)?);
        cells.insert(profile.name.clone(), Arc::clone(&ready));
        Ok(ready)
    }

    /// Takes a cell out that does not work any more.
    pub(super) fn forget(&self, dead: &Arc<Ready>) {
        self.lock().retain(|_, ready| !Arc::ptr_eq(ready, dead));
    }

    /// Ends all cells that no command is using, and with the last reference each other one.
    pub(super) fn clear(&self) {
        let cells = std::mem::take(&mut *self.lock());
        for ready in cells.values() {
            ready.cell.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Ready>>> {
        self.0.lock()
    }
}

impl Ready {
    fn is_current(&self, places: &Places) -> bool {
        let is_same = self.skills == places.skills && self.repository == places.repository;
        is_same && self.shown.iter().all(|(path, then)| identity(path) == *then)
    }

    /// Whether commands in it can change files, or reach the network.
    pub(super) fn changes_things(&self) -> bool {
        let is_open = self.tier == Tier::None || self.plan.spec.network != Network::Off;
        is_open || self.plan.areas.iter().any(|area| area.write)
    }

    /// What is closed to its commands, wherever it lies.
    pub(super) fn denied(&self) -> &DenySet {
        self.survey.denied()
    }

    /// What is special in the workspace at this moment.
    pub(super) fn special(&self, site: &Site) -> Result<Rules, ShellError> {
        if self.tier == Tier::None {
            return Ok(Rules::default());
        }
        let view = View::new(site, &self.plan.areas, &self.plan.programs).in_tier(self.tier);
        let special = view.special(&self.survey)?;
        let covers = special.covers();
        let granted = match self.tier {
            Tier::T2 => special.granted().map_err(ShellError::io("looking through the workspace"))?,
            _ => Vec::new(),
        };
        Ok(Rules { covers, granted, unseen: special.unseen(), reopened: special.reopened })
    }

    /// What of folders that are not seen has not been told yet.
    pub(super) fn news(&self, unseen: Vec<(PathBuf, &'static str)>) -> Vec<(PathBuf, &'static str)> {
        let mut told = self.told.lock();
        let paths = unseen.iter().map(|(path, _)| path.clone()).collect();
        let known = std::mem::replace(&mut *told, paths);
        unseen.into_iter().filter(|(path, _)| !known.contains(path)).collect()
    }
}

/// What stops each tier above `tier`.
pub(super) fn why_not_higher(
    site: &Site,
    policy: &Policy,
    profile: &Profile,
    places: &Places,
    tier: Tier,
) -> Vec<(Tier, String)> {
    let writable = site.writable(policy);
    let higher = TIERS.iter().copied().filter(|other| *other > tier);
    let why = |other| Some((other, build(site, profile, places, &writable, other).err()?.to_string()));
    higher.filter_map(why).collect()
}

/// What one command is held to.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub covers: Vec<Cover>,
    pub granted: Vec<Granted>,
    /// Folders that it does not see, since nothing is known of what is in them, and why.
    pub unseen: Vec<(PathBuf, &'static str)>,
    /// Folders that were opened to their owner again.
    pub reopened: Vec<PathBuf>,
}

/// Builds the best cell that works here and that the policy accepts.
fn build_best(site: &Site, policy: &Policy, profile: &Profile, places: &Places) -> Result<Ready, ShellError> {
    let min_tier = plan::tier(policy.shell.min_tier.value);
    let writable = site.writable(policy);
    // Only the operator's own file says so, and never for a profile that promises that nothing changes.
    let goes_without = policy.shell.allow_unsandboxed.value;
    let may_go_without = goes_without && !profile.is_read_only();
    let mut tried = Vec::new();
    for tier in TIERS.iter().copied().filter(|tier| *tier >= min_tier) {
        match build(site, profile, places, &writable, tier) {
            Ok(ready) => return Ok(ready),
            // In no tier, and not without one.
            Err(error @ ShellError::Rule { .. }) => return Err(error),
            Err(ShellError::Cell(CellError::NoSandbox)) if goes_without && !may_go_without => {
                return Err(ShellError::NothingHolds(profile.name.clone()));
            }
            Err(error @ ShellError::Cell(CellError::NoSandbox)) if !may_go_without => return Err(error),
            Err(error) => tried.push((tier, error.to_string())),
        }
    }
    if may_go_without {
        return build(site, profile, places, &writable, Tier::None);
    }
    Err(ShellError::NoTier(NoTier { min_tier, tried }))
}

fn build(
    site: &Site,
    profile: &Profile,
    places: &Places,
    writable: &Writable,
    tier: Tier,
) -> Result<Ready, ShellError> {
    let plan = Plan::new(site, profile, places, writable, tier)?;
    let shown = plan.areas.iter().map(|area| (area.path.clone(), identity(&area.path))).collect();
    let mut cell = Cell::build(&HELPER, &plan.spec)?;
    let proxy = match cell.take_listener() {
        Some(listener) => Some(plan::proxy(profile, listener).map_err(ShellError::io("starting the proxy"))?),
        None => None,
    };
    let survey = plan::survey(profile, places, &plan.areas);
    let environment = environment::build(site, profile, &plan, cell.proxy_port());
    let (skills, repository) = (places.skills.clone(), places.repository.clone());
    Ok(Ready {
        cell,
        tier,
        plan,
        environment,
        survey,
        shown,
        skills,
        repository,
        told: Mutex::default(),
        proxy,
    })
}
