//! Skills as files: [`SkillFiles`] reads a skill's folder or pack into memory, [`Staging`] writes it next to
//! the user's skills and moves it into place, [`SkillOrigin`] records its source for updates, and
//! [`difference`] compares two versions. [`pack`] serves authors.
//!
//! Invariants:
//! - A skill is read once, within limits, without following a link. The same files are shown and installed.
//! - Nothing is unpacked before its names are checked. A name that leads out of the folder, and a link, are
//!   errors of the pack.
//! - This module neither asks the user nor interprets a SKILL.md.

mod difference;
mod files;
mod origin;
mod pack;
mod staging;

pub use difference::difference;
pub use files::{Left, MAX_FILES, MAX_SKILL_BYTES, SkillFiles, is_folder_name};
pub use origin::SkillOrigin;
pub use pack::{pack, read_pack};
pub use staging::Staging;
