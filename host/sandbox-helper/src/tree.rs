//! The processes of a command, as its supervisor sees them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use scorpiox_sys::linux::sys;

/// Maximum number of rounds to search for orphans: each round stops the processes that the previous one did
/// not find.
const MAX_ROUNDS: usize = 100;

/// Set of processes that belong to a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tree {
    /// All processes of the PID namespace except the supervisor.
    Namespace,
    /// Descendants of the supervisor.
    Descendants,
}

/// Current resource usage of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub processes: u32,
    /// Memory that is not backed by files, in bytes.
    pub memory: u64,
    /// Processor time of each process in clock ticks, by its process ID and start time.
    pub worked: Vec<((Pid, u64), u64)>,
}

impl Tree {
    /// Sends a signal to each process.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            // For process 1, "all others" are the processes of its namespace.
            Self::Namespace => {
                let _ = sys::signal_all_others(signal);
            }
            Self::Descendants => {
                if signal == Signal::KILL {
                    // No process may fork while the list is made.
                    self.send(Signal::STOP);
                }
                self.send(signal);
            }
        }
    }

    fn send(self, signal: Signal) {
        self.each(|found| {
            // Fails if the process has ended in the meantime.
            let _ = rustix::process::kill_process(found.pid, signal);
        });
    }

    /// Returns the number of processes, without zombies.
    pub(super) fn count(self) -> u32 {
        let mut count = 0;
        self.each(|found| count += u32::from(!found.ended));
        count
    }

    /// Returns the number of threads, which is what the kernel's limit counts.
    pub(super) fn threads(self) -> u32 {
        let mut count = 0;
        self.each(|found| count += found.threads);
        count
    }

    /// Returns the number of open sockets. A socket shared by several processes counts once.
    pub(super) fn sockets(self) -> u32 {
        let mut known = HashSet::new();
        // The name of the link contains the inode number.
        self.descriptors(|link| link.starts_with(b"socket:") && known.insert(link.to_vec()))
    }

    /// Returns the number of open inotify instances.
    pub(super) fn watchers(self) -> u32 {
        self.descriptors(|link| link.starts_with(b"anon_inode:inotify"))
    }

    /// Returns the number of open epoll instances.
    pub(super) fn waiters(self) -> u32 {
        self.descriptors(|link| link.starts_with(b"anon_inode:[eventpoll]"))
    }

    /// Returns the number of open descriptors.
    pub(super) fn all_descriptors(self) -> u32 {
        self.descriptors(|_| true)
    }

    /// Returns the process IDs.
    pub(super) fn numbers(self) -> HashSet<i32> {
        let mut numbers = HashSet::new();
        self.each(|found| {
            numbers.insert(found.pid.as_raw_nonzero().get());
        });
        numbers
    }

    /// Returns the number of descriptors whose link satisfies `counts`. If a process denies access, all of
    /// its descriptors count.
    fn descriptors(self, mut counts: impl FnMut(&[u8]) -> bool) -> u32 {
        let mut count = 0;
        let mut until = None;
        self.each(|found| {
            // A command that slows down the count is assumed to be at its limit.
            if Instant::now() > *until.get_or_insert_with(|| Instant::now() + LOOK_TIME) {
                count = usize::MAX;
                return;
            }
            let number = found.pid.as_raw_nonzero();
            let own = fs::read_dir(format!("/proc/{number}/fd")).map(|entries| {
                let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
                links.filter(|link| counts(link.as_os_str().as_bytes())).count()
            });
            let all = || status(found, "FDSize:").and_then(|size| usize::try_from(size).ok());
            count = count.saturating_add(own.ok().or_else(all).unwrap_or(0));
        });
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns the resource usage. Threads count like processes, as for the kernel's limit.
    ///
    /// Shared memory counts for each process: see [`Tree::memory_shared_out`].
    pub(super) fn usage(self) -> Usage {
        let mut usage = Usage::default();
        self.each(|found| {
            usage.worked.push(((found.pid, found.begun), found.worked));
            usage.memory +=
                kilobytes(found, "status", &["RssAnon:", "RssShmem:", "VmPTE:"]).unwrap_or(0) * 1024;
            usage.processes += found.threads;
        });
        usage
    }

    /// Returns the memory in bytes, with shared memory divided among its users. The kernel walks through all
    /// of it for that.
    pub(super) fn memory_shared_out(self) -> u64 {
        let mut memory = 0;
        let until = Instant::now() + LOOK_TIME;
        self.each(|found| {
            // A process that denies access counts in full, and so does every process after the time limit.
            let in_time = Instant::now() <= until;
            let shared_out =
                in_time.then(|| kilobytes(found, "smaps_rollup", &["Pss_Anon:", "Pss_Shmem:"])).flatten();
            let shared_out =
                shared_out.map(|pages| pages + kilobytes(found, "status", &["VmPTE:"]).unwrap_or(0));
            let all = || kilobytes(found, "status", &["RssAnon:", "RssShmem:", "VmPTE:"]);
            memory += shared_out.or_else(all).unwrap_or(0) * 1024;
        });
        memory
    }

    fn each(self, mut act: impl FnMut(&Process)) {
        let all = processes();
        let own = rustix::process::getpid();
        match self {
            Self::Namespace => {
                all.iter().filter(|found| found.pid != own).for_each(act);
            }
            Self::Descendants => {
                let mut children = HashMap::<_, Vec<_>>::new();
                for found in &all {
                    children.entry(found.parent).or_default().push(found);
                }
                let mut parents = vec![Some(own)];
                while let Some(parent) = parents.pop() {
                    for child in children.get(&parent).into_iter().flatten() {
                        act(child);
                        parents.push(Some(child.pid));
                    }
                }
            }
        }
    }
}

