//! Translates a profile of the policy into a cell specification.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use scorpiox_audit::BUILT_IN;
use scorpiox_egress_proxy::{AddressPolicy, Decide, Denied, Proxy, SystemResolver};
use scorpiox_fs::home::{instance, private};
use scorpiox_fs::{Trail, Writable, resolve};
use scorpiox_git::{LinkedTree, OwnIdentity, User, identity};
use scorpiox_policy::{
    Denial, DenyRule, DenySet, HostDecision, HostRules, MANAGED_FILE, Network as NetworkRule, Place, Places,
    Profile, Source, TOOLCHAINS, Tier as MinTier,
};
use scorpiox_sandbox::{CellSpec, ETC, Exposed, HomeFile, HomeLink, Limits, Listeners, Network, Tier};
use scorpiox_workspace_config::worked_on::{self, Along};
use scorpiox_workspace_config::{Site, existing, is_own};

use super::area::{self, Area};
use super::error::ShellError;
use super::local::{self, Opened};
use super::survey::Survey;
use crate::scratch::Scratch;
use crate::ssh;
use crate::unknown_hosts::{HostAnswer, UnknownHosts};
use crate::work_trees;

/// Policy key in which the operator lists the private networks that commands may reach.
pub(crate) const PRIVATE_KEY: &str = "`network` of the profile";
/// Home directory of commands in tiers with an in-memory home.
const HOME: &str = "/home/user";

/// Number of cells that this process has planned; used to name their folders.
static CELLS: AtomicU32 = AtomicU32::new(0);

/// Cell plan for a profile on this machine.
#[derive(Debug)]
pub(super) struct Plan {
    pub spec: CellSpec,
    /// Host file trees that commands see.
    pub areas: Vec<Area>,
    /// Existing toolchain folders outside of the system's program folders.
    pub toolchains: Vec<PathBuf>,
    /// Toolchain folders that lie, or would lie, inside writable areas.
    pub programs: Vec<PathBuf>,
    /// Folder for complete outputs.
    pub outputs: PathBuf,
    /// Linked work trees of the repository that the cell does not show, but that git finds in it.
    pub unseen_trees: Vec<LinkedTree>,
    /// Services of the machine that the cell opens.
    pub services: Vec<Opened>,
    /// On-disk folder of the cell, removed with the plan.
    _scratch: Scratch,
}

impl Plan {
    pub(super) fn new(
        site: &Site,
        profile: &Profile,
        places: &Places,
        writable: &Writable,
        tier: Tier,
    ) -> Result<Self, ShellError> {
        check_system(profile, places)?;
        let outputs = outputs(site);
        // Each cell has its own folder, so a cell that ends removes its folder completely.
        let number = CELLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{}-{number}", site.workspace_name, instance::name(), profile.name);
        if is_own(&site.workspace, &site.own_home) {
            return Err(ShellError::Unenforceable(format!(
                "the workspace {} is where this program keeps what was decided; open another folder",
                site.workspace.display()
            )));
        }
        if site.workspace.starts_with(&site.own_home) {
            // The placeholder workspace for sessions without a project is created by this program.
            make_folder(&site.workspace)?;
        }
        if !site.workspace.is_dir() {
            return Err(ShellError::NoWorkspace(site.workspace.clone()));
        }
        make_folder(&outputs)?;
        let areas = areas(site, profile, places, writable)?;
        // Record the folders before commands can write to them: later sessions must not follow links that
        // commands create.
        let written: Vec<_> = areas.iter().filter(|area| area.write).map(|area| area.path.clone()).collect();
        let repository = places.repository.as_deref();
        let along = Along { repository, lent: &places.lent, writable: &written };
        worked_on::remember(&site.own_home, &site.workspace, along)
            .map_err(ShellError::io("noting the workspace"))?;
        let held = Scratch::new(&site.own_home, &name)
            .map_err(ShellError::io("making a folder for temporary files"))?;
        let scratch = held.path.clone();
        let network = network(profile, tier)?;
        let services = local::services(site, profile, writable, (tier, network))?;
        let reads = |place| profile.read.iter().any(|rule| rule.place == place);
        let toolchains = if reads(Place::Toolchains) { existing(&places.toolchains) } else { Vec::new() };
        let mut exposed = vec![Exposed { path: outputs.as_path().into(), write: false }];
        // Toolchains inside an area are already visible there.
        let apart = toolchains.iter().filter(|path| !areas.iter().any(|area| path.starts_with(&area.path)));
        exposed.extend(apart.map(|path| Exposed { path: path.as_path().into(), write: false }));
        if matches!(tier, Tier::T2 | Tier::Seatbelt) {
            let system = existing(&places.system).into_iter();
            exposed.extend(system.map(|path| Exposed { path: path.into(), write: false }));
        }
        if tier != Tier::T2 {
            // T2 grants them piece by piece for each command.
            exposed.extend(area::exposed(&areas));
        }
        let unseen_trees = work_trees::unseen(places, &areas, &toolchains, tier);
        let stand_ins = unseen_trees.iter().map(|known| known.tree.join(".git").into()).collect();
        let in_memory = matches!(tier, Tier::T1 | Tier::T1b);
        let home_links = home_links(profile, places);
        let mut home_files = home_files(site, &profile.denied(places), &home_links);
        if !in_memory {
            for file in home_files.drain(..) {
                fs::write(scratch.join(&file.name), &file.content)
                    .map_err(ShellError::io("making the home folder of commands"))?;
            }
        }
        let spec = CellSpec {
            tier,
            workspace: site.workspace.as_path().into(),
            exposed,
            home: if in_memory { Path::new(HOME) } else { scratch.as_path() }.into(),
            scratch: scratch.into(),
            home_links,
            home_files,
            stand_ins,
            tmp_bytes: profile.limits.tmp,
            network,
            ssh_config: ssh::config(&profile.network.value, network, tier),
            local: services.iter().map(|service| service.address.clone()).collect(),
            landlock_at_most: None,
        };
        local::check_places(&spec, profile)?;
        let programs = programs_inside(site, &areas);
        Ok(Self { spec, areas, toolchains, programs, outputs, unseen_trees, services, _scratch: held })
    }
}

