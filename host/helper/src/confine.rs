//! From the supervisor's rights to a command's: done in the process that becomes the shell,
//! in an order in which each step still may do what the next ones need.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet};
use scorpiox_cell::ETC;
use scorpiox_cell::wire::{CellSpec, CommandSpec, Cover, Fault, Limits, Network, Tier};
use scorpiox_guard::{guarded_roots, writable_roots};
use scorpiox_kernel::{capabilities, sys};

use crate::landlock::{Grant, Rules};

/// Files below `/dev` that every command may use.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Pseudo-terminals, of a cell that has its own.
pub(super) const TERMINALS: &str = "/dev/pts";
/// What programs ask of `/proc` about the machine, where there is no `/proc` of their own.
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

/// Signals that may wait where the machine has no bound.
const MOST_WAITING: u64 = 16 * 1024;

/// Closes nothing yet, but makes sure that a program gets no more than its three standard
/// descriptors: `input` or `/dev/null` to read, `output` to write.
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

/// Sets the limits that each process of a command has.
pub(super) fn limits(limits: &Limits) -> Result<(), Fault> {
    let set = |resource, most| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| Fault::new(format!("setting the limit {resource:?} to {most}"), error))
    };
    let lower = |resource, most: u64| {
        let now = rustix::process::getrlimit(resource).maximum;
        set(resource, now.map_or(most, |now| now.min(most)))
    };
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, limits.file_size)?;
    lower(Resource::Nofile, limits.open_files)?;
    // What a process may write to, rather than what it has reserved: Node.js and others reserve far more than they use.
    // A process may lift it, as the supervisor does for reservations that can be written to: the watch holds.
    let now = rustix::process::getrlimit(Resource::Data);
    let current = now.maximum.map_or(limits.memory, |most| most.min(limits.memory));
    rustix::process::setrlimit(Resource::Data, Rlimit { current: Some(current), maximum: now.maximum })
        .map_err(|error| Fault::new(format!("setting the limit Data to {current}"), error))
}

/// Half of the signals that may wait, which timers count among, stay for the user's own programs: they
/// are counted for all of them together. For the helper, before it makes namespaces, so that it holds
/// for all that is below it.
pub(super) fn waiting_signals() -> Result<(), Fault> {
    let now = rustix::process::getrlimit(Resource::Sigpending);
    let half = now.current.map_or(MOST_WAITING, |most| most / 2);
    rustix::process::setrlimit(Resource::Sigpending, Rlimit { current: Some(half), maximum: Some(half) })
        .map_err(Fault::at("leaving timers for other programs"))
}

/// Lets this process open as many files as its user may: a supervisor holds some 500 of what came while its command runs.
/// Commands get their own limit.
pub(super) fn room_for_descriptors() -> Result<(), Fault> {
    let most = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
        .map_err(Fault::at("making room for descriptors"))
}

/// Sees to it that no program gets a capability by being started, neither root's nor those of a
/// program's own. What this process has it keeps.
pub(super) fn bounding() -> Result<(), Fault> {
    let step = "dropping capabilities";
    // Needs CAP_SETPCAP. Who has it not has none to give up either, and no_new_privs keeps it so.
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
            // Not one that this kernel knows.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(Fault::new(step, error)),
        }
    }
    Ok(())
}

/// Gives up every capability, for good.
pub(super) fn capabilities() -> Result<(), Fault> {
    capabilities::give_up().map_err(Fault::at("dropping capabilities"))
}

/// The Landlock rules of a supervisor that has no namespaces: it reaches what it may be asked to make,
/// and no process but those below it. So it lends nobody its own view of the machine.
pub(super) fn supervisor(cell: &CellSpec, order: &CommandSpec, version: u32) -> Result<Rules, Fault> {
    // What these do not grant the command's own cannot.
    let mut rules = Rules::new(version, cell.network != Network::Host)?.grant(Path::new("/"), Grant::Read)?;
    for device in DEVICES {
        rules = rules.grant_system(&Path::new("/dev").join(device), Grant::Write)?;
    }
    writable_roots(cell, order).iter().try_fold(rules, |rules, root| rules.grant(root, Grant::Write))
}

/// The Landlock rules of a command.
pub(super) fn rules(cell: &CellSpec, order: &CommandSpec, version: u32) -> Result<Rules, Fault> {
    if cell.tier == Tier::T2 {
        return rules_on_shared_tree(cell, order, version);
    }
    // The root was made for commands: all of it may be read.
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

/// Folders in which the guard makes names and opens files in a command's place, and what it may still
/// do itself.
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

    /// What is granted of a path.
    fn grant(&self, path: &Path, grant: impl Into<Grant>) -> Grant {
        let is_guarded = self.roots.iter().any(|root| path.starts_with(root));
        match grant.into() {
            Grant::Write if is_guarded => self.instead,
            grant => grant,
        }
    }
}

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
