//! Threads that have a name, and what they do while they wait.

use std::io;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The stack of a thread that calls little, in bytes.
const SMALL_STACK: usize = 256 * 1024;

/// Starts a thread; fails where the process may have no more of them.
pub fn start<T: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(body)
}

/// The same with a small stack, for one that calls little.
pub fn start_small<T: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).stack_size(SMALL_STACK).spawn(body)
}

/// Waits for something that takes its time. A thread of an async runtime gives its other tasks to another one meanwhile:
/// among them may be what is waited for, or what ends the wait.
pub fn wait<T>(waiting: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(waiting)
}

/// Processor time that this thread has used.
#[cfg(unix)]
pub fn time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Processor time that this thread has used.
#[cfg(windows)]
pub fn time() -> Duration {
    scorpiox_windows::thread::time().unwrap_or_default()
}