/// Returns the folder for the complete outputs of a workspace.
pub(super) fn outputs(site: &Site) -> PathBuf {
    site.own_home.join("output").join(&site.workspace_name)
}

/// Returns the toolchain folders that lie in writable areas, including those that do not exist yet.
pub(super) fn programs_inside(site: &Site, areas: &[Area]) -> Vec<PathBuf> {
    let written = |path: &Path| areas.iter().any(|area| area.write && path.starts_with(&area.path));
    let meets = |path: &PathBuf| {
        Trail::follow(path)
            .is_ok_and(|trail| written(&trail.end) || trail.links.iter().any(|link| written(link)))
    };
    let home = site.home.iter();
    home.flat_map(|home| TOOLCHAINS.iter().map(|name| home.join(name))).filter(meets).collect()
}

/// Links `~/NAME` of a path rule into the home directory of commands, if that is a different one.
fn home_links(profile: &Profile, places: &Places) -> Vec<HomeLink> {
    let rules = profile.read.iter().chain(&profile.write);
    let named = rules.filter_map(|rule| match &rule.place {
        Place::Path(path) => {
            let inside = path.strip_prefix("~").ok().filter(|inside| !inside.as_os_str().is_empty())?;
            let target = places.folders(&rule.place).pop().filter(|target| target.exists())?;
            (target != Path::new(HOME).join(inside))
                .then(|| HomeLink { inside: inside.into(), target: target.as_path().into() })
        }
        _ => None,
    });
    named.collect()
}

/// Returns the user's identity for the home folder of commands.
pub(super) fn own_identity(site: &Site, profile: &Profile, places: &Places) -> OwnIdentity {
    identity_of(site, &profile.denied(places), &home_links(profile, places))
}

/// Returns generated Git configuration files with the user's identity, unless `deny` hides the files that
/// define it. Returns nothing if a rule exposes the user's own configuration.
fn home_files(site: &Site, denied: &DenySet, links: &[HomeLink]) -> Vec<HomeFile> {
    let files = identity_of(site, denied, links).files.into_iter();
    files.map(|(name, content)| HomeFile { name, content }).collect()
}

fn identity_of(site: &Site, denied: &DenySet, links: &[HomeLink]) -> OwnIdentity {
    let is_own = |link: &HomeLink| link.inside.as_path().to_string_lossy().starts_with(".gitconfig");
    if links.iter().any(is_own) {
        return OwnIdentity::default();
    }
    let may_read = |path: &Path| denied.matches(path).is_none();
    identity(&User::of_process(site.home.as_deref()), &may_read)
}

