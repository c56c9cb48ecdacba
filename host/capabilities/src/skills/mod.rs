//! The skill folders' files, to read.
//!
//! The host finds folders and moves bytes; what is in a SKILL.md is for the component.

mod host;
mod reading;
mod view;

pub use host::SkillsCtx;
pub use reading::{Opened, Reading, SkillFile, SkillReadError};
pub use view::{Invoked, SkillView};
