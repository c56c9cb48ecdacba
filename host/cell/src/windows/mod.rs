//! Windows: commands without a sandbox, in a job object, and workers in one.
//!
//! Invariants: a command runs where the operator allowed that it runs without a sandbox, and nowhere else: a cell of
//! any other tier cannot be built. All processes of a command end with it, with the server, and when there are too many
//! or they take too much memory.

mod cell;
mod running;
pub(crate) mod worker;

pub use cell::Cell;
pub use running::Running;
