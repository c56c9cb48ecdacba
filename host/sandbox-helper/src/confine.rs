//! Reduces the supervisor's privileges to those of a command, in the process that becomes the shell. The
//! order is such that each step still has the privileges that it needs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::guard::{guarded_roots, writable_roots};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet};
use scorpiox_sandbox::ETC;
use scorpiox_sandbox::wire::{CellSpec, CommandSpec, Cover, Fault, Limits, Network, Tier};
use scorpiox_sys::linux::{capabilities, sys};

use crate::landlock::{Grant, Rules};
use crate::processes::Mechanism;

/// Files below `/dev` that every command may use.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Directory of pseudo-terminals, in a cell with its own ones.
pub(super) const TERMINALS: &str = "/dev/pts";
/// Files of `/proc` about the machine that programs read, for a tier without a separate `/proc`.
const MACHINE_FACTS: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/kernel/osrelease",
];

/// Maximum number of pending signals if the machine sets no limit.
const MOST_WAITING: u64 = 16 * 1024;

/// Connects the three standard descriptors: `input` or `/dev/null` to read, `output` to write. All others are
/// marked to close on `exec`.
pub(super) fn descriptors(output: &OwnedFd, input: Option<&OwnedFd>) -> Result<(), Fault> {
    let step = "connecting the command's input and output";
    let null = std::fs::File::open("/dev/null").map_err(Fault::at(step))?;
    let connect = || {
        rustix::stdio::dup2_stdin(input.map_or(null.as_fd(), AsFd::as_fd))?;
        rustix::stdio::dup2_stdout(output)?;
        rustix::stdio::dup2_stderr(output)
    };
    connect().map_err(Fault::at(step))?;
    sys::close_on_exec_from(3).map_err(Fault::at("closing other descriptors"))
}

/// Sets the limits of each process of a command.
pub(super) fn limits(limits: &Limits, processes: Mechanism) -> Result<(), Fault> {
    let set = |resource, most| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| Fault::new(format!("setting the limit {resource:?} to {most}"), error))
    };
    let lower = |resource, most: u64| {
        let now = rustix::process::getrlimit(resource).maximum;
        set(resource, now.map_or(most, |now| now.min(most)))
    };
    // With a limit of 0, the kernel still passes the memory of a process to a program that `core_pattern` names;
    // with 1, it does not. It writes no file that is smaller than a page.
    lower(Resource::Core, 1)?;
    lower(Resource::Fsize, limits.file_size)?;
    lower(Resource::Nofile, limits.open_files)?;
    if let Mechanism::OfUser(most) = processes {
        lower(Resource::Nproc, most)?;
    }
    // Limits writable memory rather than reserved memory: Node.js and others reserve far more than they use.
    // A process may lift the limit, as the supervisor does for writable reservations. The regular memory
    // check is the actual limit.
    let now = rustix::process::getrlimit(Resource::Data);
    let current = now.maximum.map_or(limits.memory, |most| most.min(limits.memory));
    rustix::process::setrlimit(Resource::Data, Rlimit { current: Some(current), maximum: now.maximum })
        .map_err(|error| Fault::new(format!("setting the limit Data to {current}"), error))
}

/// Leaves half of the pending signals, which include timers, to the user's own programs: the kernel counts
/// them for each user. The helper calls this before it creates namespaces, so that the limit holds for all
/// its descendants.
pub(super) fn waiting_signals() -> Result<(), Fault> {
    let now = rustix::process::getrlimit(Resource::Sigpending);
    let half = now.current.map_or(MOST_WAITING, |most| most / 2);
    rustix::process::setrlimit(Resource::Sigpending, Rlimit { current: Some(half), maximum: Some(half) })
        .map_err(Fault::at("leaving timers for other programs"))
}

/// Raises the descriptor limit of this process to its maximum: a supervisor may keep some 500 files open that
/// appeared while its command runs. Commands have their own limit.
pub(super) fn room_for_descriptors() -> Result<(), Fault> {
    let most = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
        .map_err(Fault::at("making room for descriptors"))
}

/// Ensures that no program gains a capability when it is started, neither as root nor from file capabilities.
/// Keeps the capabilities of this process.
pub(super) fn bounding() -> Result<(), Fault> {
    let step = "dropping capabilities";
    // This requires CAP_SETPCAP. A process without it has no capabilities to drop, and no_new_privs keeps it
    // that way.
    if !rustix::thread::capabilities(None)
        .map_err(Fault::at(step))?
        .effective
        .contains(CapabilitySet::SETPCAP)
    {
        return Ok(());
    }
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked).map_err(Fault::at(step))?;
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel does not know this capability.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(Fault::new(step, error)),
        }
    }
    Ok(())
}

