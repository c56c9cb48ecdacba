//! Starts a command.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use crate::guard::Guard;
use rustix::fs::AtFlags;
use rustix::io::FdFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets};
use scorpiox_sandbox::wire::{CommandSpec, Event, Fault, Network, Tier};
use scorpiox_sandbox::{Moves, packet};
use scorpiox_sys::linux::questions::{Ask, ask_before};
use scorpiox_sys::linux::reach;
use scorpiox_sys::linux::shared_set::SharedSet;
use scorpiox_sys::linux::sys::{self, Side};

use crate::bound::Bounds;
use crate::bwrap::{self, Inside};
use crate::landlock::Rules;
use crate::listeners::Listeners;
use crate::processes::Mechanism;
use crate::questions::{self, Questions};
use crate::seccomp::{Filters, Shared};
use crate::sockets::{self, Sockets};
use crate::supervise::{Supervisor, give_up};
use crate::tree::Tree;
use crate::{COMMAND_OOM_SCORE, Cell, OOM_SCORE, SHARING, confine, covers, root};

const BASH: &CStr = c"/bin/bash";

/// Descriptors that a command is connected to.
struct Streams {
    output: OwnedFd,
    /// Locks that keep moves apart from the starts of other commands; used only by the supervisor.
    moves: Option<Moves>,
    /// Socket on which the host requests sockets in the command's network, if it connects to the command's servers.
    dialer: Option<OwnedFd>,
    /// Standard input of the command, unless it is empty.
    input: Option<OwnedFd>,
}

impl Streams {
    /// Assigns descriptors in the order of the fields; returns `None` if their number does not match.
    fn of(fds: impl IntoIterator<Item = OwnedFd>, order: &CommandSpec) -> Option<Self> {
        let mut fds = fds.into_iter();
        let output = fds.next()?;
        let moves = match &order.changed {
            Some(trees) => Some(Moves::of_descriptor(fds.next()?, trees.clone())),
            None => None,
        };
        let dialer = if order.publishes { Some(fds.next()?) } else { None };
        let streams = Self { output, moves, dialer, input: fds.next() };
        fds.next().is_none().then_some(streams)
    }

    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let moves = self.moves.iter().map(AsFd::as_fd);
        let others = self.dialer.iter().chain(&self.input).map(AsFd::as_fd);
        [self.output.as_fd()].into_iter().chain(moves).chain(others)
    }
}

/// Namespaces that are separate for each command.
const PER_COMMAND: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;

/// Fails if no command can be started in its own namespaces. The cell's namespaces are created by another
/// system call, and a container runtime may allow only one of the two.
pub(super) fn try_one() -> Result<(), Fault> {
    let step = "making namespaces for a command";
    match sys::fork_into(PER_COMMAND).map_err(Fault::at(step))? {
        Side::Child => sys::exit_now(0),
        Side::Parent(child) => {
            let waited = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
            waited.map(drop).map_err(Fault::at(step))
        }
    }
}

/// Starts a command and returns its supervisor process. `fds` are the socket to its host, its output, the
/// locks and its input, the last two if it has them. Errors are reported to the host.
pub(super) fn start(
    cell: &Cell,
    order: &CommandSpec,
    fds: Vec<OwnedFd>,
    host: &mut Option<OwnedFd>,
    children: &OwnedFd,
) -> Option<Pid> {
    let mut fds = fds.into_iter();
    let (control, streams) = fds.next().zip(Streams::of(fds, order))?;
    let report = |fault| packet::send(control.as_fd(), &Event::Failed(fault), &[]);
    // With its own IPC namespace, the command also has its own System V objects.
    let namespaces = match cell.spec.tier {
        Tier::T1 => PER_COMMAND,
        _ => 0,
    };
    match sys::fork_into(namespaces) {
        Err(error) => {
            let _ = report(Fault::new("starting a process for the command", error));
            None
        }
        Ok(Side::Parent(supervisor)) => Some(supervisor),
        Ok(Side::Child) => {
            // The command must not inherit the helper's socket to the host.
            drop(host.take());
            match supervise(cell, order, &control, streams, children) {
                Ok(()) => sys::exit_now(0),
                Err(fault) => give_up(&control, fault),
            }
        }
    }
}

