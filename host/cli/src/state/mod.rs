//! Location of workspace data: a local file or a database, as `[store]` in the operator's policy says.
//!
//! Invariants:
//! - Only the policy decides the location. If the policy cannot be used, nothing is read or written.
//! - The policy is consulted at first use, so that creating a store is free of cost.
//! - All workspaces of a process share the connections to a database.

mod chosen;
mod databases;
mod kept;

pub use chosen::ChosenStore;
pub use databases::{Databases, PasswordFrom};
pub use kept::{Found, Kept};