/// Checks that the system's programs are exposed completely.
///
/// They are visible completely or not at all. Bash is one of them, so nothing can run if they are closed. A
/// `deny` rule for a part of them would have no effect, so it is refused.
pub(super) fn check_system(profile: &Profile, places: &Places) -> Result<(), ShellError> {
    let folders: Vec<_> =
        profile.read.iter().chain(&profile.write).flat_map(|rule| places.folders(&rule.place)).collect();
    let is_open = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
    let mut system = places.system.iter().filter(|path| path.exists());
    if !system.all(|path| is_open(path) || dunce::canonicalize(path).is_ok_and(|real| is_open(&real))) {
        return Err(ShellError::Rule {
            before: format!(
                "profile {} does not open the system's programs, bash among them, so that no command can run: `read`",
                profile.name
            ),
            rule: profile.origins.read,
            after: " lacks \"@system\"".to_owned(),
        });
    }
    let named = |rule: &&scorpiox_policy::PathRule| matches!(rule.place, Place::Path(_));
    let own: Vec<_> =
        profile.read.iter().filter(named).flat_map(|rule| places.folders(&rule.place)).collect();
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    let whole: Vec<PathBuf> = places.system.iter().cloned().chain(etc).collect();
    let is_of_it = |rule: &&DenyRule| {
        let head = rule.head(places);
        head.is_some_and(|head| {
            whole.iter().any(|path| head.starts_with(path))
                && !own.iter().any(|folder| head.starts_with(folder))
        })
    };
    match profile.deny.iter().find(is_of_it) {
        None => Ok(()),
        Some(rule) => Err(ShellError::Rule {
            before: format!("`deny` of profile {} has \"{}\"", profile.name, rule.glob()),
            rule: rule.source,
            after: ", which is among the system's programs: commands see those whole, or not at all; leave it out"
                .to_owned(),
        }),
    }
}

/// Returns `true` if a person is asked about unknown hosts.
pub(super) fn asks(profile: &Profile) -> bool {
    let lists = matches!(profile.network.value, NetworkRule::Allowlist { .. });
    lists && profile.unknown_hosts.value.asks()
}

pub(super) fn network(profile: &Profile, tier: Tier) -> Result<Network, ShellError> {
    match &profile.network.value {
        NetworkRule::Off => Ok(Network::Off),
        NetworkRule::Open => Ok(Network::Host),
        NetworkRule::Allowlist { .. } if matches!(tier, Tier::T1 | Tier::T1b | Tier::Seatbelt) => {
            Ok(Network::Proxy)
        }
        // Without a network nothing is reached either.
        NetworkRule::Allowlist { hosts, .. } if hosts.is_empty() && !asks(profile) => Ok(Network::Off),
        NetworkRule::Allowlist { .. } => Err(ShellError::Unenforceable(format!(
            "the network of profile {} is a list of hosts, which tier {tier} cannot enforce; T1 and T1b can",
            profile.name
        ))),
    }
}

/// Returns the folders that a profile opens as soon as they are there.
pub(super) fn absent(profile: &Profile, places: &Places) -> impl Iterator<Item = PathBuf> {
    let rules = profile.read.iter().chain(&profile.write);
    let named = rules.filter(|rule| matches!(rule.place, Place::Path(_)));
    named.flat_map(|rule| places.folders(&rule.place)).filter(|path| !path.exists())
}