/// Starts the shell and waits for its end, in the new process.
fn supervise(
    cell: &Cell,
    order: &CommandSpec,
    control: &OwnedFd,
    mut streams: Streams,
    children: &OwnedFd,
) -> Result<(), Fault> {
    if cell.spec.tier == Tier::T1b {
        let covers = covers::without_links(&cell.spec.exposed, &order.covers);
        let expected = covers::expected(&covers)?;
        let order = CommandSpec { covers, ..order.clone() };
        let inside = Inside { cell: cell.spec.clone(), order, landlock: cell.landlock, expected };
        let fds: Vec<_> = [control.as_fd()].into_iter().chain(streams.descriptors()).collect();
        return Err(bwrap::enter(&inside, &fds));
    }
    let score = KillerScore::raise()?;
    let (rules, processes) = prepare(cell, order)?;
    let (shell, questions) = start_shell(cell, order, (rules, processes), control, &streams)?;
    score.lower();
    let dialer = streams.dialer.take();
    // The output ends when the last process closes it; this one must not keep it open.
    drop(streams);
    rid_of_rights(cell.spec.tier)?;
    let tree = if cell.spec.tier == Tier::T1 { Tree::Namespace } else { Tree::Descendants };
    let supervisor = Supervisor::new(order, control, children, shell, tree, questions);
    supervisor.published(dialer).of_cell(&cell.spec).run();
    Ok(())
}

/// Runs the program that bubblewrap starts as process 1 of the sandbox. `numbers` are its descriptors.
pub(super) fn inside(numbers: impl Iterator<Item = String>) -> Result<(), Fault> {
    let step = "taking over from bubblewrap";
    let numbers: Vec<i32> =
        numbers.map(|number| number.parse()).collect::<Result<_, _>>().map_err(Fault::at(step))?;
    let take = |number| sys::inherited(number).map_err(Fault::at(step));
    let fds = numbers.into_iter().map(take).collect::<Result<Vec<_>, _>>()?;
    for fd in &fds {
        rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC).map_err(Fault::at(step))?;
    }
    let mut fds = fds.into_iter();
    let (Some(file), Some(control)) = (fds.next(), fds.next()) else {
        return Err(Fault::new(step, "too few arguments"));
    };
    run_inside(file, &control, fds).or_else(|fault| give_up(&control, fault))
}

fn run_inside(
    file: OwnedFd,
    control: &OwnedFd,
    streams: impl IntoIterator<Item = OwnedFd>,
) -> Result<(), Fault> {
    let step = "reading the order";
    let inside: Inside = packet::from_file(file).map_err(Fault::at(step))?;
    let Inside { cell, order, landlock, expected } = inside;
    let streams = Streams::of(streams, &order);
    let mut streams = streams.ok_or_else(|| Fault::new(step, "another number of descriptors"))?;
    covers::check(&order.covers, &expected)?;
    if cell.network == Network::Proxy || !cell.local.is_empty() {
        let mut listeners = Listeners::at_ports(&cell)?;
        listeners.listen_at_paths(&cell, Path::new("/"))?;
        let listening = Event::Listening(listeners.kinds());
        packet::send(control.as_fd(), &listening, &listeners.fds())
            .map_err(Fault::at("handing the listeners over"))?;
    }
    let filters = Filters::new(Shared::of(cell.tier, cell.network, landlock))?;
    confine::bounding()?;
    filters.apply()?;
    sys::reset_signals().map_err(Fault::at("resetting signals"))?;
    let children = sys::child_signals().map_err(Fault::at("waiting for the shell"))?;
    // Each command has a cell of its own in this process, and nothing is known of the others.
    let by_commands = SharedSet::full().map(Rc::new).map_err(Fault::at(SHARING))?;
    let cell = Cell { spec: cell, filters, landlock, by_commands };
    // bubblewrap mounts `/proc` read-only, so this process and the command share a score for the
    // out-of-memory killer.
    let rules = confine::rules(&cell.spec, &order, landlock)?;
    let processes = Mechanism::choose(cell.spec.tier, order.limits.processes);
    let (shell, questions) = start_shell(&cell, &order, (rules, processes), control, &streams)?;
    let dialer = streams.dialer.take();
    drop(streams);
    rid_of_rights(cell.spec.tier)?;
    let supervisor = Supervisor::new(&order, control, &children, shell, Tree::Namespace, questions);
    supervisor.published(dialer).of_cell(&cell.spec).run();
    Ok(())
}

