//! Faults: what the program does when it is killed, when its disk is full, when its client
//! misbehaves, and when too much is asked of it at once.
//!
//! Random choices come from a seed, which `SCORPIOX_TEST_SEED` sets and each failure shows.

#[cfg(unix)]
mod backpressure;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod file;
#[cfg(unix)]
mod kill;
#[cfg(unix)]
mod lines;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod long_lines;
#[cfg(unix)]
mod oracle;
#[cfg(unix)]
mod quiet;
#[cfg(unix)]
mod shared_home;
#[cfg(unix)]
mod support;

#[cfg(unix)]
pub use disk::Mount;