/// Returns the host file trees that a profile exposes.
pub(super) fn areas(
    site: &Site,
    profile: &Profile,
    places: &Places,
    writable: &Writable,
) -> Result<Vec<Area>, ShellError> {
    let mut areas: Vec<Area> = Vec::new();
    let rules =
        profile.read.iter().map(|rule| (rule, false)).chain(profile.write.iter().map(|rule| (rule, true)));
    for (rule, write) in rules {
        if !matches!(rule.place, Place::Workspace | Place::Skills | Place::Path(_)) {
            continue;
        }
        for path in places.folders(&rule.place) {
            if places.repository.as_ref() == Some(&path) && !site.opens(&path, profile) {
                continue;
            }
            // A path that a command can redirect must not decide what later commands see, or whether they see
            // anything.
            let path = match resolve(&path, writable) {
                Ok(path) => path,
                Err(error) => {
                    tracing::warn!("commands have no {}, which the policy names: {error}", path.display());
                    continue;
                }
            };
            beside_own(site, places, &path, write.then_some(rule.source))?;
            match areas.iter_mut().find(|area| area.path == path) {
                Some(area) => area.write |= write,
                None if path.exists() => areas.push(Area { path, write }),
                None => {}
            }
        }
    }
    let mut rules = profile.read.iter().chain(&profile.write);
    if rules.any(|rule| rule.place == Place::Workspace) {
        let lent = places.lent.iter().filter(|path| !areas.iter().any(|area| path.starts_with(&area.path)));
        let lent: Vec<_> = lent.map(|path| Area { path: path.clone(), write: false }).collect();
        areas.extend(lent);
    }
    // A narrowed profile must not reach anything that the outer profile keeps closed, not even through a
    // link.
    if let Some(outer) = &profile.outer {
        let wider = self::areas(site, outer, places, writable)?;
        areas.retain(|area| {
            wider.iter().any(|open| area.path.starts_with(&open.path) && (open.write || !area.write))
        });
    }
    // A file area has no content to cover, so a denied file is removed from the areas.
    let denied = profile.denied(places);
    areas.retain(|area| area.path.is_dir() || denied.matches(&area.path).is_none());
    // Toolchains are always exposed and need no area, unless a `deny` rule may reach into them.
    let reaches_out = |rule: &DenyRule| rule.glob().starts_with(['/', '~']);
    if profile.deny.iter().any(reaches_out) && profile.read.iter().any(|rule| rule.place == Place::Toolchains)
    {
        let programs = existing(&places.toolchains);
        areas.extend(programs.into_iter().map(|path| Area { path, write: false }));
    }
    match area::reopened(&areas) {
        None => Ok(areas),
        Some((inside, kept)) => Err(ShellError::Unenforceable(format!(
            "`write` of profile {} opens {}, which lies in {}, which `read` opens for reading alone inside a folder of \
             `write`: leave one of the three out",
            profile.name,
            inside.path.display(),
            kept.path.display()
        ))),
    }
}

/// Checks that a writable path of the policy, already resolved, contains neither the policy itself nor
/// programs that run next.
fn beside_own(
    site: &Site,
    places: &Places,
    path: &Path,
    written_by: Option<Source>,
) -> Result<(), ShellError> {
    let Some(rule) = written_by else { return Ok(()) };
    let mut others = existing(&places.toolchains);
    if path == site.workspace {
        // Programs inside the workspace have their own rules. A workspace inside a program folder could have
        // none.
        return match others.iter().find(|other| path.starts_with(other)) {
            None => Ok(()),
            Some(other) => Err(ShellError::Unenforceable(format!(
                "the workspace {} lies in {}, where programs outside the sandbox start from, so that commands could \
                 change what you run next; open another folder",
                path.display(),
                other.display()
            ))),
        };
    }
    others.push(site.own_home.clone());
    others.extend(Path::new(MANAGED_FILE).parent().map(Path::to_owned));
    let policy = Trail::follow(&site.own_policy());
    others.extend(policy.into_iter().flat_map(|trail| trail.links.into_iter().chain([trail.end])));
    let meets = |other: &PathBuf| other.starts_with(path) || path.starts_with(other);
    match others.iter().find(|other| meets(other)) {
        None => Ok(()),
        Some(other) => Err(ShellError::Rule {
            before: format!("the policy lets commands write to {}", path.display()),
            rule,
            after: format!(
                ", which has to do with {}: programs that run next, or the policy itself; name a folder apart from it",
                other.display()
            ),
        }),
    }
}

fn make_folder(path: &Path) -> Result<(), ShellError> {
    if path.is_dir() {
        return Ok(());
    }
    private::folder(path).map_err(ShellError::io(format!("making the folder {}", path.display())))
}

/// Converts the policy's minimum tier to the sandbox's type.
pub fn tier(tier: MinTier) -> Tier {
    match tier {
        MinTier::T1 => Tier::T1,
        MinTier::T1b => Tier::T1b,
        MinTier::T2 => Tier::T2,
    }
}

/// Returns the resource limits for commands of the profile.
pub(super) fn limits(profile: &Profile) -> Limits {
    let limits = &profile.limits;
    Limits {
        processes: limits.processes,
        memory: limits.memory,
        open_files: limits.open_files,
        file_size: limits.file_size,
    }
}

/// Creates the survey that searches the areas for paths that need a rule.
pub(super) fn survey(profile: &Profile, places: &Places, areas: &[Area]) -> Survey {
    Survey::new(areas, profile.denied(places))
}

