//! Finds tracked files of a work tree.

use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

use crate::index;
use crate::outside::link;
use crate::read;

/// Maximum number of files in an answer.
const MAX_FILES: usize = 4;

/// Returns the first tracked files of a work tree that `is_wanted`, as paths relative to the tree. Empty if its index
/// cannot be read, or lies where `may_read` returns `false`: a command may have written the file that leads there.
pub fn tracked_files(
    tree: &Path,
    may_read: impl FnOnce(&Path) -> bool,
    mut is_wanted: impl FnMut(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Some(index) = index_of(tree).filter(|index| may_read(index)) else { return found };
    index::tracked(&index, |path| {
        if is_wanted(path) {
            found.push(path.to_owned());
        }
        found.len() < MAX_FILES
    });
    found
}

/// Returns the path of a work tree's index.
fn index_of(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if git.symlink_metadata().ok()?.is_dir() {
        return Some(git.join("index"));
    }
    let text = link(&git)?;
    let own = normalized(&tree.join(read::path(text.strip_prefix(b"gitdir: ")?)?));
    Some(own.join("index"))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "nothing but git tells how git writes")]
    fn git(folder: &Path, words: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let _alone = crate::STARTS.write().unwrap();
        assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
    }

    #[test]
    fn files_are_those_of_the_index_wherever_it_is() {
        let bed = Bed::with(&["plain", "apart"]);
        git(&bed.at("plain"), &["init", "-q"]);
        git(&bed.at("apart"), &["init", "-q", "--separate-git-dir", "../store"]);
        for tree in ["plain", "apart"] {
            for name in [".env.test", "a", "sub/.env"] {
                bed.put(format!("{tree}/{name}"), name);
            }
            git(&bed.at(tree), &["add", "-A"]);
            bed.put(format!("{tree}/.env"), "not tracked");
            let wanted = |path: &Path| path.to_string_lossy().contains(".env");
            let found = tracked_files(&bed.at(tree), |_| true, wanted);
            assert_eq!(found, [".env.test", "sub/.env"].map(PathBuf::from), "{tree}");
            assert!(tracked_files(&bed.at(tree), |_| false, wanted).is_empty());
        }
        assert!(tracked_files(&bed.at("store"), |_| true, |_| true).is_empty());
    }
}
