//! Cache of built cells, one per profile, and the choice of their tier.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_egress_proxy::Proxy;
use scorpiox_fs::Writable;
use scorpiox_git::LinkedTree;
use scorpiox_policy::{DenySet, Places, Policy, Profile};
use scorpiox_sandbox::{Cell, CellError, Cover, Granted, Network, Tier};
use scorpiox_workspace_config::Site;

use super::error::{NoTier, ShellError};
use super::plan::{self, Plan};
use super::protect::View;
use super::survey::{Found, Survey};
use super::{environment, own_identity, work_trees};
use crate::helper::HELPER;
use crate::unknown_hosts::UnknownHosts;

/// Confining tiers, best first.
const TIERS: &[Tier] =
    if cfg!(target_os = "macos") { &[Tier::Seatbelt] } else { &[Tier::T1, Tier::T1b, Tier::T2] };

/// Maximum number of cells of principals. Beyond it, one in which nothing runs is forgotten.
const MAX_OWN_CELLS: usize = 64;

/// Cells of one server.
#[derive(Debug, Default)]
pub(super) struct Cells(Mutex<BTreeMap<Key, Arc<Ready>>>);

/// Name of a profile, and the principal who alone has the cell.
type Key = (String, Option<String>);

/// A cell that is ready to run commands of one profile.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) cell: Cell,
    pub(super) tier: Tier,
    pub(super) plan: Plan,
    /// Environment variables of every command.
    pub(super) environment: Vec<(String, String)>,
    survey: Survey,
    /// Exposed folders with their identity at build time, and those that the profile names but that were not there.
    shown: Vec<(PathBuf, Option<Identity>)>,
    /// The user's identity at build time.
    identity: own_identity::Known,
    /// Skill folders at build time.
    skills: Vec<PathBuf>,
    /// Git directory of the workspace, if it lies outside.
    repository: Option<PathBuf>,
    /// Stores of objects that were visible when the cell was built.
    lent: Vec<PathBuf>,
    /// Linked work trees of the repository when the last command started.
    trees: Mutex<Vec<LinkedTree>>,
    /// Unseen folders that were already reported.
    told: Mutex<Vec<PathBuf>>,
    /// Questions about unknown hosts, if the profile asks them.
    pub(super) unknown: Option<Arc<UnknownHosts>>,
    /// Proxy, if the profile needs one. The field follows `cell`, so it is dropped later.
    pub(super) proxy: Option<Proxy>,
}

/// Device and inode, which distinguish a folder from a replacement at the same path.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(windows)]
fn identity(path: &Path) -> Option<Identity> {
    scorpiox_fs::Folder::open(path).and_then(|folder| folder.identity()).ok()
}

impl Cells {
    /// Returns the cell of a profile, and builds it on first use. Under a profile that asks about unknown hosts, each
    /// principal has a cell of its own: what one of them may reach is closed to the others.
    pub(super) fn get(
        &self,
        site: &Site,
        policy: &Policy,
        profile: &Profile,
        places: &Places,
        principal: Option<&str>,
    ) -> Result<Arc<Ready>, ShellError> {
        let key = (profile.name.clone(), principal.filter(|_| plan::asks(profile)).map(str::to_owned));
        let known = self.lock().get(&key).map(Arc::clone);
        // Looks at files of the home folder, which may be on a slow disk, without the lock.
        let read = || plan::own_identity(site, profile, places);
        let has_another = known.filter(|ready| !ready.identity.is_current(read));
        // The lock is held during a build, so that concurrent first commands share one cell.
        let mut cells = self.lock();
        // A cell that exposes a replaced folder, or another identity, is stale for new commands. Commands that run in
        // it keep it until they end.
        let is_current = |ready: &&Arc<Ready>| {
            ready.is_current(places) && !has_another.as_ref().is_some_and(|other| Arc::ptr_eq(other, ready))
        };
        if let Some(ready) = cells.get(&key).filter(is_current) {
            return Ok(Arc::clone(ready));
        }
        let ready = Arc::new(build_best(site, policy, profile, places)?);
        make_room(&mut cells);
        cells.insert(key, Arc::clone(&ready));
        Ok(ready)
    }

