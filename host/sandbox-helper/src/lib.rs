//! The helper process, which builds a sandbox once and starts commands in it. It has a single thread and no
//! other task.
//!
//! This is the program `scorpiox-cell`. The host contains its bytes and starts it from memory, so it is kept
//! small. The messages between the two are in `scorpiox_sandbox::wire`.
//!
//! In the order of a command's life: `namespaces` and `root` build the cell, `call` forks the supervisor of a
//! command, `covers` protects paths, `confine`, `landlock` and `seccomp` restrict the shell, `questions` with
//! the guard and `bound` decides about system calls that no static rule can decide, and `supervise` waits for
//! the end of the command with `tree`. If the machine only permits bubblewrap to create namespaces, `bwrap`
//! uses it.
//!
//! Invariants: a command that cannot be confined as requested does not run. When its outcome is reported,
//! none of its processes is left. There is only one thread, so a fork copies the complete process.
//!
//! The host decides what a command may do, and specifies it in `CellSpec` and `CommandSpec`. The guard
//! (`crate::guard`) decides about names and files. All `unsafe` code is in `scorpiox_sys::linux`.

#![cfg(target_os = "linux")]

mod bound;
mod bwrap;
mod call;
mod confine;
mod covers;
mod full;
pub mod guard;
mod kernel_memory;
mod landlock;
mod listeners;
mod many_in_one;
mod namespaces;
mod pace;
mod processes;
mod questions;
mod reserved;
mod root;
mod seccomp;
mod sockets;
mod supervise;
mod tree;
mod watchdog;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};
use scorpiox_sandbox::wire::{Built, CellSpec, Fault, HELPER_NAME, Order, Tier};
use scorpiox_sandbox::{packet, remove_folder_until};
use scorpiox_sys::linux::shared_set::SharedSet;
use scorpiox_sys::linux::sys;

use self::listeners::Listeners;
use self::seccomp::{Filters, Shared};

/// Scores for the out-of-memory killer, between 0 and 1000: of helpers and supervisors, and of commands. The
/// kernel kills commands first, then helpers, then all other programs.
const OOM_SCORE: &[u8] = b"900";
const COMMAND_OOM_SCORE: &[u8] = b"1000";
/// Time limit of supervisors after the host has exited.
const FINISH_TIME: Duration = Duration::from_millis(800);
/// Maximum time of the removal of temporary files, for which the host waits.
const REMOVAL_TIME: Duration = Duration::from_secs(1);

/// A built cell, seen from the helper.
struct Cell {
    spec: CellSpec,
    filters: Filters,
    landlock: u32,
    /// Entries of directories that commands put there.
    by_commands: Rc<SharedSet>,
}

/// Step in which [`Cell::by_commands`] is created.
const SHARING: &str = "sharing memory with supervisors";

/// Runs the helper: the complete program `scorpiox-cell`, which a [`scorpiox_sandbox::Cell`] starts.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let done = match arguments.next().as_deref() {
        Some(HELPER_NAME) => take_socket().map_err(Fault::at("taking the socket")).and_then(serve),
        Some(bwrap::INNER) => call::inside(arguments),
        _ => Err(Fault::new("starting the helper", "a part of another program, which starts it")),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Takes the socket to the host from standard input. It is duplicated, so that the first three descriptors
/// keep their usual meaning. All other inherited descriptors are closed: a directory among them would bypass
/// every mount.
fn take_socket() -> std::io::Result<OwnedFd> {
    sys::close_inherited()?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(socket)
}

fn serve(host: OwnedFd) -> Result<(), Fault> {
    // Ignored signals stay ignored in every started program.
    sys::reset_signals().map_err(Fault::at("resetting signals"))?;
    // When memory runs out, the kernel kills commands first, then their supervisors, but not the host.
    let offer = |score| std::fs::write("/proc/self/oom_score_adj", score);
    // The host may have inherited a higher score, which must not be lowered.
    offer(OOM_SCORE)
        .or_else(|_| offer(COMMAND_OOM_SCORE))
        .map_err(Fault::at("offering commands to the out-of-memory killer"))?;
    confine::waiting_signals()?;
    confine::room_for_descriptors()?;
    let order = packet::receive_large::<Order>(host.as_fd()).map_err(Fault::at("reading the first order"))?;
    let Some((Order::Build(spec), _)) = order else { return Ok(()) };
    // With a separate PID namespace, the rest runs in its first process.
    if spec.tier == Tier::T1 && namespaces::enter(&spec, &host)? {
        return Ok(());
    }
    match build(spec) {
        Err(fault) => {
            let _ = packet::send(host.as_fd(), &Built::Failed(fault.clone()), &[]);
            Err(fault)
        }
        Ok((cell, listeners)) => {
            let ready = Built::Ready(listeners.kinds());
            packet::send(host.as_fd(), &ready, &listeners.fds()).map_err(Fault::at("reporting the cell"))?;
            // No command may take connections from the host.
            drop(listeners);
            take_orders(&cell, host)
        }
    }
}

