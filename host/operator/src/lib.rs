//! The operator's policy, as it holds for the workspace that a server works on.
//!
//! Reading order: [`Site`] is what there is to decide about, [`Operator`] reads the policy for it and answers
//! for as long as the server runs; [`WorkspaceFolder`] finds the folder that is worked on, [`SkillFolders`] those
//! that skills are looked up in, `worked_on` remembers where commands could write before.
//!
//! Invariants: the policy is read whole, once, when it is first asked for; one that cannot be used allows
//! nothing; one that changed since holds no more, and nothing takes its place.
//!
//! What a rule means is the business of `scorpiox-policy`; how commands are held to it, of the crates above.

mod error;
mod exports;
mod folder;
mod operator;
mod places;
mod secret;
mod site;
mod skills;
pub mod worked_on;

pub use error::OperatorError;
pub use folder::{NoFolder, Sources, WorkspaceFolder, is_own};
pub use operator::Operator;
pub use places::existing;
pub use secret::{MAX_PASSWORD_BYTES, one_password, read_secret, written_path};
pub use site::Site;
pub use skills::{LeftOut, Required, SKILL_FILE, Scope, SkillFolders, Source, linked};
