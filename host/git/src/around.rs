//! Finds the repository around a folder of its work tree.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::index::tracked;
use crate::outside::{Around, outside};
use crate::signs::is_of_git;

/// Returns the work tree that a folder belongs to, if commands that see the folder and what `sees` returns `true` for
/// see all of its tracked files. Otherwise git would take the others for deleted.
///
/// Unless the whole tree is seen, the folder itself must contain tracked files: other folders inside of a work
/// tree, such as a checkout that the repository ignores, do not belong to it. A tree with a repository outside of it has
/// to be seen whole, since its file `.git` leads there. `home` and folders around it are never taken for a work tree.
pub fn around(folder: &Path, home: Option<&Path>, sees: impl Fn(&Path) -> bool) -> Option<Around> {
    // Fast path, because this runs on every call.
    if folder.join(".git").symlink_metadata().is_ok() {
        return None;
    }
    let folder = dunce::canonicalize(folder).ok()?;
    let tree = folder.ancestors().skip(1).find(|tree| tree.join(".git").symlink_metadata().is_ok())?;
    if tree.parent().is_none() || home.is_some_and(|home| home.starts_with(tree)) {
        return None;
    }
    let git = tree.join(".git");
    let (is_file, is_whole) = (git.symlink_metadata().ok()?.is_file(), sees(tree));
    let repository = match (is_file, is_whole) {
        (true, true) => outside(tree)?,
        (true, false) => return None,
        (false, _) => git,
    };
    let is_folder = repository.symlink_metadata().ok()?.is_dir();
    if !is_folder || !is_mine(&repository) || !is_of_git(&repository) {
        return None;
    }
    let found = Around { tree: tree.to_owned(), repository };
    if is_whole {
        return Some(found);
    }
    let mut has_tracked = false;
    let are_all_seen = tracked(&found.repository.join("index"), |path| {
        let path = tree.join(path);
        let is_inside = path.starts_with(&folder);
        has_tracked |= is_inside;
        is_inside || sees(&path)
    });
    (are_all_seen && has_tracked).then_some(found)
}

/// Returns `true` if this user owns a folder: git does not use a repository of somebody else.
fn is_mine(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw())
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
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        let _alone = crate::STARTS.write().unwrap();
        assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
    }

    #[test]
    fn a_folder_has_the_repository_around_it_if_the_rest_of_its_tree_is_seen() {
        let bed = Bed::with(&["main/pkg/x", "main/ignored"]);
        let git = |words: &[&str]| git(&bed.at("main"), words);
        let repository = |found: Option<Around>| found.map(|found| found.repository);
        let of = |folder: &str| repository(around(&bed.at(folder), None, |_| false));
        git(&["init", "-q"]);
        bed.put("main/pkg/x/a", "a");
        assert_eq!(of("main/pkg/x"), None, "nothing is tracked");
        git(&["add", "-A"]);
        let main = bed.at("main/.git");
        assert_eq!(of("main/pkg/x"), Some(main.clone()));
        assert_eq!((of("main"), of("main/ignored"), of("")), (None, None, None));
        assert_eq!(around(&bed.at("main/pkg/x"), Some(&bed.at("main/pkg")), |_| true), None, "a home");
        bed.put("main/pkg/xy", "a file with the folder's name at its beginning");
        git(&["add", "-A"]);
        assert_eq!(of("main/pkg/x"), None, "it would be taken for deleted");
        assert_eq!(
            repository(around(&bed.at("main/pkg/x"), None, |path| path == bed.at("main/pkg/xy"))),
            Some(main.clone())
        );
        for version in ["3", "4"] {
            git(&["update-index", "--index-version", version]);
            assert_eq!(of("main/pkg/x"), None);
            let all = around(&bed.at("main/pkg/x"), None, |_| true);
            let whole = Around { tree: bed.at("main"), repository: main.clone() };
            assert_eq!(all, Some(whole), "the whole tree is seen");
            let files = around(&bed.at("main/pkg/x"), None, Path::is_file);
            assert!(files.is_some(), "version {version}");
        }
        git(&["update-index", "--index-version", "2"]);
        git(&["update-index", "--split-index"]);
        assert_eq!(around(&bed.at("main/pkg/x"), None, Path::is_file), None, "the rest is in another file");
        std::fs::write(bed.at("main/.git/index"), b"DIRC\0\0\0\x02\0\0\0\x01").unwrap();
        assert_eq!(around(&bed.at("main/pkg/x"), None, Path::is_file), None, "it is damaged");
    }

    #[test]
    fn longer_object_names_are_read() {
        let bed = Bed::with(&["main/pkg/x"]);
        let git = |words: &[&str]| git(&bed.at("main"), words);
        git(&["init", "-q", "--object-format=sha256"]);
        for name in ["pkg/x/a", "pkg/x/a long name, so that entries have several sizes", "pkg/xy"] {
            bed.put(format!("main/{name}"), name);
        }
        git(&["add", "-A"]);
        assert_eq!(around(&bed.at("main/pkg/x"), None, |_| false), None, "another file is tracked");
        assert!(around(&bed.at("main/pkg/x"), None, Path::is_file).is_some());
    }

    #[test]
    fn a_folder_of_a_tree_with_its_repository_elsewhere_needs_the_whole_tree() {
        let bed = Bed::with(&["main/x", "linked"]);
        let git = |folder: &str, words: &[&str]| git(&bed.at(folder), words);
        git("main", &["init", "-q"]);
        bed.put("main/x/a", "a");
        git("main", &["add", "-A"]);
        git("main", &["commit", "-qm", "one"]);
        git("main", &["worktree", "add", "-q", "../linked/tree"]);
        let folder = bed.at("linked/tree/x");
        let whole = Around { tree: bed.at("linked/tree"), repository: bed.at("main/.git") };
        assert_eq!(around(&folder, None, |_| true), Some(whole));
        assert_eq!(around(&folder, None, Path::is_file), None, "its `.git` cannot be read");
        // The file leads to a repository that does not know the tree.
        std::fs::remove_file(bed.at("main/.git/worktrees/tree/gitdir")).unwrap();
        assert_eq!(around(&folder, None, |_| true), None);
    }
}