/// Maximum time for a count: it blocks the supervisor, and may be slow on a busy machine.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Kills the processes that a killed supervisor left behind: all descendants of this process, except the
/// running `supervisors` and their descendants.
pub(super) fn end_orphans(supervisors: &[Pid]) {
    for _ in 0..MAX_ROUNDS {
        let all = processes();
        let mut found = Vec::new();
        let mut parents = vec![Some(rustix::process::getpid())];
        while let Some(parent) = parents.pop() {
            for child in
                all.iter().filter(|child| child.parent == parent && !supervisors.contains(&child.pid))
            {
                parents.push(Some(child.pid));
                found.extend((!child.ended).then_some(child.pid));
            }
        }
        if found.is_empty() {
            return;
        }
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &found {
                // Fails if the process has ended in the meantime.
                let _ = rustix::process::kill_process(*pid, signal);
            }
        }
    }
}

struct Process {
    pid: Pid,
    parent: Option<Pid>,
    threads: u32,
    /// Start time, and processor time since then, in clock ticks.
    begun: u64,
    worked: u64,
    /// `true` for a zombie.
    ended: bool,
}

/// Returns the sum of some lines of a file about a process, in kilobytes.
fn kilobytes(found: &Process, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/{file}", found.pid.as_raw_nonzero())).ok()?;
    let values = text.lines().filter_map(|line| {
        let value = names.iter().find_map(|name| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    Some(values.sum())
}

/// Returns a number from the status of a process.
fn status(found: &Process, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", found.pid.as_raw_nonzero())).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// Returns the processes that are visible to this one.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(process).collect()
}

/// Reads `/proc/PID/stat`: `pid (name) state ppid …`. The name may contain any characters.
fn process(number: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let worked = fields.nth(9)?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    let threads = fields.nth(4)?.parse().unwrap_or(1);
    let begun = fields.nth(1)?.parse().ok()?;
    // Other threads may continue after the first one has ended.
    let ended = matches!(state, "Z" | "X") && threads <= 1;
    Some(Process {
        pid: Pid::from_raw(number)?,
        parent: Pid::from_raw(parent),
        threads,
        begun,
        worked,
        ended,
    })
}
