//! Finds files that look like skills but are in locations that are not searched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Folder, Kind};

use super::repository::PASSED_OVER;
use super::{SKILL_FILE, SKILL_FILE_IN_LOWER_CASE, Source};

/// Maximum depth of the search and maximum number of names in total. The search only helps the user to find a
/// misplaced skill.
const MAX_DEPTH: usize = 6;
const MAX_NAMES: usize = 20_000;
/// Maximum number of reported files.
const MAX_FOUND: usize = 20;

/// Returns the files below a folder that are named like a SKILL.md but belong to none of these skills.
pub(super) fn beyond(root: &Path, found: &[Source]) -> Vec<PathBuf> {
    let mut walk = Walk { known: found, names_left: MAX_NAMES, found: Vec::new() };
    if let Ok(folder) = Folder::open(root) {
        walk.enter(&folder, root, MAX_DEPTH);
    }
    walk.found.sort();
    walk.found
}

struct Walk<'a> {
    known: &'a [Source],
    names_left: usize,
    found: Vec<PathBuf>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Folder, path: &Path, depth: usize) {
        // Files inside a skill belong to it.
        if self.known.iter().any(|source| source.path == path) {
            return;
        }
        for name in folder.names().into_iter().flatten().flatten() {
            if self.names_left == 0 || self.found.len() == MAX_FOUND {
                return;
            }
            self.names_left -= 1;
            self.look(folder, path, &name, depth);
        }
    }

    fn look(&mut self, folder: &Folder, path: &Path, name: &OsStr, depth: usize) {
        let inside = path.join(name);
        match folder.kind(Path::new(name)) {
            Ok(Kind::File(_) | Kind::Link) if name.eq_ignore_ascii_case(SKILL_FILE) => {
                self.found.push(inside);
            }
            Ok(Kind::Folder)
                if depth > 0 && name != ".git" && !PASSED_OVER.iter().any(|other| name == *other) =>
            {
                if let Ok(folder) = folder.folder(Path::new(name)) {
                    self.enter(&folder, &inside, depth - 1);
                }
            }
            _ => {}
        }
    }
}

/// Returns why a file named like a SKILL.md is not a skill.
pub(super) fn why(file: &Path) -> &'static str {
    if file.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return "it is a link; one is followed from a folder of yours to a file that is named SKILL.md, too, and lies where \
                commands cannot write";
    }
    let is_named = |known: &str| file.file_name().is_some_and(|name| name == known);
    if is_named(SKILL_FILE) || is_named(SKILL_FILE_IN_LOWER_CASE) {
        "move it to skills/NAME/ or plugins/PLUGIN/skills/NAME/ of its repository, or list its plugin in \
         .claude-plugin/marketplace.json"
    } else {
        "the file of a skill is named SKILL.md"
    }
}
