//! All processes of a command, wherever they went.

use std::ffi::CString;
use std::io::{self, PipeWriter};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_macos::process::{self, Pid, Signal};
use scorpiox_macos::sandbox::{Lookup, lookup};

use crate::followed::Tree;
use crate::seatbelt::NOBODY_S;
use crate::wire::{Ended, Limits};

/// How often it is looked what a command uses.
const LOOK_TIME: Duration = Duration::from_millis(250);
/// Most rounds of killing: each finds what was started in the one before.
const ROUNDS: u32 = 100;

/// The processes whose sandbox has a mark.
#[derive(Debug)]
pub struct Processes {
    mark: CString,
    limits: Limits,
    looked: Mutex<Instant>,
    /// When this end closes, the command's process group is killed.
    _alive: PipeWriter,
}

impl Processes {
    /// Those of the command whose profile has this mark.
    pub(super) fn new(mark: CString, limits: Limits, alive: PipeWriter) -> Self {
        Self { mark, limits, looked: Mutex::new(Instant::now()), _alive: alive }
    }

    /// Those that run now. What has no sandbox may look up everything, also what no profile names.
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
            // What stands still starts nothing more.
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
