//! Threads, the async runtime, and the cancellation of calls.
//!
//! Invariants: nothing starts before it is needed, and a cancelled call stays cancelled. Callers decide what
//! runs, and how to treat a thread that cannot start.

pub mod alarm;
#[cfg(unix)]
mod bell;
mod cancel;
pub mod lookout;
mod runtime;
pub mod shares;
pub mod threads;

pub use cancel::{Cancel, Reason, Watch};
pub use runtime::AsyncRuntime;
pub use tokio::runtime::Handle;
