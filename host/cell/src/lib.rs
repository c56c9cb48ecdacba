//! The sandbox that commands run in, and the helper process that builds it.
//!
//! The host ([`Cell`], [`Running`]) starts a helper: the program `scorpiox-cell` of this crate ([`helper_main`]),
//! which the host carries. The helper has one thread and little memory, so that a copy of it is made quickly,
//! and builds the sandbox once: a *warm cell*. For each command it is sent the descriptors of
//! the output, and makes a supervisor with a shell below it.
//!
//! Programs of this project that work on strangers' bytes are started here, too: see [`worker`].
//!
//! Invariants: the host never forks. This crate is the only one that starts programs. Calls of
//! the kernel that need `unsafe` are all in `sys`. A command that cannot be confined as asked does
//! not run.
//!
//! Linux only, so far. [`Cell`] and [`Running`] are the seam: a helper for another system
//! (Seatbelt on macOS, a job object on Windows) goes behind them. Until there is one,
//! `elsewhere` stands in its place, where no cell can be built.

#[cfg(target_os = "linux")]
mod cell;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod etc;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(unix)]
mod remove;
#[cfg(target_os = "linux")]
mod running;
mod seam;
#[cfg(target_os = "linux")]
mod sys;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody talks without a helper"))]
mod wire;
pub mod worker;

#[cfg(target_os = "linux")]
pub use self::{cell::Cell, helper::main as helper_main, running::Running, sys::start_clean};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Cell, Running, helper_main, start_clean};
pub use etc::ETC;
#[cfg(unix)]
pub use remove::remove_folder;
pub use seam::{CellError, Happened, Helper};
pub use wire::{
    Access, CellSpec, CommandSpec, Cover, Ended, Exposed, Fault, Granted, HomeLink, Limits, Names, Network,
    Outcome, RawPath, Status, Tier,
};

/// Where the host's proxy listens in a cell's own network.
pub const PROXY_PORT: u16 = 3128;
