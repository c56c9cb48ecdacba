//! The seccomp filter.

use std::collections::BTreeMap;

use libc::c_long;
use scorpiox_sandbox::wire::{Fault, Network, Tier};
use scorpiox_sys::linux::syscalls::{
    ALWAYS, ATTRIBUTES, MAKES, MODES, OF_SUPERVISOR, ON_PROCESS, OPENS, OWN_ADDRESSES, OWN_FILES,
    OWN_MESSAGES, OWN_MOUNTS, OWN_SIGNALS, WATCHES,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::{many_in_one, sockets};

/// Resources of the machine that a command shares, which determine the calls that the filter denies.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // six independent facts
pub(super) struct Shared {
    /// The file tree, protected only by Landlock.
    pub files: bool,
    /// The processes, with no other protection from signals.
    pub processes: bool,
    /// Abstract Unix sockets, with no other protection.
    pub abstract_sockets: bool,
    /// `true` if the command may use the network at all.
    pub may_connect: bool,
    /// Sockets that other programs create in a folder, with the supervisor connecting those of the command.
    pub connects_by_supervisor: bool,
    /// The filter itself, with a helper that creates mounts for each command, including the commands' own
    /// pseudo-terminals.
    pub mounts: bool,
}

impl Shared {
    /// Returns the resources that a tier shares on a kernel with this version of Landlock.
    pub(super) fn of(tier: Tier, network: Network, landlock_abi: u32) -> Self {
        let bare = tier == Tier::T2;
        // From version 6 on, Landlock confines signals and abstract sockets to a domain.
        let scoped = landlock_abi >= 6;
        let host_network = bare || network == Network::Host;
        Self {
            files: bare,
            processes: bare && !scoped,
            abstract_sockets: host_network && !scoped,
            may_connect: network == Network::Host || !bare,
            connects_by_supervisor: sockets::are_connected_by_supervisor(tier, network),
            mounts: tier == Tier::T1,
        }
    }
}

const CLONE_NEW: u64 = number(
    libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET,
);
/// Namespaces that the helper creates for each command, which requires `CAP_SYS_ADMIN`.
const PER_COMMAND: u64 = number(libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC);
/// Flag of `open_tree`.
const OPEN_TREE_CLONE: u64 = 1;
/// Flags of `unshare` for shared resources other than namespaces. Kernels may add namespaces here; `clone`
/// has no free bit for another one.
const UNSHARED: u64 = number(
    libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SYSVSEM
        | libc::CLONE_THREAD
        | libc::CLONE_SIGHAND
        | libc::CLONE_VM,
);
/// Mask of the socket type, without `SOCK_CLOEXEC` and `SOCK_NONBLOCK`.
const SOCKET_TYPE: u64 = 0xf;

/// Process ID of a command's supervisor in its PID namespace.
const SUPERVISOR: u64 = 1;
/// `PRIO_PROCESS` and `PRIO_PGRP`.
const PRIORITY: [u64; 2] = [0, 1];
/// `IOPRIO_WHO_PROCESS` and `IOPRIO_WHO_PGRP`, from the kernel's `ioprio.h`.
const IO_PRIORITY: [u64; 2] = [1, 2];

/// Converts a constant of the C library, none of which is negative, to an argument of a system call.
const fn number(constant: libc::c_int) -> u64 {
    constant.unsigned_abs() as u64
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Filter that the helper applies to itself once, and that all of its descendants inherit. Each installation
/// interrupts all processors of the machine, and takes as long as the rest of a command's start. Commands
/// therefore get their own filter only if that is unavoidable.
#[derive(Debug)]
pub(super) struct Filters {
    all: BpfProgram,
    /// Additional denials for commands: calls that only the helper may make, if no other mechanism tells them
    /// apart.
    last: Option<BpfProgram>,
}

impl Filters {
    /// Compiles the filters for the shared resources.
    pub(super) fn new(shared: Shared) -> Result<Self, Fault> {
        let step = "compiling the filter on system calls";
        let last = shared.processes.then(signals).transpose().map_err(Fault::at(step))?;
        Ok(Self { all: all(shared).map_err(Fault::at(step))?, last })
    }

    /// Applies the common filter to the helper.
    pub(super) fn apply(&self) -> Result<(), Fault> {
        seccompiler::apply_filter(&self.all).map_err(Fault::at("applying the filter on system calls"))
    }

    /// Applies the additional filter to a command; the last step of its confinement.
    pub(super) fn apply_last(&self) -> Result<(), Fault> {
        let last = self.last.as_ref().map_or(Ok(()), |filter| seccompiler::apply_filter(filter));
        last.map_err(Fault::at("applying the filter on system calls"))
    }
}

const UNKNOWN: SeccompAction = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());

/// Returns the filter that allows the listed calls. A call by the number of another architecture (32-bit x86)
/// kills the process: compiled filters start with that check. The x32 numbers are not listed. Multiplexed
/// calls are decided by an earlier part.
fn all(shared: Shared) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut allow = |groups: &[&[c_long]]| {
        rules.extend(groups.iter().copied().flatten().map(|call| (*call, Vec::new())));
    };
    allow(ALWAYS);
    // On a shared file tree, the guard always decides about these: see `Guard::asks`.
    allow(ATTRIBUTES);
    allow(OWN_SIGNALS);
    // Denied to commands: see `questions::asks`.
    allow(OF_SUPERVISOR);
    if shared.mounts {
        allow(OWN_MOUNTS);
    }
    if !shared.files {
        // Landlock does not restrict file watches.
        allow(WATCHES);
        allow(OWN_FILES);
        allow(OWN_MESSAGES);
    }
    if shared.may_connect {
        allow(OWN_ADDRESSES);
    }
    conditional(&mut rules, shared)?;
    let architecture = std::env::consts::ARCH.try_into()?;
    let listed: BpfProgram =
        SeccompFilter::new(rules, UNKNOWN, SeccompAction::Allow, architecture)?.try_into()?;
    let mut program = many_in_one::program(shared.processes, shared.mounts);
    program.extend(listed);
    Ok(program)
}

