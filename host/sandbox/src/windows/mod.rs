//! Windows: commands without a sandbox, in a job object, and workers in one.
//!
//! Invariants: a command only runs if the operator allowed it without a sandbox. A cell of any other tier
//! cannot be built. All processes of a command end with it, with the server, and when they exceed the process
//! or memory limit.

mod cell;
pub(crate) mod worker;

use std::io;

use scorpiox_sys::windows::job::Job;

pub use self::cell::Cell;
use crate::followed::{Followed, Tree};
use crate::wire::Ended;

/// Running command, which is killed on drop.
pub type Running = Followed<Job>;

impl Tree for Job {
    fn processes(&self) -> io::Result<u32> {
        Self::processes(self)
    }

    /// Returns `false`: processes cannot be asked to end on Windows.
    fn ask(&self) -> bool {
        false
    }

    fn end(&self) -> io::Result<()> {
        Self::end(self)
    }

    /// Returns `None`: the system enforces the limits.
    fn exceeds(&self) -> Option<Ended> {
        None
    }
}
