//! All processes of a command, in whichever process group they are.

use std::ffi::CString;
use std::io::{self, PipeWriter};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_sys::macos::process::{self, Pid, Signal};
use scorpiox_sys::macos::sandbox::{Lookup, lookup};

use crate::followed::Tree;
use crate::seatbelt::NOBODY_S;
use crate::wire::{Ended, Limits};

/// Interval between checks of a command's resource usage.
const LOOK_TIME: Duration = Duration::from_millis(250);
/// Maximum number of rounds of killing: each finds the processes started during the previous one.
const ROUNDS: u32 = 100;

/// Processes whose sandbox has a given mark.
#[derive(Debug)]
pub struct Processes {
    mark: CString,
    limits: Limits,
    looked: Mutex<Instant>,
    /// Write end of a pipe: when it closes, the command's process group is killed.
    _alive: PipeWriter,
}

impl Processes {
    /// Creates the set of processes whose profile has this mark.
    pub(super) fn new(mark: CString, limits: Limits, alive: PipeWriter) -> Self {
        Self { mark, limits, looked: Mutex::new(Instant::now()), _alive: alive }
    }

    /// Returns the running processes. A process without a sandbox may look up every service, including one
    /// that no profile allows.
    fn members(&self) -> io::Result<Vec<Pid>> {
        let is_one = |pid: &Pid| {
            lookup(*pid, &self.mark) == Lookup::Allowed && lookup(*pid, NOBODY_S) == Lookup::Refused
        };
        Ok(process::own()?.into_iter().filter(is_one).collect())
    }
}

impl Tree for Processes {
    fn processes(&self) -> io::Result<u32> {
        Ok(u32::try_from(self.members()?.len()).unwrap_or(u32::MAX))
    }

    fn ask(&self) -> bool {
        let asked =
            self.members().and_then(|pids| pids.into_iter().try_for_each(|pid| pid.send(Signal::Term)));
        asked.is_ok()
    }

    fn end(&self) -> io::Result<()> {
        for _ in 0..ROUNDS {
            let members = self.members()?;
            if members.is_empty() {
                return Ok(());
            }
            // A stopped process starts no further ones.
            for pid in &members {
                pid.send(Signal::Stop)?;
            }
            for pid in members {
                pid.send(Signal::Kill)?;
            }
        }
        Err(io::Error::other("the command starts processes faster than they can be ended"))
    }

    fn exceeds(&self) -> Option<Ended> {
        let mut looked = self.looked.lock();
        if looked.elapsed() < LOOK_TIME {
            return None;
        }
        *looked = Instant::now();
        drop(looked);
        let members = self.members().ok()?;
        if members.len() > usize::try_from(self.limits.processes).unwrap_or(usize::MAX) {
            return Some(Ended::Processes);
        }
        let memory: u64 = members.into_iter().map(Pid::memory).fold(0, u64::saturating_add);
        (memory > self.limits.memory).then_some(Ended::Memory)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
