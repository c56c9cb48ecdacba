//! Named threads, and blocking waits.

use std::io;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Stack size in bytes of a thread with shallow calls.
const SMALL_STACK: usize = 256 * 1024;

/// Starts a named thread. Fails if the process cannot create more threads.
pub fn start<T: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(body)
}

/// Like [`start`], but with a small stack for shallow calls.
pub fn start_small<T: Send + 'static>(
    name: impl Into<String>,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).stack_size(SMALL_STACK).spawn(body)
}

/// Runs a blocking wait. On a runtime thread, other tasks move to another thread first, because the wait may
/// depend on them.
pub fn wait<T>(waiting: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(waiting)
}

/// Returns the processor time used by this thread.
#[cfg(unix)]
pub fn time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the processor time used by this thread.
#[cfg(windows)]
pub fn time() -> Duration {
    scorpiox_sys::windows::thread::time().unwrap_or_default()
}
