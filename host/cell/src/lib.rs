//! The sandbox that commands run in, from the host's side.
//!
//! The host carries a helper, the program of `scorpiox-helper`, and [`Cell`] starts it from memory. The helper has
//! one thread and little memory, so that a copy of it is made quickly, and builds the sandbox once: a *warm cell*.
//! For each command it is sent the descriptors of the output, and makes a supervisor with a shell below it.
//! [`Running`] is the host's end of such a command.
//!
//! Programs of this project that work on strangers' bytes are started here, too: see [`worker`]. So is the one that a
//! policy names to print a password: see [`program`].
//!
//! Invariants: the host never forks. It starts programs in this crate alone. A command that cannot be confined as
//! asked does not run: whatever fails on the way is an error.
//!
//! What the host and the helper say to each other is in [`wire`], and `packet` carries it. The helper knows how a
//! cell is built and a command confined; `scorpiox-worker` knows how a worker gives up its rights.
//!
//! [`Cell`] and [`Running`] are the seam between the systems. Linux has the cell that is described above. On macOS `macos`
//! runs commands under profiles that `seatbelt` writes. On Windows `windows` runs those that the operator allows without a
//! sandbox. `elsewhere` stands in for what nobody has written yet: no cell can be built there.

#[cfg(target_os = "linux")]
mod cell;
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
mod elsewhere;
mod etc;
#[cfg(any(windows, target_os = "macos"))]
mod followed;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod moves;
#[cfg(not(target_os = "linux"))]
#[path = "unmoved.rs"]
mod moves;
#[cfg(target_os = "linux")]
pub mod packet;
pub mod program;
mod remove;
#[cfg(target_os = "linux")]
mod running;
mod seam;
#[cfg(any(target_os = "macos", all(unix, test)))] // paths as macOS has them
mod seatbelt;
#[cfg(windows)]
mod windows;
pub mod wire;
pub mod worker;

#[cfg(target_os = "macos")]
pub use self::macos::{Cell, Running};
#[cfg(windows)]
pub use self::windows::{Cell, Running};
#[cfg(target_os = "linux")]
pub use self::{cell::Cell, running::Running};
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
pub use elsewhere::{Cell, Running};
pub use etc::ETC;
pub use moves::Moves;
pub use remove::remove_folder;
pub use seam::{Bell, CellError, Happened, Helper};
pub use wire::{
    Access, CellSpec, CommandSpec, Cover, Ended, Exposed, Fault, Granted, HomeFile, HomeLink, Limits, Names,
    Network, Outcome, RawPath, Repository, Status, Tier,
};

/// Where the host's proxy listens in a cell's own network.
pub const PROXY_PORT: u16 = 3128;
