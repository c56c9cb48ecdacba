//! Lists the linked work trees of a repository.

use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

use crate::outside::link;
use crate::read;

/// Folder of a git directory with the administrative folders of linked work trees.
const ADMINISTRATIVE: &str = "worktrees";
/// Maximum number of administrative folders that are read.
const MAX_TREES: usize = 256;

/// A linked work tree that exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkedTree {
    /// Its administrative folder, `worktrees/NAME` of the repository.
    pub own: PathBuf,
    /// The resolved top of the tree.
    pub tree: PathBuf,
}

impl LinkedTree {
    /// Returns `true` if the tree still exists and its file `.git` names the administrative folder.
    pub fn exists(&self) -> bool {
        names(&self.tree, &self.own)
    }

    /// Returns `true` if nothing but its file `.git` is left of the tree.
    pub fn is_empty(&self) -> bool {
        let entries = self.tree.read_dir();
        entries.is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == ".git"))
    }
}

/// Returns the linked work trees of a repository that exist, in order.
///
/// A command may have written the file that names a tree. A tree therefore counts only if its file `.git` names the
/// administrative folder in turn; the answer says nothing about other folders.
pub fn linked_trees(repository: &Path) -> Vec<LinkedTree> {
    let Ok(entries) = repository.join(ADMINISTRATIVE).read_dir() else { return Vec::new() };
    let trees = entries.flatten().take(MAX_TREES).filter_map(|entry| linked_tree(entry.path()));
    let mut trees: Vec<_> = trees.collect();
    trees.sort_unstable();
    trees
}

/// Returns the existing work tree of an administrative folder.
pub(crate) fn linked_tree(own: PathBuf) -> Option<LinkedTree> {
    let file = normalized(&own.join(read::path(&link(&own.join("gitdir"))?)?));
    let tree = file.parent().filter(|_| file.ends_with(".git"))?.to_owned();
    names(&tree, &own).then_some(LinkedTree { own, tree })
}

/// Returns `true` if a folder is no link, and its file `.git` names this administrative folder.
fn names(tree: &Path, own: &Path) -> bool {
    let named = || {
        let file = tree.join(".git");
        if !file.symlink_metadata().ok()?.is_file() || dunce::canonicalize(tree).ok()? != tree {
            return None;
        }
        let text = link(&file)?;
        dunce::canonicalize(tree.join(read::path(text.strip_prefix(b"gitdir: ")?)?)).ok()
    };
    named().is_some_and(|named| dunce::canonicalize(own).is_ok_and(|own| own == named))
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    #[test]
    fn a_tree_counts_if_each_names_the_other() {
        let bed = Bed::with(&["main/.git", "a", "b", "c"]);
        let main = bed.at("main/.git");
        for name in ["a", "b", "c", "gone"] {
            bed.put(
                format!("main/.git/worktrees/{name}/gitdir"),
                &format!("{}\n", bed.at(name).join(".git").display()),
            );
        }
        bed.put("a/.git", &format!("gitdir: {}\n", main.join("worktrees/a").display()));
        bed.put("b/.git", "gitdir: ../main/.git/worktrees/b\n");
        bed.put("c/.git", &format!("gitdir: {}\n", main.join("worktrees/a").display()));
        bed.link(bed.at("a"), "linked");
        let through = bed.at("linked/.git").display().to_string();
        bed.put("main/.git/worktrees/linked/gitdir", &through);
        let trees = linked_trees(&main);
        let named: Vec<_> = trees.iter().map(|tree| tree.tree.clone()).collect();
        assert_eq!(named, [bed.at("a"), bed.at("b")]);
        assert!(trees[0].exists() && trees[0].is_empty());
        bed.put("a/x", "");
        assert!(!trees[0].is_empty());
        bed.put("a/.git", "gitdir: ../main/.git\n");
        assert!(!trees[0].exists());
        assert!(linked_trees(&bed.at("c")).is_empty());
    }
}
