//! Windows: commands without a sandbox, in a job object, and workers in one.
//!
//! Invariants: a command runs where the operator allowed that it runs without a sandbox, and nowhere else: a cell of
//! any other tier cannot be built. All processes of a command end with it, with the server, and when there are too many
//! or they take too much memory.

mod cell;
pub(crate) mod worker;

use std::io;

use scorpiox_windows::job::Job;

pub use self::cell::Cell;
use crate::followed::{Followed, Tree};
use crate::wire::Ended;

/// A command that runs. Dropped, it is killed.
pub type Running = Followed<Job>;

impl Tree for Job {
    fn processes(&self) -> io::Result<u32> {
        Self::processes(self)
    }

    /// No program here is asked to end.
    fn ask(&self) -> bool {
        false
    }

    fn end(&self) -> io::Result<()> {
        Self::end(self)
    }

    /// The system ends what exceeds one.
    fn exceeds(&self) -> Option<Ended> {
        None
    }
}
