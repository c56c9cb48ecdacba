//! Threads that have a name.

use std::io;
use std::thread::{Builder, JoinHandle};

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