/// Prepares the supervisor before the shell's process exists. Returns the Landlock rules of the shell, and
/// the mechanism that limits the number of its processes.
fn prepare(cell: &Cell, order: &CommandSpec) -> Result<(Rules, Mechanism), Fault> {
    let mut processes = Mechanism::choose(cell.spec.tier, order.limits.processes);
    match cell.spec.tier {
        Tier::T1 => {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(Fault::at("tying the command to its cell"))?;
            root::own_proc("/proc").map_err(Fault::at("mounting /proc"))?;
            processes = processes.limit_numbers(order.limits.processes);
            root::close_proc(rustix::process::getuid().is_root())?;
            root::own_memory("/dev/shm", cell.spec.tmp_bytes).map_err(Fault::at("mounting /dev/shm"))?;
            covers::put(&cell.spec.exposed, &order.covers)?;
        }
        _ => rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(Fault::at("adopting the command's processes"))?,
    }
    let rules = confine::rules(&cell.spec, order, cell.landlock)?;
    if cell.spec.tier == Tier::T2 {
        // Applied before the shell's process exists, which inherits these rules.
        confine::supervisor(&cell.spec, order, cell.landlock)?.apply()?;
    }
    Ok((rules, processes))
}

/// Drops all privileges of the supervisor, and makes it inaccessible for other processes.
fn rid_of_rights(tier: Tier) -> Result<(), Fault> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(Fault::at("hiding the supervisor's memory"))?;
    if tier == Tier::None {
        return Ok(());
    }
    // A relative path that is resolved in this process by mistake leads to nothing in the workspace.
    rustix::process::chdir("/").map_err(Fault::at("leaving the workspace"))?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )
    .map_err(Fault::at("dropping the supervisor's capabilities"))
}

fn start_shell(
    cell: &Cell,
    order: &CommandSpec,
    (rules, processes): (Rules, Mechanism),
    control: &OwnedFd,
    streams: &Streams,
) -> Result<(Pid, Option<Questions>), Fault> {
    let text = |text: &str| CString::new(text).map_err(Fault::at("reading the command"));
    let command = text(&order.command)?;
    let variables = order.environment.iter().map(|(name, value)| text(&format!("{name}={value}")));
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let bounds = Bounds::new(&order.limits, &cell.spec, processes);
    let step = "keeping moves from starts";
    let moves = streams.moves.as_ref().map(Moves::try_clone).transpose().map_err(Fault::at(step))?;
    let guard = Guard::new(&cell.spec, order, moves, &cell.by_commands)?;
    let asks = questions::asks(&bounds, guard.as_ref());
    let step = "deciding about the command's calls";
    let (ours, theirs) = packet::pair().map_err(Fault::at(step))?;
    // The rules are moved to the shell's process. This process keeps their descriptor until it exits.
    let child = || {
        let asks = (asks.as_slice(), &theirs);
        let fault =
            become_shell(cell, order, (rules, processes), asks, (control, streams), &command, &variables);
        give_up(control, fault)
    };
    let shell = sys::run_in_borrowed_memory(child).map_err(Fault::at("starting the shell's process"))?;
    drop(theirs);
    // Nothing arrives if the shell's process fails, which reports the error itself.
    let is_asked = cell.spec.tier != Tier::None;
    let told =
        if is_asked { packet::receive::<bool>(ours.as_fd(), true).map_err(Fault::at(step))? } else { None };
    let listener = told.and_then(|(_, mut fds)| fds.pop());
    // The guard decides from this point, and all other restrictions are active.
    if let Some(moves) = &streams.moves {
        moves.end_start().map_err(Fault::at("keeping moves from starts"))?;
    }
    let connects = sockets::are_connected_by_supervisor(cell.spec.tier, cell.spec.network);
    let connect = connects.then_some(|questions| Sockets::new(questions, order.source, &cell.spec.local));
    Ok((shell, listener.map(|listener| Questions::new(listener, bounds, guard, connect))))
}