/// Starts the proxy for a profile's hosts and services, if there are listeners.
pub(super) fn proxy(
    profile: &Profile,
    listeners: Listeners,
    services: &[Opened],
    unknown: Option<&Arc<UnknownHosts>>,
) -> std::io::Result<Option<Proxy>> {
    if listeners.is_empty() {
        return Ok(None);
    }
    let (hosts, near) = match &profile.network.value {
        NetworkRule::Allowlist { hosts, allow_private } => (hosts.clone(), allow_private.as_slice()),
        NetworkRule::Off | NetworkRule::Open => (Vec::new(), [].as_slice()),
    };
    let addresses = AddressPolicy::new(near.iter().map(|rule| rule.network).collect(), PRIVATE_KEY);
    let all = std::iter::successors(profile.outer.as_deref(), |profile| profile.outer.as_deref());
    let listing = all.filter_map(|outer| match &outer.network.value {
        NetworkRule::Allowlist { hosts, .. } => {
            let rules = HostRules::from(hosts.clone()).of(&outer.name, outer.origins.file);
            Some((rules, outer.network.source.to_string()))
        }
        NetworkRule::Off | NetworkRule::Open => None,
    });
    let mut outer: Vec<_> = listing.collect();
    outer.reverse();
    let rules = HostRules::from(hosts).of(&profile.name, profile.origins.file);
    let unknown = unknown.map(|unknown| (Arc::clone(unknown), profile.unknown_hosts.source.to_string()));
    let rules = Arc::new(Hosts { rules, list: profile.network.source.to_string(), outer, unknown });
    let (resolver, limits) = (Arc::new(SystemResolver::default()), scorpiox_egress_proxy::Limits::default());
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut proxy = match listeners.proxy {
        Some(listener) => Proxy::start(listener, rules, resolver, addresses, limits)?,
        None => Proxy::without_listener(rules, resolver, addresses, limits),
    };
    #[cfg(unix)]
    if listeners.services.len() != services.len() {
        return Err(std::io::Error::other("the sandbox opened another number of services"));
    }
    #[cfg(unix)]
    for (listener, service) in listeners.services.into_iter().zip(services) {
        let (listener, service) = local::forwarded(listener, service);
        proxy.open(listener, service)?;
    }
    #[cfg(not(unix))]
    let _ = services;
    Ok(Some(proxy))
}

#[derive(Debug)]
struct Hosts {
    rules: HostRules,
    /// Policy source of the host list, which decides about unlisted hosts.
    list: String,
    /// Host rules that the user's own policy or the repository narrows, the outermost first. They are checked first, so
    /// that a refusal names their line.
    outer: Vec<(HostRules, String)>,
    /// Questions about unlisted hosts, with the rule that asks; `None` if they are refused.
    unknown: Option<(Arc<UnknownHosts>, String)>,
}

impl Decide for Hosts {
    fn decide(&self, host: &str, port: u16) -> Result<String, Denied> {
        let outer = self.outer.iter().map(|(rules, list)| (rules, list));
        let mut allowed = BUILT_IN.to_owned();
        let mut unlisted = None;
        for (rules, list) in outer.chain([(&self.rules, &self.list)]) {
            match rules.decide(host, port) {
                HostDecision::Denied(why @ Denial::NotListed { .. }) if self.unknown.is_some() => {
                    unlisted.get_or_insert(why);
                }
                decision => allowed = decided(decision, list)?,
            }
        }
        let (Some(why), Some((unknown, rule))) = (unlisted, &self.unknown) else { return Ok(allowed) };
        // Nothing is looked up before the answer: a lookup tells the name to others.
        let refused = match unknown.decide(&(host.to_owned(), port)) {
            HostAnswer::Allowed => return Ok(rule.clone()),
            HostAnswer::Denied => "the person was asked, and denied it".to_owned(),
            HostAnswer::NotAsked(reason) | HostAnswer::Waits(reason) => {
                format!("{why}; nobody was asked: {reason}")
            }
        };
        Err(Denied { why: refused, rule: rule.clone() })
    }
}

fn decided(decision: HostDecision<'_>, list: &str) -> Result<String, Denied> {
    match decision {
        HostDecision::Allowed(rule) => Ok(rule.source.to_string()),
        HostDecision::Denied(why) => {
            let rule = match &why {
                Denial::Port { source_line, .. } => source_line.to_string(),
                Denial::NotListed { .. } => list.to_owned(),
                _ => BUILT_IN.to_owned(),
            };
            Err(Denied { why: why.to_string(), rule })
        }
    }
}

#[cfg(test)]
mod tests;