fn build(spec: CellSpec) -> Result<(Cell, Listeners), Fault> {
    // No process of a command may read or write the helper's memory.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(Fault::at("hiding the helper's memory"))?;
    let landlock = landlock::version(spec.landlock_at_most);
    let needed = match spec.tier {
        Tier::T1 | Tier::T1b => 2,
        Tier::T2 => 4,
        Tier::None | Tier::Seatbelt => 0,
    };
    if landlock < needed {
        return Err(Fault::new(
            "asking for Landlock",
            format!("this kernel has version {landlock} of it, and {needed} is needed"),
        ));
    }
    if spec.tier != Tier::None {
        let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
        may_be_asked(&scope)?;
    }
    let filters = Filters::new(Shared::of(spec.tier, spec.network, landlock))?;
    let mut listeners = Listeners::default();
    match spec.tier {
        Tier::T1 => {
            listeners = namespaces::network(&spec)?;
            root::enter(&spec, || listeners.listen_at_paths(&spec, Path::new("")))?;
            namespaces::bound_buffers(&spec);
        }
        Tier::T2 => {
            root::link_home(spec.home.as_path(), &spec)?;
            rustix::process::chdir(spec.workspace.as_path()).map_err(Fault::at("entering the workspace"))?;
            // Processes that outlive their supervisor are reparented here, and end with the cell.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(Fault::at("adopting processes"))?;
        }
        Tier::T1b => bwrap::probe(&spec)?,
        Tier::None => {}
        Tier::Seatbelt => return Err(Fault::new("building a sandbox", "only macOS has this tier")),
    }
    // bubblewrap needs more system calls, and unconfined commands need no filter.
    if matches!(spec.tier, Tier::T1 | Tier::T2) {
        confine::bounding()?;
        filters.apply()?;
    }
    if spec.tier == Tier::T1 {
        call::try_one()?;
    }
    let by_commands = SharedSet::new().map(Rc::new).map_err(Fault::at(SHARING))?;
    Ok((Cell { spec, filters, landlock, by_commands }, listeners))
}

/// Fails if a supervisor may not read the memory of the processes below it, under Yama's `scope`. It may
/// without that module, and with its default setting.
fn may_be_asked(scope: &str) -> Result<(), Fault> {
    match scope.trim() {
        "" | "0" | "1" => Ok(()),
        other => Err(Fault::new(
            "asking for Yama",
            format!(
                "kernel.yama.ptrace_scope is {other}: no supervisor can read which names its command wants to \
                 make, so commands could make no file; it has to be 0 or 1"
            ),
        )),
    }
}

/// Starts commands in the order of their requests, until the host closes the socket.
fn take_orders(cell: &Cell, host: OwnedFd) -> Result<(), Fault> {
    let children = sys::child_signals().map_err(Fault::at("waiting for commands"))?;
    let mut host = Some(host);
    let mut running = Vec::new();
    while let Some(socket) = &host {
        let mut polled = [PollFd::new(socket, PollFlags::IN), PollFd::new(&children, PollFlags::IN)];
        poll(&mut polled, None).map_err(Fault::at("waiting for orders"))?;
        let [orders, ended] = polled.map(|polled| !polled.revents().is_empty());
        if ended {
            let _ = rustix::io::read(&children, &mut [0_u8; 1024]);
            reap(&mut running, cell.spec.tier);
        }
        if !orders {
            continue;
        }
        match packet::receive_large::<Order>(socket.as_fd()) {
            Ok(Some((Order::Run(command), fds))) => {
                running.extend(call::start(cell, &command, fds, &mut host, &children));
            }
            Ok(Some((Order::Build(_), _))) | Err(_) => {}
            Ok(None) => break,
        }
    }
    finish(cell, &mut running);
    // Files that commands left in their temporary directory have no further use. The host sweeps the rest.
    let _ = remove_folder_until(cell.spec.scratch.as_path(), Instant::now() + REMOVAL_TIME);
    Ok(())
}

/// Reaps children that have ended, and removes them from the supervisors that are `running`.
fn reap(running: &mut Vec<Pid>, tier: Tier) {
    let mut was_killed = false;
    loop {
        match sys::ended_child() {
            Ok(Some(child)) => {
                // bubblewrap may leave a process behind when it fails.
                let _ = rustix::process::kill_process_group(child, Signal::KILL);
                let status = rustix::process::waitpid(Some(child), WaitOptions::empty());
                if let Some(at) = running.iter().position(|supervisor| *supervisor == child) {
                    running.swap_remove(at);
                    was_killed |= !matches!(status, Ok(Some((_, status))) if status.exited());
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => break,
            // No children are left.
            Err(_) => {
                running.clear();
                break;
            }
        }
    }
    // In other tiers these processes end with their namespace.
    if was_killed && tier == Tier::T2 {
        tree::end_orphans(running);
    }
}

/// Shuts down after the host has exited, which the supervisors notice themselves. With a PID namespace, the
/// end of this process ends all others. Without one, supervisors get time to end their commands.
fn finish(cell: &Cell, running: &mut Vec<Pid>) {
    if cell.spec.tier == Tier::T1 {
        return;
    }
    let until = Instant::now() + FINISH_TIME;
    while !running.is_empty() && Instant::now() < until {
        let before = running.len();
        reap(running, cell.spec.tier);
        if running.len() == before {
            let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 });
        }
    }
    tree::Tree::Descendants.signal(Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_keeps_supervisors_from_reading_is_named() {
        for scope in ["", "0\n", "1\n"] {
            assert_eq!(may_be_asked(scope), Ok(()), "{scope:?}");
        }
        for scope in ["2\n", "3\n", "4\n"] {
            let fault = may_be_asked(scope).expect_err("a fault").to_string();
            assert!(fault.contains("kernel.yama.ptrace_scope") && fault.contains(scope.trim()), "{fault}");
        }
    }
}