/// Returns a filter that denies signals, which the supervisor needs itself.
fn signals() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = OWN_SIGNALS.iter().copied().flatten().map(|call| (*call, Vec::new())).collect();
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, UNKNOWN, architecture)?.try_into()
}

fn conditional(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    // New processes and threads are allowed, but no new namespaces. In particular, a command would have
    // capabilities in a user namespace.
    let helpers = if shared.mounts { PER_COMMAND } else { 0 };
    rules.insert(libc::SYS_clone, vec![rule(&[(0, MaskedEq(CLONE_NEW & !helpers), 0)])?]);
    if shared.mounts {
        // Without the clone flag the call opens a path, which is not its purpose here.
        rules.insert(libc::SYS_open_tree, vec![rule(&[(2, MaskedEq(OPEN_TREE_CLONE), OPEN_TREE_CLONE)])?]);
    }
    rules.insert(libc::SYS_unshare, vec![rule(&[(0, MaskedEq(!UNSHARED & 0xffff_ffff), 0)])?]);
    // Allows the default personality, also without address space randomization, and to query the current one.
    let personalities = [0, 0x0004_0000, 0xffff_ffff];
    let personalities: Result<_, _> = personalities.map(|p| rule(&[(0, Eq, p)])).into_iter().collect();
    rules.insert(libc::SYS_personality, personalities?);
    // The supervisor decides about modes that have a set-user-ID or set-group-ID bit: see
    // `guard::asks_about_modes` and `guard::asks_about_new_modes`.
    let modes = MODES.iter().chain(MAKES).copied().flatten().map(|(call, _)| *call);
    rules.extend(modes.chain(OPENS.iter().map(|(call, ..)| *call)).map(|call| (call, Vec::new())));
    others(rules, shared)?;
    new_sockets(rules, shared)
}

