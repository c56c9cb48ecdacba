//! The filter on system calls.

use std::collections::BTreeMap;

use libc::c_long;
use scorpiox_cell::wire::{Fault, Network, Tier};
use scorpiox_kernel::syscalls::{
    ALWAYS, ATTRIBUTES, MAKES, MODES, ON_PROCESS, OPENS, OWN_ADDRESSES, OWN_FILES, OWN_MESSAGES, OWN_MOUNTS,
    OWN_SIGNALS, WATCHES,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::many_in_one;

/// What of the machine a command shares, which decides what the filter must stop.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // five independent facts
pub(super) struct Shared {
    /// The tree of files, with only Landlock between.
    pub files: bool,
    /// The processes, with nothing between that stops signals.
    pub processes: bool,
    /// Abstract unix sockets, with nothing between.
    pub abstract_sockets: bool,
    /// Whether it may use the network at all.
    pub may_connect: bool,
    /// The filter, with the helper that makes mounts for each command, among them the commands' own pseudo-terminals.
    pub mounts: bool,
}

impl Shared {
    /// What a tier leaves shared on a kernel with this version of Landlock.
    pub(super) fn of(tier: Tier, network: Network, landlock_abi: u32) -> Self {
        let bare = tier == Tier::T2;
        // Version 6 keeps signals and abstract sockets inside a domain.
        let scoped = landlock_abi >= 6;
        let host_network = bare || network == Network::Host;
        Self {
            files: bare,
            processes: bare && !scoped,
            abstract_sockets: host_network && !scoped,
            may_connect: network == Network::Host || !bare,
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
/// The namespaces that the helper makes for each command, which asks for `CAP_SYS_ADMIN`.
const PER_COMMAND: u64 = number(libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC);
/// Of `open_tree`.
const OPEN_TREE_CLONE: u64 = 1;
/// What a process may keep for itself from now on that it shared: no namespace, of which kernels get more. `clone` has no
/// bit left for another one.
const UNSHARED: u64 = number(
    libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SYSVSEM
        | libc::CLONE_THREAD
        | libc::CLONE_SIGHAND
        | libc::CLONE_VM,
);
/// The type of a socket, without `SOCK_CLOEXEC` and `SOCK_NONBLOCK`.
const SOCKET_TYPE: u64 = 0xf;

/// The number of a command's supervisor in its process namespace.
const SUPERVISOR: u64 = 1;
/// `PRIO_PROCESS` and `PRIO_PGRP`.
const PRIORITY: [u64; 2] = [0, 1];
/// `IOPRIO_WHO_PROCESS` and `IOPRIO_WHO_PGRP`, from the kernel's `ioprio.h`.
const IO_PRIORITY: [u64; 2] = [1, 2];

/// A constant of the C library, none of which is negative, as a system call's argument.
const fn number(constant: libc::c_int) -> u64 {
    constant.unsigned_abs() as u64
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// The filter, which the helper puts on itself, once, and that everything it starts inherits.
/// Each installation interrupts all processors of the machine, and takes as long as all the
/// rest of starting a command: so commands get no filter of their own where that can be.
#[derive(Debug)]
pub(super) struct Filters {
    all: BpfProgram,
    /// What only the helper may, where nothing else tells it from a command.
    last: Option<BpfProgram>,
}

impl Filters {
    /// The filter for what is shared.
    pub(super) fn new(shared: Shared) -> Result<Self, Fault> {
        let step = "compiling the filter on system calls";
        let last = shared.processes.then(signals).transpose().map_err(Fault::at(step))?;
        Ok(Self { all: all(shared).map_err(Fault::at(step))?, last })
    }

    /// On the helper.
    pub(super) fn apply(&self) -> Result<(), Fault> {
        seccompiler::apply_filter(&self.all).map_err(Fault::at("applying the filter on system calls"))
    }

    /// On a command; the last step.
    pub(super) fn apply_last(&self) -> Result<(), Fault> {
        let last = self.last.as_ref().map_or(Ok(()), |filter| seccompiler::apply_filter(filter));
        last.map_err(Fault::at("applying the filter on system calls"))
    }
}

const UNKNOWN: SeccompAction = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());

/// Allows what is listed. A call by another architecture's numbers (32-bit x86) kills the
/// process: compiled filters begin with that test. The x32 numbers are not listed. Calls that are many in one are
/// decided before.
fn all(shared: Shared) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut allow = |groups: &[&[c_long]]| {
        rules.extend(groups.iter().copied().flatten().map(|call| (*call, Vec::new())));
    };
    allow(ALWAYS);
    // Where files are shared the guard is asked about each of these, always: see `Guard::asks`.
    allow(ATTRIBUTES);
    allow(OWN_SIGNALS);
    if shared.mounts {
        allow(OWN_MOUNTS);
    }
    if !shared.files {
        // Landlock does not look at who watches a folder.
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

/// Refuses signals, which the supervisor needs.
fn signals() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = OWN_SIGNALS.iter().copied().flatten().map(|call| (*call, Vec::new())).collect();
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, UNKNOWN, architecture)?.try_into()
}

fn conditional(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    // New processes and threads, but no new namespaces; in particular no user namespaces, in which
    // a command would have capabilities.
    let helpers = if shared.mounts { PER_COMMAND } else { 0 };
    rules.insert(libc::SYS_clone, vec![rule(&[(0, MaskedEq(CLONE_NEW & !helpers), 0)])?]);
    if shared.mounts {
        // Without a copy it opens a path, which is not what it is here for.
        rules.insert(libc::SYS_open_tree, vec![rule(&[(2, MaskedEq(OPEN_TREE_CLONE), OPEN_TREE_CLONE)])?]);
    }
    rules.insert(libc::SYS_unshare, vec![rule(&[(0, MaskedEq(!UNSHARED & 0xffff_ffff), 0)])?]);
    // The ordinary personality, also without address randomisation, and asking which it is.
    let personalities = [0, 0x0004_0000, 0xffff_ffff];
    let personalities: Result<_, _> = personalities.map(|p| rule(&[(0, Eq, p)])).into_iter().collect();
    rules.insert(libc::SYS_personality, personalities?);
    // The guard gives files their modes where a bit asks for another one's rights, and the first part of the filter
    // refuses to make such files.
    let modes = MODES.iter().chain(MAKES).copied().flatten().map(|(call, _)| *call);
    rules.extend(modes.chain(OPENS.iter().map(|(call, ..)| *call)).map(|call| (call, Vec::new())));
    others(rules, shared)?;
    sockets(rules, shared)
}

/// Limits and priorities of other processes: of the command's own, where those are all that
/// have a number here, but for its supervisor, process 1; elsewhere of nobody.
fn others(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, Ne};
    let allowed = |argument| if shared.files { (argument, Eq, 0) } else { (argument, Ne, SUPERVISOR) };
    for call in ON_PROCESS {
        rules.insert(*call, vec![rule(&[allowed(0)])?]);
    }
    // A process, or the caller's own group; never all of a user.
    let [process, group] = PRIORITY;
    let priority = vec![rule(&[(0, Eq, process), allowed(1)])?, rule(&[(0, Eq, group), (1, Eq, 0)])?];
    rules.insert(libc::SYS_setpriority, priority);
    let [process, group] = IO_PRIORITY;
    let priority = vec![rule(&[(0, Eq, process), allowed(1)])?, rule(&[(0, Eq, group), (1, Eq, 0)])?];
    rules.insert(libc::SYS_ioprio_set, priority);
    Ok(())
}

/// Which sockets can be made.
fn sockets(rules: &mut Rules, shared: Shared) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    let (stream, datagram, packets) =
        (number(libc::SOCK_STREAM), number(libc::SOCK_DGRAM), number(libc::SOCK_SEQPACKET));
    let unix = number(libc::AF_UNIX);
    let mut makes = Vec::new();
    if shared.may_connect {
        for family in [libc::AF_INET, libc::AF_INET6] {
            // Of the protocols only the usual one, by name or by default: others are loaded into
            // the kernel when they are first asked for.
            for (kind, usual) in [(stream, libc::IPPROTO_TCP), (datagram, libc::IPPROTO_UDP)] {
                for protocol in [0, number(usual)] {
                    let kind = (1, MaskedEq(SOCKET_TYPE), kind);
                    makes.push(rule(&[(0, Eq, number(family)), kind, (2, Eq, protocol)])?);
                }
            }
        }
        // Which interfaces there are: only NETLINK_ROUTE.
        makes.push(rule(&[(0, Eq, number(libc::AF_NETLINK)), (2, Eq, number(libc::NETLINK_ROUTE))])?);
    }
    // Sockets of the machine's services have paths, which Landlock does not look at.
    let reaches_services = shared.files || shared.abstract_sockets;
    if !reaches_services {
        makes.push(rule(&[(0, Eq, unix)])?);
    }
    if !makes.is_empty() {
        rules.insert(libc::SYS_socket, makes);
    }
    // A pair of datagram sockets could be sent elsewhere; the other kinds stay connected.
    let kinds = if reaches_services { &[stream, packets][..] } else { &[stream, packets, datagram][..] };
    let pairs: Result<_, _> =
        kinds.iter().map(|kind| rule(&[(0, Eq, unix), (1, MaskedEq(SOCKET_TYPE), *kind)])).collect();
    rules.insert(libc::SYS_socketpair, pairs?);
    // Without addresses, sending is for sockets that are connected.
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
