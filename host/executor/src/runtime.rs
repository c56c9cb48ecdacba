//! The async runtime of the process.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// Runtime for requests, timers and connections. Its thread starts with the first use.
#[derive(Default)]
pub struct AsyncRuntime(OnceLock<Result<Runtime, String>>);

impl AsyncRuntime {
    /// Returns the handle for spawning tasks, or an error if the thread cannot start.
    pub fn handle(&self) -> Result<&Handle, String> {
        let started = self.0.get_or_init(|| {
            let runtime =
                Builder::new_multi_thread().worker_threads(1).thread_name("async").enable_all().build();
            runtime.map_err(|error| format!("the thread for requests cannot be started: {error}"))
        });
        started.as_ref().map(Runtime::handle).map_err(Clone::clone)
    }
}
