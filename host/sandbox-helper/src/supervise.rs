//! Supervises one command: its shell, all processes that the shell starts, and their end.
//!
//! Invariant: when the supervisor reports the outcome, no process of the command is left. In a PID namespace
//! the supervisor is process 1, whose end terminates all others. Without one, it adopts orphans and kills its
//! descendants.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use scorpiox_sandbox::packet;
use scorpiox_sandbox::wire::{CellSpec, CommandSpec, Ended, Event, Family, Fault, Outcome, Status, Stop};
use scorpiox_sys::linux::sys;

use crate::full::full;
use crate::kernel_memory::KernelMemory;
use crate::questions::Questions;
use crate::tree::Tree;
use crate::watchdog::{self, Beat};

/// Time for processes that outlive the shell to finish.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// Time between SIGTERM and SIGKILL.
const GRACE_TIME: Duration = Duration::from_secs(2);
/// Interval between checks of memory and processes.
const WATCH_TIME: Duration = Duration::from_millis(100);
/// Time until the first check, within which no command can block its supervisor.
const FIRST_WATCH_TIME: Duration = Duration::from_millis(20);
/// Shortest interval between checks when more than half of the memory is used.
const SHORT_WATCH_TIME: Duration = Duration::from_millis(20);
/// Maximum number of processes whose processor time is stored.
const MAX_WATCHED: usize = 65_536;
/// Maximum time for killed processes to disappear.
const REAP_TIME: Duration = Duration::from_secs(5);

/// The supervisor's state.
pub(super) struct Supervisor<'a> {
    pub order: &'a CommandSpec,
    cell: Option<&'a CellSpec>,
    /// Socket to the host.
    pub control: &'a OwnedFd,
    /// Becomes readable when a child changes state.
    pub children: &'a OwnedFd,
    pub shell: Pid,
    pub tree: Tree,
    pub started: Instant,
    kernel_memory: KernelMemory,
    questions: Option<Questions>,
    /// `true` if no process is left that could make a forwarded system call.
    nobody_asks: bool,
    /// Requests of the host for sockets.
    dialer: Option<OwnedFd>,
    /// Processor time of each process at the last check, in clock ticks.
    worked: HashMap<(Pid, u64), u64>,
    phase: Phase,
    ended: Option<Ended>,
    status: Option<Status>,
    /// `true` if children may have ended since they were last reaped.
    has_changes: bool,
    duration: Duration,
}

/// Event that the supervisor waits for.
enum Phase {
    /// End of the shell.
    Running { until: Option<Instant> },
    /// End of the shell after SIGTERM.
    Ending { kill_at: Instant },
    /// End of the processes that the shell left behind.
    Draining { kill_at: Instant },
}

impl<'a> Supervisor<'a> {
    pub(super) fn new(
        order: &'a CommandSpec,
        control: &'a OwnedFd,
        children: &'a OwnedFd,
        shell: Pid,
        tree: Tree,
        questions: Option<Questions>,
    ) -> Self {
        let started = Instant::now();
        let until = order.timeout_ms.map(|time| started + Duration::from_millis(time));
        Self {
            order,
            cell: None,
            control,
            children,
            shell,
            tree,
            started,
            kernel_memory: KernelMemory::new(),
            questions,
            nobody_asks: false,
            dialer: None,
            worked: HashMap::new(),
            phase: Phase::Running { until },
            ended: None,
            status: None,
            has_changes: true,
            duration: Duration::ZERO,
        }
    }

    /// Makes the sockets that the host requests.
    pub(super) fn published(self, dialer: Option<OwnedFd>) -> Self {
        Self { dialer, ..self }
    }

    /// Reports the folders of the cell that are full in the end.
    pub(super) fn of_cell(self, cell: &'a CellSpec) -> Self {
        Self { cell: Some(cell), ..self }
    }

