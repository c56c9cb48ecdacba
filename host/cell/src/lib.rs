//! The sandbox that commands run in, and the helper process that builds it.
//!
//! The host ([`Cell`], [`Running`]) starts a helper, which is the same program under
//! another name ([`helper_main`]). The helper has one thread, little memory,
//! and builds the sandbox once: a *warm cell*. For each command it is sent the descriptors of
//! the output, and makes a supervisor with a shell below it.
//!
//! Invariants: the host never forks. This crate is the only one that starts programs, and the
//! only one with `unsafe`, all of it in `sys`. A command that cannot be confined as asked
//! does not run.
//!
//! Linux only. [`Cell`] and [`Running`] are the seam: a helper for another system (Seatbelt on
//! macOS, a job object on Windows) goes behind them.

mod cell;
mod helper;
mod packet;
mod running;
mod sys;
mod wire;

pub use cell::{Cell, CellError, Helper};
pub use helper::main as helper_main;
pub use running::{Happened, Running};
pub use wire::{
    Access, CellSpec, CommandSpec, Cover, Ended, Exposed, Fault, Granted, Limits, Network, Outcome, RawPath,
    Status, Tier,
};

/// Where the host's proxy listens in a cell's own network.
pub const PROXY_PORT: u16 = 3128;
