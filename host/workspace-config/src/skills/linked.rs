//! Symbolic links in the user's skills, as created by programs that manage a user's files in one location.

use std::path::{Path, PathBuf};

use scorpiox_fs::{Folder, Writable, resolve};

use super::skill_file;

/// Returns the resolved path of the file or folder `inside` the skill at `place`.
///
/// The author of a skill could link to any of the user's files. A link is therefore followed only to the same
/// file of another folder that has the same name and a SKILL.md. It is never followed to a location that
/// commands can write.
pub fn linked(place: &Path, inside: &Path, writable: &Writable) -> Option<PathBuf> {
    let end = resolve(&place.join(inside), writable).ok()?;
    let from = end.ancestors().nth(inside.components().count())?;
    let is_same =
        end.strip_prefix(from).is_ok_and(|same| same == inside) && from.file_name() == place.file_name();
    let is_skill = || Folder::open(from).is_ok_and(|folder| skill_file(&folder).is_some());
    (is_same && !writable.covers(&end) && is_skill()).then_some(end)
}
