//! Commands that run and can change something, and what they brought of which nobody was told.

mod active;
mod untold;

pub use active::{ActiveCommand, ActiveCommands, ActiveList, Command, Entry};
pub use untold::{Brought, Untold};
