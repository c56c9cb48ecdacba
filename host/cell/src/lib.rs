//! The sandbox that commands run in, from the host's side.
//!
//! The host carries a helper, the program of `scorpiox-helper`, and [`Cell`] starts it from memory. The helper has
//! one thread and little memory, so that a copy of it is made quickly, and builds the sandbox once: a *warm cell*.
//! For each command it is sent the descriptors of the output, and makes a supervisor with a shell below it.
//! [`Running`] is the host's end of such a command.
//!
//! Programs of this project that work on strangers' bytes are started here, too: see [`worker`].
//!
//! Invariants: the host never forks. It starts programs in this crate alone. A command that cannot be confined as
//! asked does not run: whatever fails on the way is an error.
//!
//! What the host and the helper say to each other is in [`wire`], and `packet` carries it. The helper knows how a
//! cell is built and a command confined; `scorpiox-worker` knows how a worker gives up its rights.
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
mod memory;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(unix)]
mod remove;
#[cfg(target_os = "linux")]
mod running;
mod seam;
pub mod wire;
pub mod worker;

#[cfg(target_os = "linux")]
pub use self::{cell::Cell, running::Running};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Cell, Running};
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
