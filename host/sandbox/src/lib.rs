//! Host side of the sandbox for commands.
//!
//! The host contains a helper, the program of `scorpiox-helper`, which [`Cell`] starts from memory. The
//! helper has one thread and little memory, so it forks quickly, and it builds the sandbox once: a *warm
//! cell*. For each command it receives the descriptors of the output, and forks a supervisor with a shell
//! below it. [`Running`] is the host's end of such a command.
//!
//! This crate also starts the project's own programs that process untrusted data (see [`worker`]), and the
//! program that a policy names to print a password (see [`program`]), and an author's own build (see
//! [`build`]).
//!
//! Invariants: the host never forks. No other crate starts programs. A command that cannot be confined as
//! requested does not run: every failure on the way is an error.
//!
//! The messages between the host and the helper are in [`wire`]; `packet` transports them. The helper knows
//! how to build a cell and confine a command; [`confine`] knows how a worker drops its privileges.
//!
//! [`Cell`] and [`Running`] are the common interface of all systems. Linux has the cell described above. On
//! macOS, `macos` runs commands under profiles that `seatbelt` writes. On Windows, `windows` runs commands
//! that the operator allows without a sandbox. `elsewhere` stands in on other systems: no cell can be built
//! there.

pub mod build;
#[cfg(target_os = "linux")]
mod cell;
pub mod confine;
#[cfg(target_os = "linux")]
mod dialer;
#[cfg(not(target_os = "linux"))]
#[path = "undialed.rs"]
mod dialer;
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
mod elsewhere;
mod etc;
#[cfg(any(windows, target_os = "macos"))]
mod followed;
mod listeners;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mounted;
#[cfg(target_os = "linux")]
mod moves;
#[cfg(not(target_os = "linux"))]
#[path = "unmoved.rs"]
mod moves;
#[cfg(target_os = "linux")]
pub mod packet;
pub mod program;
#[cfg(target_os = "linux")]
mod running;
mod seam;
#[cfg(any(target_os = "macos", all(unix, test)))] // uses path syntax of macOS
mod seatbelt;
pub mod trees;
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
pub use dialer::Dialer;
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
pub use elsewhere::{Cell, Running};
pub use etc::ETC;
pub use listeners::Listeners;
#[cfg(unix)]
pub use listeners::ServiceListener;
pub use moves::Moves;
pub use scorpiox_sys::{remove_folder, remove_folder_until};
pub use seam::{Bell, CellError, Happened, Helper};
pub use wire::{
    Access, CellSpec, CommandSpec, Cover, Ended, Exposed, Fault, Granted, Grounds, HomeFile, HomeLink,
    Limits, Local, Names, Network, Outcome, Prevented, RawPath, Repository, Status, Tier, Trap, TrapKind,
    Why,
};

/// Port of the host's proxy in a cell's own network.
pub const PROXY_PORT: u16 = 3128;
