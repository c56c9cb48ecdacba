//! Running commands that can change something, and the names they created that have not been reported.

mod active;
mod unreported;

pub use active::{ActiveCommand, ActiveCommands, ActiveList, Command, Entry};
pub use unreported::{Brought, Untold};