/// Irrevocably drops every capability.
pub(super) fn capabilities() -> Result<(), Fault> {
    capabilities::give_up().map_err(Fault::at("dropping capabilities"))
}

/// Returns the Landlock rules of a supervisor without namespaces: it reaches the files that it may have to
/// create, and no process except its descendants. A command therefore gains nothing from the supervisor's
/// view of the machine.
pub(super) fn supervisor(cell: &CellSpec, order: &CommandSpec, version: u32) -> Result<Rules, Fault> {
    // These rules also limit those of the command.
    let mut rules = Rules::new(version, cell.network != Network::Host)?.grant(Path::new("/"), Grant::Read)?;
    for device in DEVICES {
        rules = rules.grant_system(&Path::new("/dev").join(device), Grant::Write)?;
    }
    writable_roots(cell, order).iter().try_fold(rules, |rules, root| rules.grant(root, Grant::Write))
}

/// Returns the Landlock rules of a command.
pub(super) fn rules(cell: &CellSpec, order: &CommandSpec, version: u32) -> Result<Rules, Fault> {
    if cell.tier == Tier::T2 {
        return rules_on_shared_tree(cell, order, version);
    }
    // The root contains only what commands may read.
    let mut rules = Rules::new(version, false)?.grant(Path::new("/"), Grant::Read)?;
    for device in DEVICES {
        rules = rules.grant_system(&Path::new("/dev").join(device), Grant::Write)?;
    }
    let guarded = Guarded::of(cell, order);
    for path in [TERMINALS, "/dev/shm", "/tmp"].map(Path::new).into_iter().chain([cell.home.as_path()]) {
        rules = rules.grant_system(path, guarded.grant(path, Grant::Write))?;
    }
    for exposed in cell.exposed.iter().filter(|exposed| exposed.write) {
        let path = exposed.path.as_path();
        rules = rules.grant(path, guarded.grant(path, Grant::Write))?;
    }
    Ok(rules)
}

/// Directories in which the guard creates names and opens files on the command's behalf, and the remaining
/// grant of the command.
struct Guarded {
    roots: Vec<PathBuf>,
    instead: Grant,
}

impl Guarded {
    fn of(cell: &CellSpec, order: &CommandSpec) -> Self {
        let keeps = order.covers.iter().any(|cover| matches!(cover, Cover::Keep(_)));
        let instead = if keeps { Grant::Hold } else { Grant::Take };
        Self { roots: guarded_roots(cell, order), instead }
    }

    /// Returns the grant for a path.
    fn grant(&self, path: &Path, grant: impl Into<Grant>) -> Grant {
        let is_guarded = self.roots.iter().any(|root| path.starts_with(root));
        match grant.into() {
            Grant::Write if is_guarded => self.instead,
            grant => grant,
        }
    }
}

/// Returns the Landlock rules of a command on a shared tree, where no mount hides a file.
///
/// Invariant: the host surveyed everything that is granted here to be read, or it can share no file with a
/// writable area. The areas are surveyed for each command, with all names of a denied file. Commands cannot
/// write to programs, devices and outputs, and may not link their files. The temporary directory is writable
/// and not surveyed, so the guard keeps its files apart: see `Places::are_apart`.
fn rules_on_shared_tree(cell: &CellSpec, order: &CommandSpec, version: u32) -> Result<Rules, Fault> {
    let mut rules = Rules::new(version, cell.network != Network::Host)?;
    for device in DEVICES {
        rules = rules.grant_system(&Path::new("/dev").join(device), Grant::Write)?;
    }
    for fact in MACHINE_FACTS {
        rules = rules.grant_system(Path::new(fact), Grant::Read)?;
    }
    for name in ETC.iter().chain(&["passwd", "group"]) {
        rules = rules.grant_system(&Path::new("/etc").join(name), Grant::Read)?;
    }
    if cell.network == Network::Host {
        for name in ["/etc/resolv.conf", "/etc/hosts"] {
            rules = rules.grant_system(Path::new(name), Grant::Read)?;
        }
    }
    let guarded = Guarded::of(cell, order);
    for exposed in cell.exposed.iter().filter(|exposed| exposed.path != cell.workspace) {
        let (path, access) = (exposed.path.as_path(), if exposed.write { Grant::Write } else { Grant::Read });
        rules = rules.grant(path, guarded.grant(path, access))?;
    }
    let scratch = cell.scratch.as_path();
    rules = rules.grant(scratch, guarded.grant(scratch, Grant::Write))?;
    for granted in &order.granted {
        let path = granted.path.as_path();
        rules = rules.grant_if_there(path, guarded.grant(path, granted.access))?;
    }
    Ok(rules)
}
