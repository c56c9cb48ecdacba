//! Faults: what the program does when it is killed, when its disk is full, when its client
//! misbehaves, and when too much is asked of it at once.
//!
//! Random choices come from a seed, which `SCORPIOX_TEST_SEED` sets and each failure shows.

mod backpressure;
mod disk;
mod ending;
mod file;
mod kill;
mod lines;
mod load;
mod long_lines;
mod oracle;
mod quiet;
mod shared_home;
pub(crate) mod support;

pub use disk::Mount;
