//! Fault tests: kills, full disks, misbehaving clients and overload.
//!
//! Random choices derive from a seed, which `SCORPIOX_TEST_SEED` sets and each failure reports.

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

pub use disk::{Disk, Mount};