/// Restricts limits and priorities of other processes. In a PID namespace all visible processes are the
/// command's own, except for its supervisor, process 1. Elsewhere only the caller itself is allowed.
fn others(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, Ne};
    let allowed = |argument| if shared.files { (argument, Eq, 0) } else { (argument, Ne, SUPERVISOR) };
    for call in ON_PROCESS {
        rules.insert(*call, vec![rule(&[allowed(0)])?]);
    }
    // A process, or the caller's own group; never all processes of a user.
    let [process, group] = PRIORITY;
    let priority = vec![rule(&[(0, Eq, process), allowed(1)])?, rule(&[(0, Eq, group), (1, Eq, 0)])?];
    rules.insert(libc::SYS_setpriority, priority);
    let [process, group] = IO_PRIORITY;
    let priority = vec![rule(&[(0, Eq, process), allowed(1)])?, rule(&[(0, Eq, group), (1, Eq, 0)])?];
    rules.insert(libc::SYS_ioprio_set, priority);
    Ok(())
}

/// Adds rules for the creation of sockets.
fn new_sockets(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    let (stream, datagram, packets) =
        (number(libc::SOCK_STREAM), number(libc::SOCK_DGRAM), number(libc::SOCK_SEQPACKET));
    let unix = number(libc::AF_UNIX);
    let mut makes = Vec::new();
    if shared.may_connect {
        for family in [libc::AF_INET, libc::AF_INET6] {
            // Only the usual protocol is allowed, by number or as the default: the kernel loads other
            // protocols on their first use.
            for (kind, usual) in [(stream, libc::IPPROTO_TCP), (datagram, libc::IPPROTO_UDP)] {
                for protocol in [0, number(usual)] {
                    let kind = (1, MaskedEq(SOCKET_TYPE), kind);
                    makes.push(rule(&[(0, Eq, number(family)), kind, (2, Eq, protocol)])?);
                }
            }
        }
        // NETLINK_ROUTE only, to list network interfaces.
        makes.push(rule(&[(0, Eq, number(libc::AF_NETLINK)), (2, Eq, number(libc::NETLINK_ROUTE))])?);
    }
    // Sockets of system services have paths, which Landlock does not restrict.
    let reaches_services = shared.files || shared.abstract_sockets;
    if shared.connects_by_supervisor {
        for kind in [stream, packets] {
            makes.push(rule(&[(0, Eq, unix), (1, MaskedEq(SOCKET_TYPE), kind)])?);
        }
        // The supervisor lists sockets, and duplicates those of the command, which is denied to the command
        // itself: see `bound::asks`.
        makes.push(rule(&[(0, Eq, number(libc::AF_NETLINK)), (2, Eq, number(libc::NETLINK_SOCK_DIAG))])?);
        rules.insert(libc::SYS_pidfd_getfd, Vec::new());
    } else if !reaches_services {
        makes.push(rule(&[(0, Eq, unix)])?);
    }
    if !makes.is_empty() {
        rules.insert(libc::SYS_socket, makes);
    }
    // A datagram socket, even of a pair, can send to any address without connecting; the other kinds cannot.
    let has_datagrams = !reaches_services && !shared.connects_by_supervisor;
    let kinds = if has_datagrams { &[stream, packets, datagram][..] } else { &[stream, packets][..] };
    let pairs: Result<_, _> =
        kinds.iter().map(|kind| rule(&[(0, Eq, unix), (1, MaskedEq(SOCKET_TYPE), *kind)])).collect();
    rules.insert(libc::SYS_socketpair, pairs?);
    // Without an address, only connected sockets can send.
    rules.insert(libc::SYS_sendmsg, Vec::new());
    let to = if shared.may_connect { Vec::new() } else { vec![pointer_is_null(4)?] };
    rules.insert(libc::SYS_sendto, to);
    Ok(())
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions: Result<_, _> = conditions
        .iter()
        .map(|(argument, compare, value)| {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, compare.clone(), *value)
        })
        .collect();
    SeccompRule::new(conditions?)
}

fn pointer_is_null(argument: u8) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?])
}
