//! The skill folders' files, to read.
//!
//! The host finds folders and moves bytes; what is in a SKILL.md is for the component.

mod folders;
mod host;

pub use folders::{Invoked, Scope, SkillFile, SkillFolders, SkillReadError, SkillView, Source};
