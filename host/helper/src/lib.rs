//! The helper process, with one thread and nothing else to do. It builds a sandbox once and starts commands in it.
//!
//! This is the program `scorpiox-cell`. The host carries it as bytes and starts it from memory, so it is kept small.
//! What the two say to each other is in `scorpiox_cell::wire`.
//!
//! In the order of a command's life: `namespaces` and `root` build the cell, `call` makes the process that supervises
//! a command, `covers` protects paths, `confine`, `landlock` and `seccomp` take rights away from the shell,
//! `questions` with the guard and `bound` decides about calls that no rule can, `supervise` sees to its end with
//! `tree`. Where the machine lets only bubblewrap make namespaces, `bwrap` has it do so.
//!
//! Invariants: a command that cannot be confined as asked does not run. When its outcome is reported, no process of
//! it is left. There is one thread, so a fork copies the whole process.
//!
//! The host decides what a command may do, and says so in `CellSpec` and `CommandSpec`. The guard
//! (`scorpiox_guard`) decides about names and files. What needs `unsafe` is in `scorpiox_kernel`.

#![cfg(target_os = "linux")]

mod bound;
mod bwrap;
mod call;
mod confine;
mod covers;
mod kernel_memory;
mod landlock;
mod many_in_one;
mod namespaces;
mod questions;
mod reserved;
mod root;
mod seccomp;
mod supervise;
mod tree;
mod watchdog;

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};
use scorpiox_cell::wire::{Built, CellSpec, Fault, HELPER_NAME, Order, Tier};
use scorpiox_cell::{packet, remove_folder};
use scorpiox_kernel::sys;

use self::seccomp::{Filters, Shared};

/// The scores by which the kernel ends helpers and supervisors, and commands, when memory runs out, between 0 and 1000: commands
/// first, then helpers, then all other programs.
const OOM_SCORE: &[u8] = b"900";
const COMMAND_OOM_SCORE: &[u8] = b"1000";
/// After the host is gone, supervisors may take this long.
const FINISH_TIME: Duration = Duration::from_millis(800);

/// A built cell, from the inside.
struct Cell {
    spec: CellSpec,
    filters: Filters,
    landlock: u32,
}

/// Does the helper's work: all of the program `scorpiox-cell`, which a [`scorpiox_cell::Cell`] starts.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let done = match arguments.next().as_deref() {
        Some(HELPER_NAME) => take_socket().map_err(Fault::at("taking the socket")).and_then(serve),
        Some(bwrap::INNER) => call::inside(arguments),
        _ => Err(Fault::new("starting the helper", "a part of another program, which starts it")),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Standard input is the socket to the host. It is moved away, so that the first three
/// descriptors are what they are for every program. What else came from whoever started the host is
/// closed: a folder among it would be a way around every mount.
fn take_socket() -> std::io::Result<OwnedFd> {
    sys::close_inherited()?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(socket)
}

fn serve(host: OwnedFd) -> Result<(), Fault> {
    // What is ignored here stays ignored in every program that is started.
    sys::reset_signals().map_err(Fault::at("resetting signals"))?;
    // When memory runs out the kernel ends commands first, then what supervises them, and not the host.
    let offer = |score| std::fs::write("/proc/self/oom_score_adj", score);
    // Who started the host may have given it more, which is not to be lowered.
    offer(OOM_SCORE)
        .or_else(|_| offer(COMMAND_OOM_SCORE))
        .map_err(Fault::at("offering commands to the out-of-memory killer"))?;
    confine::waiting_signals()?;
    confine::room_for_descriptors()?;
    let order = packet::receive_large::<Order>(host.as_fd()).map_err(Fault::at("reading the first order"))?;
    let Some((Order::Build(spec), _)) = order else { return Ok(()) };
    // In a process namespace of its own the rest happens in its first process.
    if spec.tier == Tier::T1 && namespaces::enter(&spec, &host)? {
        return Ok(());
    }
    match build(spec) {
        Err(fault) => {
            let _ = packet::send(host.as_fd(), &Built::Failed(fault.clone()), &[]);
            Err(fault)
        }
        Ok((cell, listener)) => {
            let listener: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
            packet::send(host.as_fd(), &Built::Ready, &listener).map_err(Fault::at("reporting the cell"))?;
            drop(listener);
            take_orders(&cell, host)
        }
    }
}

fn build(spec: CellSpec) -> Result<(Cell, Option<OwnedFd>), Fault> {
    // Nothing that commands start may ever read or write memory of the helper.
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
    let mut listener = None;
    match spec.tier {
        Tier::T1 => {
            listener = namespaces::network(&spec)?;
            root::enter(&spec)?;
            namespaces::bound_buffers(&spec);
        }
        Tier::T2 => {
            root::link_home(spec.home.as_path(), &spec)?;
            rustix::process::chdir(spec.workspace.as_path()).map_err(Fault::at("entering the workspace"))?;
            // What outlives its supervisor comes here, and ends with the cell.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(Fault::at("adopting processes"))?;
        }
        Tier::T1b => bwrap::probe(&spec)?,
        Tier::None => {}
        Tier::Seatbelt => return Err(Fault::new("building a sandbox", "only macOS has this tier")),
    }
    // Bubblewrap needs more, and for who may run unconfined there is nothing to filter.
    if matches!(spec.tier, Tier::T1 | Tier::T2) {
        confine::bounding()?;
        filters.apply()?;
    }
    if spec.tier == Tier::T1 {
        call::try_one()?;
    }
    Ok((Cell { spec, filters, landlock }, listener))
}

/// Whether a supervisor may read what the processes below it ask for, as Yama's `scope` has it. Without
/// that module, and in its usual setting, it may.
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

/// Starts one command after the other, until the host is gone.
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
            Ok(Some((Order::Run(command, has_moves), fds))) => {
                let order = (&command, has_moves);
                running.extend(call::start(cell, order, fds, &mut host, &children));
            }
            Ok(Some((Order::Build(_), _))) | Err(_) => {}
            Ok(None) => break,
        }
    }
    finish(cell, &mut running);
    // What commands left in their folder for temporary files is of no use to anybody.
    remove_folder(cell.spec.scratch.as_path());
    Ok(())
}

/// Takes note of children that have ended, and leaves those of the supervisors that are `running`.
fn reap(running: &mut Vec<Pid>, tier: Tier) {
    let mut was_killed = false;
    loop {
        match sys::ended_child() {
            Ok(Some(child)) => {
                // bubblewrap may leave a process behind where it fails.
                let _ = rustix::process::kill_process_group(child, Signal::KILL);
                let status = rustix::process::waitpid(Some(child), WaitOptions::empty());
                if let Some(at) = running.iter().position(|supervisor| *supervisor == child) {
                    running.swap_remove(at);
                    was_killed |= !matches!(status, Ok(Some((_, status))) if status.exited());
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => break,
            // No children: whatever was counted is over.
            Err(_) => {
                running.clear();
                break;
            }
        }
    }
    // Elsewhere they end with their namespace.
    if was_killed && tier == Tier::T2 {
        tree::end_orphans(running);
    }
}

/// The host is gone, and supervisors know it, too. In a process namespace this process's end
/// is the end of all; without one, supervisors get the time to end what they have started.
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