    /// Removes a dead cell.
    pub(super) fn forget(&self, dead: &Arc<Ready>) {
        self.lock().retain(|_, ready| !Arc::ptr_eq(ready, dead));
    }

    /// Forgets all cells. Each ends with its last reference, which a running command holds.
    pub(super) fn forget_all(&self) {
        self.lock().clear();
    }

    /// Ends all cells, and the commands in them.
    pub(super) fn clear(&self) {
        let cells = std::mem::take(&mut *self.lock());
        for ready in cells.values() {
            ready.cell.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Ready>>> {
        self.0.lock()
    }
}

/// Forgets cells of principals in which no command runs, if there are many. What was allowed there is asked about again.
fn make_room(cells: &mut BTreeMap<Key, Arc<Ready>>) {
    let own: Vec<_> = cells.keys().filter(|(_, principal)| principal.is_some()).cloned().collect();
    let surplus = (own.len() + 1).saturating_sub(MAX_OWN_CELLS);
    let idle =
        own.into_iter().filter(|key| cells.get(key).is_some_and(|ready| Arc::strong_count(ready) == 1));
    for key in idle.take(surplus).collect::<Vec<_>>() {
        cells.remove(&key);
    }
}

impl Ready {
    fn is_current(&self, places: &Places) -> bool {
        let is_same =
            self.skills == places.skills && self.repository == places.repository && self.lent == places.lent;
        work_trees::remember(&mut self.trees.lock(), places);
        let Plan { areas, toolchains, unseen_trees, .. } = &self.plan;
        let trees = work_trees::unseen(places, areas, toolchains, self.tier);
        is_same
            && trees.iter().all(|tree| unseen_trees.contains(tree))
            && self.shown.iter().all(|(path, then)| identity(path) == *then)
    }

    /// Returns `true` if commands in the cell can change files or reach the network.
    pub(super) fn changes_things(&self) -> bool {
        let is_open = self.tier == Tier::None
            || self.plan.spec.network != Network::Off
            || !self.plan.services.is_empty();
        is_open || self.plan.areas.iter().any(|area| area.write)
    }

    /// Returns the deny rules for commands in the cell.
    pub(super) fn denied(&self) -> &DenySet {
        self.survey.denied()
    }

    /// Returns the linked work trees that notes can be about.
    pub(super) fn trees(&self) -> Vec<LinkedTree> {
        self.trees.lock().clone()
    }

    /// Returns the result of the last survey.
    pub(super) fn found(&self) -> Arc<Found> {
        self.survey.found()
    }

    /// Surveys the workspace and returns the current path rules.
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
        Ok(Rules {
            covers,
            granted,
            unseen: special.unseen(),
            reopened: special.reopened,
            repositories: special.repositories,
        })
    }

    /// Returns the unseen folders that have not been reported yet, and marks all as reported.
    pub(super) fn news(&self, unseen: Vec<(PathBuf, &'static str)>) -> Vec<(PathBuf, &'static str)> {
        let mut told = self.told.lock();
        let paths = unseen.iter().map(|(path, _)| path.clone()).collect();
        let known = std::mem::replace(&mut *told, paths);
        unseen.into_iter().filter(|(path, _)| !known.contains(path)).collect()
    }
}

/// Returns the reason why each tier above `tier` is unavailable.
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

/// Path rules for one command.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub covers: Vec<Cover>,
    pub granted: Vec<Granted>,
    /// Folders hidden from the command because their content is unknown, each with the reason.
    pub unseen: Vec<(PathBuf, &'static str)>,
    /// Folders whose owner permissions were restored.
    pub reopened: Vec<PathBuf>,
    /// Git directories.
    pub repositories: Vec<PathBuf>,
}

/// Tiers that this process has built a cell in, with the kind of its network. None of them is missing on this
/// machine.
static WORKED: Mutex<Vec<(Tier, Network)>> = Mutex::new(Vec::new());

/// Returns `true` if a tier has worked for a profile with the same kind of network.
fn has_worked(profile: &Profile, tier: Tier) -> bool {
    plan::network(profile, tier).is_ok_and(|network| WORKED.lock().contains(&(tier, network)))
}

/// Returns `true` if this machine does not have a tier: a lower one has worked, which is only built then.
fn is_missing(profile: &Profile, tier: Tier) -> bool {
    TIERS.iter().any(|lower| *lower < tier && has_worked(profile, *lower))
}

/// Builds the best cell that works on this machine and that the policy accepts.
fn build_best(site: &Site, policy: &Policy, profile: &Profile, places: &Places) -> Result<Ready, ShellError> {
    let min_tier = plan::tier(policy.shell.min_tier.value);
    let writable = site.writable(policy);
    // Only the operator's own policy can allow this, and never for a read-only profile, or for one with services: an
    // entry that cannot be enforced must not end the sandbox.
    let goes_without = policy.shell.allow_unsandboxed.value;
    let may_go_without = goes_without && !profile.is_read_only() && profile.local.is_empty();
    let mut tried = Vec::new();
    for tier in TIERS.iter().copied().filter(|tier| *tier >= min_tier) {
        match build(site, profile, places, &writable, tier) {
            Ok(ready) => {
                let mut worked = WORKED.lock();
                let works = (tier, ready.plan.spec.network);
                if !worked.contains(&works) {
                    worked.push(works);
                }
                return Ok(ready);
            }
            // The rule cannot be enforced in any tier, nor without a sandbox.
            Err(error @ ShellError::Rule { .. }) => return Err(error),
            Err(ShellError::Cell(CellError::NoSandbox)) if goes_without && profile.is_read_only() => {
                return Err(ShellError::NothingHolds(profile.name.clone()));
            }
            Err(error @ ShellError::Cell(CellError::NoSandbox)) if !may_go_without => return Err(error),
            Err(error)
                if error.may_pass() && has_worked(profile, tier)
                    || error.is_lack() && !is_missing(profile, tier) =>
            {
                // A command could bring this about, for example by using up descriptors, to get a lower tier.
                let is_lack = error.is_lack();
                let mut why = match error {
                    ShellError::Cell(error) => error.to_string(),
                    error => error.to_string(),
                };
                if !is_lack {
                    why.push_str("; repeat it when fewer commands run");
                }
                return Err(if has_worked(profile, tier) {
                    ShellError::WorkedBefore { tier, why }
                } else {
                    ShellError::Lack { tier, why }
                });
            }
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
    // Noted before it is read for the cell, so that no change is missed.
    let own = own_identity::Known::of(plan::own_identity(site, profile, places));
    let plan = Plan::new(site, profile, places, writable, tier)?;
    let paths = plan.areas.iter().map(|area| area.path.clone()).chain(plan::absent(profile, places));
    let shown = paths
        .map(|path| {
            let then = identity(&path);
            (path, then)
        })
        .collect();
    let mut cell = Cell::build(&HELPER, &plan.spec)?;
    let mut trees = Vec::new();
    work_trees::remember(&mut trees, places);
    let unknown = plan::asks(profile).then(Arc::default);
    let proxy = plan::proxy(profile, cell.take_listeners(), &plan.services, unknown.as_ref());
    let proxy = proxy.map_err(ShellError::io("starting the proxy"))?;
    let survey = plan::survey(profile, places, &plan.areas);
    let environment = environment::build(site, profile, places, &plan, cell.proxy_port());
    let (skills, lent, repository) = (places.skills.clone(), places.lent.clone(), places.repository.clone());
    Ok(Ready {
        cell,
        tier,
        plan,
        environment,
        survey,
        shown,
        identity: own,
        skills,
        lent,
        repository,
        trees: Mutex::new(trees),
        told: Mutex::default(),
        unknown,
        proxy,
    })
}
