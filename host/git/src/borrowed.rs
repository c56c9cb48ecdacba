//! Finds the stores that a repository takes objects from (`objects/info/alternates`).

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

use crate::objects::{Id, holds};
use crate::read;
use crate::signs::is_of_git;

/// Maximum size of a file that names stores, in bytes.
const MAX_LINK_BYTES: u64 = 4096;
/// Maximum number of stores that a file names.
const MAX_STORES: usize = 8;
/// Maximum size of a file of references, in bytes.
const MAX_REFS_BYTES: u64 = 1 << 20;
/// Maximum number of references to compare.
const MAX_REFS: usize = 200;

/// Returns the stores outside of a work tree from which its repository takes objects: resolved paths of folders
/// `objects`.
pub fn lenders(tree: &Path) -> Vec<PathBuf> {
    let objects = tree.join(".git/objects");
    // Fast path, because this runs on every call.
    if objects.join("info/alternates").symlink_metadata().is_err() {
        return Vec::new();
    }
    let Ok(tree) = dunce::canonicalize(tree) else { return Vec::new() };
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let objects = tree.join(".git/objects");
    if ![tree.join(".git"), objects.clone(), objects.join("info")].iter().all(|path| is_folder(path)) {
        return Vec::new();
    }
    stores_behind(&objects).into_iter().filter(|store| !store.starts_with(&tree)).collect()
}

/// Returns `true` if the repository of a work tree refers to an object in one of the stores. Only a repository
/// with the same history knows the name of an object, so a file that was delivered with a tree opens no store.
pub fn is_proven<'a>(tree: &Path, stores: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    let references = references(&tree.join(".git"));
    stores.into_iter().any(|store| references.iter().any(|id| holds(store, id)))
}

/// Returns the existing stores from which a store takes objects.
pub fn stores_behind(objects: &Path) -> Vec<PathBuf> {
    let file = objects.join("info/alternates");
    let Some(text) = read::text(&file, MAX_LINK_BYTES).filter(|text| !text.is_cut) else { return Vec::new() };
    let lines = text.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    let stores = lines.filter_map(|line| {
        let store = dunce::canonicalize(normalized(&objects.join(read::path(line)?))).ok()?;
        let is_store = store.ends_with("objects") && store.parent().is_some_and(is_of_git);
        is_store.then_some(store)
    });
    stores.take(MAX_STORES).collect()
}

/// Returns objects that the references of a repository name.
fn references(git: &Path) -> Vec<Id> {
    let mut ids = Vec::new();
    if let Some(text) = read::text(&git.join("packed-refs"), MAX_REFS_BYTES) {
        ids.extend(text.bytes.split(|byte| *byte == b'\n').take(MAX_REFS).filter_map(Id::parse));
    }
    let mut folders = vec![git.join("refs")];
    while let Some(folder) = folders.pop().filter(|_| ids.len() < 2 * MAX_REFS) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_REFS) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    ids.extend(read::text(&entry.path(), 128).and_then(|text| Id::parse(&text.bytes)));
                }
                _ => {}
            }
        }
    }
    ids
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "nothing but git tells how git writes")]
    fn git(bed: &Bed, folder: &str, words: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.current_dir(bed.at(folder)).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.args(["-c", "user.name=n", "-c", "user.email=n@example.com"]);
        let _alone = crate::STARTS.write().unwrap();
        let output = git.args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn a_store_lends_to_a_repository_that_names_one_of_its_objects() {
        let bed = Bed::with(&["main", "other"]);
        for folder in ["main", "other"] {
            git(&bed, folder, &["init", "-q"]);
            bed.put(format!("{folder}/a"), folder);
            git(&bed, folder, &["add", "a"]);
            git(&bed, folder, &["commit", "-qm", folder]);
        }
        git(&bed, "", &["clone", "-q", "--shared", "main", "clone"]);
        git(&bed, "", &["clone", "-q", "--shared", "clone", "second"]);
        let store = bed.at("main/.git/objects");
        let found = lenders(&bed.at("clone"));
        assert_eq!(found, std::slice::from_ref(&store));
        assert!(is_proven(&bed.at("clone"), &found));
        let second = lenders(&bed.at("second"));
        assert_eq!(second, [bed.at("clone/.git/objects")]);
        assert_eq!(stores_behind(&second[0]), std::slice::from_ref(&store));
        assert!(!is_proven(&bed.at("second"), &second) && is_proven(&bed.at("second"), [&store]));
        // In packs, too.
        git(&bed, "main", &["gc", "-q"]);
        assert!(is_proven(&bed.at("clone"), &found));
        // A repository of another history.
        bed.put(
            "clone/.git/objects/info/alternates",
            &format!("{}\n", bed.at("other/.git/objects").display()),
        );
        let other = lenders(&bed.at("clone"));
        assert!(!other.is_empty() && !is_proven(&bed.at("clone"), &other));
        bed.put(
            "clone/.git/objects/info/alternates",
            &format!("{}\n/\n../objects\n", bed.at("other").display()),
        );
        assert_eq!(lenders(&bed.at("clone")), [""; 0].map(PathBuf::from));
    }
}
