//! Finds the repository of a work tree outside of it.

use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

#[cfg(unix)]
use crate::index::knows;
use crate::parse::parse;
use crate::read;
use crate::signs::is_of_git;

/// Maximum size of a file that leads to another folder, in bytes.
const MAX_LINK_BYTES: u64 = 4096;
/// Maximum size of a configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// A work tree around a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// The resolved top of the work tree.
    pub tree: PathBuf,
    /// The resolved path of its repository, inside the tree or outside.
    pub repository: PathBuf,
}

/// Returns the resolved path of a work tree's repository, if it is outside the tree and confirms that it
/// belongs to the tree. Such repositories come from `git worktree add`, submodules, and
/// `git init --separate-git-dir`.
///
/// The file `.git` alone proves nothing, because it may have been delivered with the tree. Proof comes from
/// the repository, which the user controls: it names the tree, or its index lists the inodes of the tree's
/// files.
pub fn outside(tree: &Path) -> Option<PathBuf> {
    // Fast path, because this runs on every call: nearly every tree has a folder here, or nothing.
    if !tree.join(".git").symlink_metadata().ok()?.is_file() {
        return None;
    }
    let tree = dunce::canonicalize(tree).ok()?;
    let file = tree.join(".git");
    let text = link(&file)?;
    let own = dunce::canonicalize(tree.join(read::path(text.strip_prefix(b"gitdir: ")?)?)).ok()?;
    let repository = if let Some(common) = link(&own.join("commondir")) {
        let common = dunce::canonicalize(own.join(read::path(&common)?)).ok()?;
        let is_beside = own.parent() == Some(common.join("worktrees").as_path());
        (is_beside && leads_back(&own, &file)).then_some(common)?
    } else {
        let is_its = match named_tree(&own)? {
            Some(named) => dunce::canonicalize(own.join(named)).ok().as_deref() == Some(&*tree),
            None => knows(&own.join("index"), &tree),
        };
        is_its.then_some(own)?
    };
    let is_apart = !repository.starts_with(&tree) && !tree.starts_with(&repository);
    (is_apart && is_of_git(&repository)).then_some(repository)
}

/// Inodes are not available on this system.
#[cfg(not(unix))]
fn knows(_: &Path, _: &Path) -> bool {
    false
}

