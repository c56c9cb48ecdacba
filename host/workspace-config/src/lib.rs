//! The operator's policy, applied to the workspace of a server.
//!
//! Reading order: [`Site`] describes the workspace and its surroundings. [`Operator`] loads the policy for it
//! and answers queries while the server runs. [`WorkspaceFolder`] finds the workspace, and [`SkillFolders`]
//! finds skills. [`settings`] reads the environment variables. `worked_on` remembers the folders that commands could write in earlier sessions.
//!
//! Invariants:
//! - An [`Operator`] loads the policy completely and once, on first use. A changed policy is another operator.
//! - A policy that cannot be used allows nothing.
//!
//! `scorpiox-policy` defines the meaning of rules; the crates above this one enforce them on commands.

mod error;
mod exports;
mod folder;
mod operator;
mod places;
mod secret;
pub mod settings;
mod site;
mod skills;
mod surroundings;
pub mod worked_on;

pub use error::{OperatorError, Outdated, START_AGAIN};
pub use folder::{NoFolder, NotApart, Sources, WorkspaceFolder, is_own};
pub use operator::Operator;
pub use places::{LinkedWorkspace, existing};
pub use secret::{MAX_PASSWORD_BYTES, one_password, read_secret, written_path};
pub use site::{Apart, Site};
pub use skills::{
    LeftOut, Required, SKILL_FILE, Scope, SkillFolders, SkillsUnread, Source, linked, marketplace_faults,
};
