//! Finds the stores that a repository takes objects from (`objects/info/alternates`).

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

use crate::read;
use crate::signs::is_of_git;

/// Maximum size of a file that names stores, in bytes.
const MAX_LINK_BYTES: u64 = 4096;
/// Maximum number of stores that a file names.
const MAX_STORES: usize = 8;
/// Maximum size of a file of references, in bytes.
const MAX_REFS_BYTES: u64 = 1 << 20;
/// Maximum number of files and folders of references.
const MAX_REFS: usize = 1000;
/// Name below which a repository has its branches.
const BRANCHES: &str = "refs/heads";

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

/// Returns `true` if the repository of a work tree has a reference to the tip of each branch in the repository of
/// a store, as a clone has. Whoever delivers a tree with a file that names the store does not know the tips of
/// private branches.
pub fn knows_branches(tree: &Path, store: &Path) -> bool {
    let Some(lender) = store.parent() else { return false };
    let Some(tips) = references(lender, BRANCHES).filter(|tips| !tips.is_empty()) else { return false };
    let Some(known) = references(&tree.join(".git"), "refs") else { return false };
    let known: HashSet<_> = known.values().collect();
    tips.values().all(|tip| known.contains(tip))
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

/// Returns the references of a repository below a name, each with the object that it names; `None` if they cannot
/// be read, are too many, or are links: these could lead to the references of another repository.
fn references(git: &Path, below: &str) -> Option<BTreeMap<String, String>> {
    let mut references = BTreeMap::new();
    let packed = git.join("packed-refs");
    let folders = below.match_indices('/').map(|(end, _)| &below[..end]).chain([below]);
    if read::is_link(&packed) || folders.into_iter().any(|folder| read::is_link(&git.join(folder))) {
        return None;
    }
    if packed.symlink_metadata().is_ok() {
        let text = read::text(&packed, MAX_REFS_BYTES).filter(|text| !text.is_cut)?;
        for line in String::from_utf8(text.bytes).ok()?.lines() {
            let Some((id, name)) = line.split_once(' ').filter(|(id, _)| is_id(id)) else { continue };
            if name.strip_prefix(below).is_some_and(|rest| rest.starts_with('/')) {
                references.insert(name.to_owned(), id.to_owned());
            }
        }
    }
    let (mut folders, mut left) = (vec![below.to_owned()], MAX_REFS);
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(git.join(&folder)) {
            Ok(entries) => entries,
            Err(error) if read::is_absent(&error) => continue,
            Err(_) => return None,
        };
        for entry in entries {
            let entry = entry.ok()?;
            left = usize::checked_sub(left, 1)?;
            let name = format!("{folder}/{}", entry.file_name().to_str()?);
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                folders.push(name);
                continue;
            }
            if !kind.is_file() {
                return None;
            }
            let text = read::text(&entry.path(), MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
            let text = String::from_utf8(text.bytes).ok()?;
            // A symbolic reference names another one, which is listed as well.
            if is_id(text.trim_end()) {
                references.insert(name, text.trim_end().to_owned());
            }
        }
    }
    Some(references)
}

/// Returns `true` for the name of an object.
fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
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
    fn a_store_lends_to_a_repository_that_knows_its_branches() {
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
        assert!(knows_branches(&bed.at("clone"), &store));
        let second = lenders(&bed.at("second"));
        assert_eq!(second, [bed.at("clone/.git/objects")]);
        assert_eq!(stores_behind(&second[0]), std::slice::from_ref(&store));
        assert!(knows_branches(&bed.at("second"), &second[0]) && knows_branches(&bed.at("second"), &store));
        // Packed, too.
        git(&bed, "main", &["gc", "-q"]);
        git(&bed, "clone", &["pack-refs", "--all"]);
        assert!(knows_branches(&bed.at("clone"), &store));
        // A branch that a clone does not know.
        git(&bed, "main", &["branch", "topic"]);
        assert!(knows_branches(&bed.at("clone"), &store), "the same commit");
        bed.put("main/a", "private");
        git(&bed, "main", &["commit", "-qam", "private"]);
        assert!(!knows_branches(&bed.at("clone"), &store));
        // The repository of another history, and folders that are no repositories with branches.
        assert!(!knows_branches(&bed.at("clone"), &bed.at("other/.git/objects")));
        std::fs::create_dir_all(bed.at("empty/.git/objects")).unwrap();
        assert!(!knows_branches(&bed.at("clone"), &bed.at("empty/.git/objects")));
        for (name, is_found) in [("other/.git/objects", true), ("other", false), ("/", false)] {
            let named = bed.at(name);
            bed.put("clone/.git/objects/info/alternates", &format!("{}\n", named.display()));
            assert_eq!(!lenders(&bed.at("clone")).is_empty(), is_found, "{name}");
        }
    }

    /// Commands of the lender's workspace may write anything there.
    #[test]
    fn references_that_cannot_be_read_are_not_known() {
        let bed = Bed::with(&["main"]);
        git(&bed, "main", &["init", "-q"]);
        bed.put("main/a", "a");
        git(&bed, "main", &["add", "a"]);
        git(&bed, "main", &["commit", "-qm", "a"]);
        git(&bed, "", &["clone", "-q", "--shared", "main", "clone"]);
        let store = bed.at("main/.git/objects");
        let pipe = bed.at("main/.git/refs/heads/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(!knows_branches(&bed.at("clone"), &store));
        std::fs::remove_file(pipe).unwrap();
        assert!(knows_branches(&bed.at("clone"), &store));
        // A delivered tree leads to the references of the lender itself.
        for (name, target) in [
            ("packed-refs", "../../main/.git/packed-refs"),
            ("refs/heads/x", "../../../../main/.git/refs/heads/main"),
            ("refs/remotes/x", "../../../../main/.git/refs/heads"),
        ] {
            let link = bed.at("clone/.git").join(name);
            let before = std::fs::read(&link);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(!knows_branches(&bed.at("clone"), &store), "{name}");
            std::fs::remove_file(&link).unwrap();
            if let Ok(before) = before {
                std::fs::write(&link, before).unwrap();
            }
            assert!(knows_branches(&bed.at("clone"), &store), "{name}");
        }
        std::fs::rename(bed.at("clone/.git/refs"), bed.at("refs")).unwrap();
        std::os::unix::fs::symlink("../../refs", bed.at("clone/.git/refs")).unwrap();
        assert!(!knows_branches(&bed.at("clone"), &store));
        std::fs::remove_file(bed.at("clone/.git/refs")).unwrap();
        std::fs::rename(bed.at("refs"), bed.at("clone/.git/refs")).unwrap();
        for number in 0..MAX_REFS {
            bed.put(format!("main/.git/refs/heads/many/{number}"), "");
        }
        assert!(!knows_branches(&bed.at("clone"), &store));
    }
}
