//! Files of a person's skill that are links, as programs make them that keep a person's files in one place.

use std::path::{Path, PathBuf};

use scorpiox_paths::{Folder, Writable, resolve};

use super::skill_file;

/// Returns the path without links of the file or folder that `inside` leads to, in the skill at `place`.
///
/// Whoever wrote a skill may have put a link there to any file of the person's. So a link is followed only to the same
/// file of another folder of the same name that has a SKILL.md, and never to where commands can write.
pub fn linked(place: &Path, inside: &Path, writable: &Writable) -> Option<PathBuf> {
    let end = resolve(&place.join(inside), writable).ok()?;
    let from = end.ancestors().nth(inside.components().count())?;
    let is_same =
        end.strip_prefix(from).is_ok_and(|same| same == inside) && from.file_name() == place.file_name();
    let is_skill = || Folder::open(from).is_ok_and(|folder| skill_file(&folder).is_some());
    (is_same && !writable.covers(&end) && is_skill()).then_some(end)
}
