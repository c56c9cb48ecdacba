//! Limits the number of a command's processes by means of the kernel, as far as it has any.
//!
//! The last resort is the supervisor, which decides about each `fork`. A signal that arrives before it has
//! received the call interrupts the call, which no program expects: `/bin/sh`, where that is dash, prints
//! "Cannot fork".

use std::fs;

use scorpiox_sandbox::wire::Tier;

use crate::tree::Tree;

/// Mechanism that limits the number of a command's processes and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// The process IDs of the command's PID namespace.
    Numbers,
    /// `RLIMIT_NPROC` with this value. The kernel compares it with the number of the user's processes in the
    /// user namespace.
    OfUser(u64),
    /// The supervisor.
    Supervisor,
}

impl Mechanism {
    /// Chooses the best mechanism for a command that may have `most` processes. Must be called by its
    /// supervisor, before `/proc` shows the command alone.
    pub(super) fn choose(tier: Tier, most: u32) -> Self {
        if tier == Tier::T1 && kernel_limits_numbers() {
            return Self::Numbers;
        }
        // The limit never applies to root.
        if rustix::process::getuid().is_root() {
            return Self::Supervisor;
        }
        let existing = match tier {
            // Without a user namespace, all of the user's processes count.
            Tier::T2 => tasks_of_machine(),
            _ => Some(u64::from(Tree::Namespace.threads()) + 1),
        };
        existing.map_or(Self::Supervisor, |existing| Self::OfUser(existing + u64::from(most)))
    }

    /// Limits the process IDs of this namespace, if that is the chosen mechanism. If that fails, returns
    /// another mechanism.
    ///
    /// On older kernels the same file sets the limit of the whole machine, and root may write it.
    pub(super) fn limit_numbers(self, most: u32) -> Self {
        // Process IDs below 300 are not reused.
        let text = most.saturating_add(301).to_string();
        match self {
            Self::Numbers if fs::write("/proc/sys/kernel/pid_max", text).is_err() => Self::Supervisor,
            chosen => chosen,
        }
    }
}

/// Returns `true` if each PID namespace has a limit of its own (Linux 6.14).
fn kernel_limits_numbers() -> bool {
    let about = rustix::system::uname();
    let release = about.release().to_string_lossy();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}

/// Returns the number of threads on this machine.
fn tasks_of_machine() -> Option<u64> {
    tasks(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Returns the number of threads from the text of `/proc/loadavg`.
fn tasks(load: &str) -> Option<u64> {
    // The fourth field has the form RUNNING/ALL.
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_read() {
        assert_eq!(tasks("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(tasks("0.20 0.18"), None);
        assert!(tasks_of_machine().is_some_and(|tasks| tasks > 0));
    }
}
