//! Who runs what: threads, the async runtime, and how a call is told to stop.
//!
//! Invariants: nothing is started before it is needed; a call that is told to stop stays told. What runs, and
//! what it means that it cannot be started, is the business of those who ask.

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
