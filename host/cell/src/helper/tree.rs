//! All processes of a command, as its supervisor sees them.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal};

/// How the processes of a command are told from others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tree {
    /// All but the supervisor in its namespace of processes.
    Namespace,
    /// What descends from the supervisor.
    Descendants,
}

/// What a command uses at the moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub processes: u32,
    /// Bytes that are not shared with a file.
    pub memory: u64,
}

impl Tree {
    /// Sends a signal to each process.
    pub(super) fn signal(self, signal: Signal) {
        match self {
            // To process 1 "all others" are those of its namespace.
            Self::Namespace => {
                let _ = crate::sys::signal_all_others(signal);
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

    /// What they use. Threads count as processes do, as for the kernel's own limit.
    pub(super) fn usage(self) -> Usage {
        let page = rustix::param::page_size() as u64;
        let mut usage = Usage::default();
        self.each(|found| {
            let pid = found.pid.as_raw_nonzero();
            let Ok(statm) = fs::read_to_string(format!("/proc/{pid}/statm")) else { return };
            let mut pages = statm.split(' ').skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
            let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
            usage.memory += resident.saturating_sub(shared) * page;
            usage.processes += found.threads;
        });
        usage
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

struct Process {
    pid: Pid,
    parent: Option<Pid>,
    threads: u32,
    /// Over but for its status, which its parent has not asked for.
    ended: bool,
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
    let threads = fields.nth(15)?.parse().unwrap_or(1);
    // Threads may go on after the first one has ended.
    let ended = matches!(state, "Z" | "X") && threads <= 1;
    Some(Process { pid: Pid::from_raw(number)?, parent: Pid::from_raw(parent), threads, ended })
}
