//! Other names of files that have a rule: a file with two names (`ln a b`) is protected under both.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Area, Special, Why};

/// Most files in protected folders that are asked how many names they have.
const MAX_FILES: usize = 2_000;
/// Most folders that are searched for other names.
const MAX_FOLDERS: usize = 200_000;

type Identity = (u64, u64);

/// A file with more names than one, and its rule.
struct Shared {
    why: Why,
    is_hidden: bool,
}

/// Gives all names of a file the rule of one.
pub(super) fn add_other_names(areas: &[Area], special: &mut Special) {
    let mut shared = HashMap::new();
    let mut left = MAX_FILES;
    for (path, why) in special.hidden() {
        if matches!(why, Why::Denied) {
            collect(path, *why, true, &mut left, &mut shared);
        }
    }
    for (path, why) in special.frozen() {
        collect(path, *why, false, &mut left, &mut shared);
    }
    if shared.is_empty() {
        return;
    }
    for (path, identity) in names_of(&shared, areas) {
        match shared.get(&identity) {
            Some(Shared { why, is_hidden: true }) => special.hide(&path, *why),
            Some(Shared { why, is_hidden: false }) => special.freeze(&path, *why),
            None => {}
        }
    }
}

/// The files at and below a path that have other names.
fn collect(path: &Path, why: Why, is_hidden: bool, left: &mut usize, shared: &mut HashMap<Identity, Shared>) {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()).take(MAX_FILES));
        } else if found.is_file() && found.nlink() > 1 {
            shared.entry((found.dev(), found.ino())).or_insert(Shared { why, is_hidden });
        }
    }
}

/// Where in the areas those files are.
fn names_of(shared: &HashMap<Identity, Shared>, areas: &[Area]) -> Vec<(PathBuf, Identity)> {
    let numbers: HashSet<u64> = shared.keys().map(|(_, inode)| *inode).collect();
    let mut names = Vec::new();
    let mut open: Vec<PathBuf> = areas.iter().map(|area| area.path.clone()).collect();
    let mut left = MAX_FOLDERS;
    while let Some(folder) = open.pop() {
        if left == 0 {
            tracing::warn!("not all folders were searched for other names of protected files");
            break;
        }
        left -= 1;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() && numbers.contains(&entry.ino()) {
                let path = entry.path();
                let identity = path.symlink_metadata().map(|found| (found.dev(), found.ino()));
                names.extend(
                    identity.ok().filter(|found| shared.contains_key(found)).map(|found| (path, found)),
                );
            }
        }
    }
    names
}