/// Changes the working directory. If an earlier command removed all permissions of the directory, the helper
/// keeps its current position in it.
fn enter(folder: &Path) -> Result<(), Fault> {
    match rustix::process::chdir(folder) {
        Err(rustix::io::Errno::ACCESS) if stands_in(folder).unwrap_or(false) => Ok(()),
        other => other.map_err(Fault::at("entering the workspace")),
    }
}

fn stands_in(folder: &Path) -> rustix::io::Result<bool> {
    let here = rustix::fs::statat(rustix::fs::CWD, "", AtFlags::EMPTY_PATH)?;
    Ok(reach::identity(&here) == reach::identity(&rustix::fs::stat(folder)?))
}

/// Score of this process for the out-of-memory killer. The kernel kills the command before its supervisor,
/// which alone knows what the command created.
struct KillerScore(File);

impl KillerScore {
    /// Raises the score of this process, which the shell's process inherits. Must be called before `/proc` is
    /// closed.
    ///
    /// The file belongs to root while this process is not dumpable, so it is made dumpable for a moment.
    /// Other commands cannot exploit that: Landlock denies them access to foreign processes.
    fn raise() -> Result<Self, Fault> {
        let step = "offering the command to the out-of-memory killer";
        set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(Fault::at(step))?;
        let file = File::options().write(true).open("/proc/self/oom_score_adj");
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Fault::at(step))?;
        let mut file = file.map_err(Fault::at(step))?;
        file.write_all(COMMAND_OOM_SCORE).map_err(Fault::at(step))?;
        Ok(Self(file))
    }

    /// Restores the score of this process, before it drops its privileges. A score that was higher from the
    /// start is kept.
    fn lower(mut self) {
        let _ = self.0.write_all(OOM_SCORE);
    }
}

/// Turns this process into the shell; returns only on failure.
fn become_shell(
    cell: &Cell,
    order: &CommandSpec,
    (rules, processes): (Rules, Mechanism),
    (asks, supervisor): (&[Ask], &OwnedFd),
    (control, streams): (&OwnedFd, &Streams),
    command: &CStr,
    variables: &[CString],
) -> Fault {
    let confine = || {
        rustix::process::setsid().map_err(Fault::at("leaving the session"))?;
        enter(cell.spec.workspace.as_path())?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        sys::unblock_signals().map_err(Fault::at("unblocking signals"))?;
        confine::limits(&order.limits, processes)?;
        confine::descriptors(&streams.output, streams.input.as_ref())?;
        if cell.spec.tier != Tier::None {
            confine::capabilities()?;
            rules.apply()?;
            let step = "deciding about the command's calls";
            let listener = ask_before(asks).map_err(Fault::at(step))?;
            packet::send(supervisor.as_fd(), &true, &[listener.as_fd()]).map_err(Fault::at(step))?;
            cell.filters.apply_last()?;
        }
        let variables: Vec<&CStr> = variables.iter().map(CString::as_c_str).collect();
        packet::send(control.as_fd(), &Event::Started, &[]).map_err(Fault::at("reporting the start"))?;
        let arguments = [c"bash", c"--norc", c"--noprofile", c"-c", command];
        sys::exec(BASH, &arguments, &variables).map_err(Fault::at("starting /bin/bash"))
    };
    match confine() {
        Err(fault) => fault,
        Ok(never) => match never {},
    }
}
