//! All processes of a command, as its supervisor sees them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use scorpiox_kernel::sys;

/// Most rounds in which orphans are looked for: in each those are stopped that the round before had not seen.
const MAX_ROUNDS: usize = 100;

/// How the processes of a command are told from others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tree {
    /// All but the supervisor in its namespace of processes.
    Namespace,
    /// What descends from the supervisor.
    Descendants,
}

/// What a command uses at the moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub processes: u32,
    /// Bytes that are no file's.
    pub memory: u64,
    /// What each process has worked, in ticks of the clock, by its number and when it began.
    pub worked: Vec<((Pid, u64), u64)>,
}

impl Tree {
    /// Sends a signal to each process.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            // To process 1 "all others" are those of its namespace.
            Self::Namespace => {
                let _ = sys::signal_all_others(signal);
            }
            Self::Descendants => {
                if signal == Signal::KILL {
                    // None may have children while the list is made.
                    self.send(Signal::STOP);
                }
                self.send(signal);
            }
        }
    }

    fn send(self, signal: Signal) {
        self.each(|found| {
            // One that is gone meanwhile needs no signal.
            let _ = rustix::process::kill_process(found.pid, signal);
        });
    }

    /// How many there are, those that have ended but for their status left out.
    pub(super) fn count(self) -> u32 {
        let mut count = 0;
        self.each(|found| count += u32::from(!found.ended));
        count
    }

    /// How many threads they have, which is what the kernel's own limit counts.
    pub(super) fn threads(self) -> u32 {
        let mut count = 0;
        self.each(|found| count += found.threads);
        count
    }

    /// How many sockets they have open. One that several have is one.
    pub(super) fn sockets(self) -> u32 {
        let mut known = HashSet::new();
        // What it is called has its number in it.
        self.descriptors(|link| link.starts_with(b"socket:") && known.insert(link.to_vec()))
    }

    /// How many watchers of files they have open.
    pub(super) fn watchers(self) -> u32 {
        self.descriptors(|link| link.starts_with(b"anon_inode:inotify"))
    }

    /// How many waiters for descriptors (`epoll`) they have open.
    pub(super) fn waiters(self) -> u32 {
        self.descriptors(|link| link.starts_with(b"anon_inode:[eventpoll]"))
    }

    /// How many descriptors they have open.
    pub(super) fn all_descriptors(self) -> u32 {
        self.descriptors(|_| true)
    }

    /// The numbers of its processes.
    pub(super) fn numbers(self) -> HashSet<i32> {
        let mut numbers = HashSet::new();
        self.each(|found| {
            numbers.insert(found.pid.as_raw_nonzero().get());
        });
        numbers
    }

    /// How many of their descriptors count, by what the kernel says they lead to. Of a process that
    /// lets nobody look, each does.
    fn descriptors(self, mut counts: impl FnMut(&[u8]) -> bool) -> u32 {
        let mut count = 0;
        let mut until = None;
        self.each(|found| {
            // Who makes counting last has all there is.
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

    /// What they use. Threads count as processes do, as for the kernel's own limit.
    ///
    /// Memory that processes share counts for each of them: see [`Tree::memory_shared_out`].
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

    /// Bytes of memory, what is shared divided among those that share it. Takes the kernel a walk
    /// through all of it.
    pub(super) fn memory_shared_out(self) -> u64 {
        let mut memory = 0;
        let until = Instant::now() + LOOK_TIME;
        self.each(|found| {
            // One that cannot be asked counts in full, and so do those that come after a time.
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

/// Longest time for counting what processes have: the supervisor does nothing else meanwhile, and a busy machine takes its
/// time.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Kills what a supervisor left that was killed itself: all that descends from this process, but for the `supervisors` that
/// are running and what descends from those.
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
                // One that is gone meanwhile needs no signal.
                let _ = rustix::process::kill_process(*pid, signal);
            }
        }
    }
}

struct Process {
    pid: Pid,
    parent: Option<Pid>,
    threads: u32,
    /// When it began, and what it has worked since, in ticks of the clock.
    begun: u64,
    worked: u64,
    /// Over but for its status, which its parent has not asked for.
    ended: bool,
}

/// The sum of some lines of a file about a process, which give kilobytes.
fn kilobytes(found: &Process, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/{file}", found.pid.as_raw_nonzero())).ok()?;
    let values = text.lines().filter_map(|line| {
        let value = names.iter().find_map(|name| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    Some(values.sum())
}

/// A number of a process's status.
fn status(found: &Process, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", found.pid.as_raw_nonzero())).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// The processes that this one can see.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(process).collect()
}

/// Reads `/proc/PID/stat`: `pid (name) state ppid …`, where the name may hold anything.
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
    // Threads may go on after the first one has ended.
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
