//! The skill folders' files, to read.
//!
//! The host finds folders and moves bytes; what is in a SKILL.md is for the component.

mod folders;
mod host;
mod reading;

pub use folders::{Invoked, Required, Scope, SkillFolders, SkillView, Source};
pub use reading::{Opened, Reading, SkillFile, SkillReadError};