    /// Waits for the end of the command, enforces its limits, and reports the outcome.
    pub(super) fn run(mut self) {
        let mut watch_at = self.started + FIRST_WATCH_TIME;
        let beat = Beat::new(self.started);
        let mut is_watched = false;
        let leftover = loop {
            beat.note();
            self.ended = self.ended.or_else(|| beat.ended());
            if std::mem::take(&mut self.has_changes) {
                let alone = self.reap();
                if self.status.is_some() && alone {
                    break 0;
                }
            }
            let now = Instant::now();
            if now >= watch_at {
                // Most commands have ended by this time.
                if !is_watched && let Ok(control) = self.control.try_clone() {
                    let until = self.order.timeout_ms.map(|time| self.started + Duration::from_millis(time));
                    is_watched =
                        watchdog::watch(beat.clone(), self.tree, control, until, self.order.limits.memory);
                }
                watch_at = now + self.watch();
            }
            if let Some(killed) = self.advance(now) {
                break killed;
            }
            let next = self.deadline().map_or(watch_at, |deadline| deadline.min(watch_at));
            if self.wait(next.saturating_duration_since(now)) == Told::HostIsGone {
                self.kill();
                self.questions.take().map(Questions::end);
                return;
            }
        };
        let names = self.questions.take().map(Questions::end).unwrap_or_default();
        let outcome = Outcome {
            status: self.status.unwrap_or(Status::Signal(Signal::KILL.as_raw())),
            ended: self.ended,
            leftover,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            processor_us: u64::try_from(self.processor().as_micros()).unwrap_or(u64::MAX),
            names,
            full: self.cell.map(full).unwrap_or_default(),
        };
        report(self.control, outcome);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running { until } => until,
            Phase::Ending { kill_at } | Phase::Draining { kill_at } => Some(kill_at),
        }
    }

    /// Advances the phase when its deadline has passed. Returns the number of killed processes once the
    /// command is over.
    fn advance(&mut self, now: Instant) -> Option<u32> {
        if self.status.is_some() && !matches!(self.phase, Phase::Draining { .. }) {
            let time = if self.ended.is_some() { Duration::ZERO } else { DRAIN_TIME };
            self.phase = Phase::Draining { kill_at: now + time };
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        match self.phase {
            Phase::Running { .. } => {
                self.end(Ended::Timeout, Stop::Gently);
                None
            }
            Phase::Ending { .. } | Phase::Draining { .. } => Some(self.kill()),
        }
    }

    /// Starts to end the command.
    fn end(&mut self, why: Ended, how: Stop) {
        self.ended.get_or_insert(why);
        let now = Instant::now();
        match how {
            Stop::Gently if matches!(self.phase, Phase::Running { .. }) => {
                self.tree.signal(Signal::TERM);
                // A stopped process cannot handle the signal.
                self.tree.signal(Signal::CONT);
                self.phase = Phase::Ending { kill_at: now + GRACE_TIME };
            }
            Stop::Gently => {}
            Stop::Now => self.phase = Phase::Ending { kill_at: now },
        }
    }

    /// Kills all processes; returns their number without the shell.
    fn kill(&mut self) -> u32 {
        let others = self.tree.count().saturating_sub(u32::from(self.status.is_none()));
        let until = Instant::now() + REAP_TIME;
        loop {
            self.tree.signal(Signal::KILL);
            if self.reap() || Instant::now() >= until {
                break others;
            }
            self.wait(Duration::from_millis(20));
        }
    }

    /// Reaps children that have ended; returns `true` if none is left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.shell => {
                    self.duration = self.started.elapsed();
                    self.status = Some(read_status(status));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Returns the processor time of all processes. The kernel does not account for processes that nobody
    /// waited for, so the last value seen of them counts.
    fn processor(&self) -> Duration {
        let ticks: u64 = self.worked.values().sum();
        let seen = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        sys::children_time().max(seen)
    }

    /// Ends a command that exceeds a limit; returns the time until the next check.
    fn watch(&mut self) -> Duration {
        if !matches!(self.phase, Phase::Running { .. }) {
            return WATCH_TIME;
        }
        let begun = Instant::now();
        if let Some(questions) = &mut self.questions {
            questions.look();
        }
        self.has_changes = true;
        let used = self.tree.usage();
        if self.worked.len() < MAX_WATCHED {
            self.worked.extend(used.worked);
        }
        let limits = &self.order.limits;
        let is_over = used.memory > limits.memory && self.tree.memory_shared_out() > limits.memory;
        if is_over || self.kernel_memory.exceeds(limits.memory, self.tree) {
            self.end(Ended::Memory, Stop::Now);
        } else if used.processes > limits.processes {
            self.end(Ended::Processes, Stop::Now);
        }
        // Checks take at most a tenth of the time.
        if used.memory > limits.memory / 2 {
            return (begun.elapsed() * 10).clamp(SHORT_WATCH_TIME, WATCH_TIME);
        }
        WATCH_TIME
    }

    /// Waits for a child, the host or the timeout.
    fn wait(&mut self, time: Duration) -> Told {
        let retry_after = self.questions.as_mut().and_then(Questions::retry);
        let time = retry_after.map_or(time, |retry| time.min(retry));
        let time = Timespec::try_from(time).unwrap_or_default();
        let open = self.questions.as_ref().filter(|_| !self.nobody_asks);
        let watched = [
            Some(self.control.as_fd()),
            Some(self.children.as_fd()),
            self.dialer.as_ref().map(AsFd::as_fd),
            open.map(Questions::listener),
        ];
        let mut polled: Vec<_> =
            watched.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        if poll(&mut polled, Some(&time)).is_err() {
            return Told::Nothing;
        }
        let mut found = polled.iter().map(PollFd::revents);
        let mut next = || found.next().unwrap_or(PollFlags::empty());
        let (control, children) = (!next().is_empty(), !next().is_empty());
        let dials = self.dialer.is_some() && !next().is_empty();
        let questions = next();
        if dials {
            self.make_socket();
        }
        self.nobody_asks |= questions.contains(PollFlags::HUP);
        if let Some(asked) = &mut self.questions
            && questions.contains(PollFlags::IN)
        {
            asked.answer(self.tree);
        }
        if children {
            // The content does not matter: `wait` tells which children have ended.
            let _ = rustix::io::read(self.children, &mut [0_u8; 1024]);
            self.has_changes = true;
        }
        if !control {
            return Told::Nothing;
        }
        match packet::receive::<Stop>(self.control.as_fd(), false) {
            Ok(Some((stop, _))) => {
                self.end(Ended::Stopped, stop);
                Told::Nothing
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Told::Nothing,
            Ok(None) | Err(_) => Told::HostIsGone,
        }
    }
}

impl Supervisor<'_> {
    /// Makes a socket in the network of the command for the host, which may connect it.
    fn make_socket(&mut self) {
        let Some(dialer) = &self.dialer else { return };
        let family = match packet::receive::<Family>(dialer.as_fd(), false) {
            Ok(Some((family, _))) => family,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            // The host requests no more.
            Ok(None) | Err(_) => return self.dialer = None,
        };
        let domain = match family {
            Family::V4 => AddressFamily::INET,
            Family::V6 => AddressFamily::INET6,
        };
        let made = socket_with(domain, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok();
        let fds: Vec<_> = made.iter().map(AsFd::as_fd).collect();
        if packet::send(dialer.as_fd(), &family, &fds).is_err() {
            self.dialer = None;
        }
    }
}

#[derive(PartialEq, Eq)]
enum Told {
    Nothing,
    HostIsGone,
}

fn read_status(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Code(code),
        (None, Some(signal)) => Status::Signal(signal),
        (None, None) => Status::Signal(Signal::KILL.as_raw()),
    }
}

/// Reports the outcome of a command. It is long if the command left many repositories behind.
fn report(control: &OwnedFd, outcome: Outcome) {
    let done = Event::Done(outcome);
    if packet::send(control.as_fd(), &done, &[]).is_err()
        && let Event::Done(outcome) = &done
        && let Ok(file) = packet::to_file(outcome)
    {
        let _ = packet::send(control.as_fd(), &Event::DoneAtLength, &[file.as_fd()]);
    }
}

/// Reports that the command could not be started, and exits.
pub(super) fn give_up(control: &OwnedFd, fault: Fault) -> ! {
    let _ = packet::send(control.as_fd(), &Event::Failed(fault), &[]);
    sys::exit_now(1)
}