/// Returns the content of a file, without its line end.
pub(crate) fn link(file: &Path) -> Option<Vec<u8>> {
    let text = read::text(file, MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
    Some(text.bytes.trim_ascii_end().to_owned())
}

/// Returns `true` if the git directory of a linked work tree names the tree's `.git` file, by its resolved
/// path as git writes it.
fn leads_back(own: &Path, file: &Path) -> bool {
    let named = link(&own.join("gitdir")).and_then(|named| read::path(&named));
    named.is_some_and(|named| normalized(&own.join(named)) == file)
}

/// Returns the work tree that a configuration names, if any. The outer `None` means unknown.
#[allow(clippy::option_option, reason = "not to know is not to have none")]
fn named_tree(own: &Path) -> Option<Option<PathBuf>> {
    let text = read::text(&own.join("config"), MAX_CONFIG_BYTES).filter(|text| !text.is_cut)?;
    let parsed = Some(parse(&text.bytes)).filter(|parsed| !parsed.is_broken)?;
    let named = parsed.entries.iter().rfind(|entry| entry.name.eq_ignore_ascii_case(b"core.worktree"));
    named.map_or(Some(None), |entry| read::path(entry.value()).map(Some))
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    /// Creates a repository with a linked work tree, laid out as git does.
    fn bed() -> Bed {
        let bed = Bed::with(&["main/.git/objects", "main/.git/refs", "tree", "other"]);
        bed.put("main/.git/HEAD", "ref: refs/heads/main\n");
        bed.put("main/.git/worktrees/tree/commondir", "../..\n");
        bed.put("main/.git/worktrees/tree/gitdir", &format!("{}\n", bed.at("tree/.git").display()));
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/tree").display()));
        bed
    }

    #[test]
    fn a_repository_is_that_of_a_tree_if_each_names_the_other() {
        let bed = bed();
        let main = bed.at("main/.git");
        assert_eq!(outside(&bed.at("tree")), Some(main.clone()));
        // The repository names another tree, or none.
        bed.put("other/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/tree").display()));
        assert_eq!(outside(&bed.at("other")), None);
        bed.put("other/.git", &format!("gitdir: {}\n", main.display()));
        assert_eq!(outside(&bed.at("other")), None);
        bed.put("main/.git/config", &format!("[core]\n\tworktree = {}\n", bed.at("tree").display()));
        assert_eq!(outside(&bed.at("other")), None);
        // A removed tree leaves its name behind, which a link could fill.
        bed.put("main/.git/worktrees/tree/gitdir", &format!("{}\n", bed.at("tree/gone/.git").display()));
        bed.link(bed.at("tree"), "tree/gone");
        assert_eq!(outside(&bed.at("tree")), None);
        // As for a submodule, or a tree with a separate git directory.
        bed.put("main/.git/config", "[core]\n\tworktree = ../../other\n");
        assert_eq!(outside(&bed.at("other")), Some(main));
        bed.put("main/.git/config", "[core]\n\tworktree = ../../other\n[");
        assert_eq!(outside(&bed.at("other")), None);
    }

    /// Layout of `git init --separate-git-dir`, and a second tree with the same names.
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "nothing but git tells how git writes")]
    #[test]
    fn an_index_proves_the_tree_that_it_was_written_for() {
        let bed = Bed::with(&["tree", "other"]);
        let git = |words: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.current_dir(bed.at("tree")).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
            let _alone = crate::STARTS.write().unwrap();
            assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q", "--separate-git-dir", "../repository"]);
        assert_eq!(outside(&bed.at("tree")), None, "it knows nothing yet");
        for name in ["a", "b", "sub/c"] {
            bed.put(format!("tree/{name}"), name);
        }
        git(&["add", "-A"]);
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")));
        std::fs::remove_file(bed.at("tree/a")).unwrap();
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")), "another one is there");
        git(&["update-index", "--index-version", "4"]);
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")), "paths are compressed");
        for name in ["a", "b", "sub/c"] {
            bed.put(format!("other/{name}"), name);
        }
        std::fs::copy(bed.at("tree/.git"), bed.at("other/.git")).unwrap();
        assert_eq!(outside(&bed.at("other")), None, "it was not written for this one");
        // Files from the first tree: by a link, by a hard link, and moved.
        #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
        std::fs::remove_dir_all(bed.at("other/sub")).unwrap();
        bed.link(bed.at("tree/sub"), "other/sub");
        assert_eq!(outside(&bed.at("other")), None, "a link");
        std::fs::remove_file(bed.at("other/b")).unwrap();
        std::fs::hard_link(bed.at("tree/b"), bed.at("other/b")).unwrap();
        assert_eq!(outside(&bed.at("other")), None, "another name");
        std::fs::remove_file(bed.at("other/b")).unwrap();
        std::fs::rename(bed.at("tree/b"), bed.at("other/b")).unwrap();
        std::fs::remove_file(bed.at("other/sub")).unwrap();
        std::fs::rename(bed.at("tree/sub"), bed.at("other/sub")).unwrap();
        assert_eq!(outside(&bed.at("other")), None, "moved");
        // A repository that names another tree belongs to that one.
        bed.put("tree/d", "d");
        git(&["add", "-A"]);
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")));
        git(&["config", "core.worktree", "../other"]);
        assert_eq!(outside(&bed.at("tree")), None);
        git(&["config", "--unset", "core.worktree"]);
        for index in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01", &[0xff; 200]] {
            std::fs::write(bed.at("repository/index"), index).unwrap();
            assert_eq!(outside(&bed.at("tree")), None);
        }
    }

    #[test]
    fn what_lies_in_the_tree_or_is_no_repository_is_none_outside() {
        let bed = bed();
        assert_eq!(outside(&bed.at("main")), None);
        assert_eq!(outside(&bed.at("none")), None);
        bed.link(bed.at("main/.git"), "other/.git");
        assert_eq!(outside(&bed.at("other")), None, "a link proves nothing");
        std::fs::create_dir_all(bed.at("tree/inside/objects")).unwrap();
        std::fs::create_dir_all(bed.at("tree/inside/refs")).unwrap();
        bed.put("tree/inside/config", "[core]\n\tworktree = ..\n");
        bed.put("tree/.git", "gitdir: inside\n");
        assert_eq!(outside(&bed.at("tree")), None);
        // A folder that names a tree but contains no repository.
        bed.put("notes/config", &format!("[core]\n\tworktree = {}\n", bed.at("tree").display()));
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("notes").display()));
        std::fs::write(bed.at("notes/config"), "[x]\n").unwrap();
        assert_eq!(outside(&bed.at("tree")), None);
    }
}
