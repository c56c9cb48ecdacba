//! Where what a workspace keeps is: in a file of this machine, or in a database, as `[store]` of the operator's policy
//! says.
//!
//! Invariants: nothing but the policy decides it, and where the policy cannot be used nothing is read or written; it is
//! asked at the first use, so that a start costs nothing; all workspaces of a process share the connections to one
//! database.

mod chosen;
mod databases;
mod kept;

pub use chosen::ChosenStore;
pub use databases::{Databases, PasswordFrom};
pub use kept::{Found, Kept};
