//! Read access to the files of skill folders.
//!
//! The host finds folders and transfers bytes; the component interprets SKILL.md.

mod host;
mod reading;
mod view;

pub use host::SkillsCtx;
pub use reading::{Opened, Reading, SkillFile, SkillReadError};
pub use view::{Invoked, SkillView};
