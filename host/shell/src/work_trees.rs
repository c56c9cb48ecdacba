//! Linked work trees of the workspace's repository that lie elsewhere. Git takes a work tree that it does not find for
//! removed, and `git worktree prune` then deletes what the repository knows about it.

use std::path::{Component, Path, PathBuf};

use scorpiox_git::{LinkedTree, linked_trees};
use scorpiox_policy::Places;
use scorpiox_sandbox::Tier;

use crate::area::Area;

/// Maximum number of path components of all trees: the root of a cell has room for about 1,000 files.
const MAX_COMPONENTS: usize = 512;
/// Folders that are another thing in a cell.
const OTHERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Returns the linked work trees of the workspace's repository that exist and that commands with these areas and
/// programs do not see, in a tier in which git could not find them either.
pub(super) fn unseen(places: &Places, areas: &[Area], programs: &[PathBuf], tier: Tier) -> Vec<LinkedTree> {
    // In T2, the kernel tells each program which files exist.
    if matches!(tier, Tier::T2 | Tier::None) {
        return Vec::new();
    }
    let is_seen = |path: &Path| areas.iter().any(|area| path.starts_with(&area.path));
    let around = |path: &Path| areas.iter().any(|area| area.path.starts_with(path));
    let others = || {
        let known = programs.iter().chain(&places.system).chain([&places.own_home]);
        known.map(PathBuf::as_path).chain(OTHERS.map(Path::new))
    };
    let is_free = |path: &Path| {
        // Commands of T1b could lead the way through their `/tmp` elsewhere before the next one.
        let is_theirs = tier == Tier::T1b && path.starts_with(&places.tmp);
        !is_theirs && !others().any(|folder| path.starts_with(folder))
    };
    let mut components = 0;
    trees(places, is_seen)
        .into_iter()
        .filter(|known| !is_seen(&known.tree) && !around(&known.tree) && is_free(&known.tree))
        .take_while(|known| {
            components += known.tree.components().count();
            components <= MAX_COMPONENTS
        })
        .collect()
}

/// Returns all linked work trees of the workspace's repository, if commands see that.
fn trees(places: &Places, is_seen: impl Fn(&Path) -> bool) -> Vec<LinkedTree> {
    let own = places.workspace.join(".git");
    let repository = places.repository.as_ref().unwrap_or(&own);
    let is_folder = repository.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_folder && is_seen(repository) { linked_trees(repository) } else { Vec::new() }
}

/// Adds the linked work trees that exist now to those that notes can be about. One that git lost stays there, as long as
/// it names the repository.
pub(super) fn remember(known: &mut Vec<LinkedTree>, places: &Places) {
    known.retain(LinkedTree::exists);
    let new: Vec<_> = trees(places, |_| true).into_iter().filter(|tree| !known.contains(tree)).collect();
    known.extend(new);
}

/// Returns the note about an administrative folder that git could not delete. `named` is its path in the output, which
/// is relative to a folder that only git knows.
pub(super) fn note(named: &Path, known: &[LinkedTree]) -> String {
    const KEEPS: &str = "git: what git keeps about a work tree was deleted only in part, because git obeys files in it, \
                         which commands cannot delete";
    let mut ends = known.iter().filter(|known| ends_alike(&known.own, named));
    let tree = ends.next().filter(|_| ends.next().is_none()).filter(|known| known.exists());
    let Some(known) = tree else {
        return format!(
            "{KEEPS}; the person can finish it with `git worktree prune`, or undo it with `git worktree repair FOLDER` if \
             the work tree is still there"
        );
    };
    let tree = known.tree.display().to_string();
    let (shown, argument) = match scorpiox_text::argument(&tree) {
        Some(argument) => (tree.clone(), argument),
        None => (format!("{tree:?}"), "FOLDER".to_owned()),
    };
    if known.is_empty() {
        return format!("{KEEPS}; the person can finish it: `rm -r {argument} && git worktree prune`");
    }
    format!(
        "{KEEPS}; the work tree {shown} is still there with its files, so keep it: the person can make it work again with \
         `git worktree repair {argument}`"
    )
}

/// Returns `true` if the ends of two paths from `worktrees` on are the same.
fn ends_alike(own: &Path, named: &Path) -> bool {
    let last_two = |path: &Path| -> Vec<_> {
        path.components()
            .rev()
            .take(2)
            .filter(|part| matches!(part, Component::Normal(_)))
            .map(|part| part.as_os_str().to_owned())
            .collect()
    };
    last_two(own) == last_two(named)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn linked(root: &Path, name: &str) -> LinkedTree {
        let (own, tree) = (root.join("w/.git/worktrees").join(name), root.join(name));
        fs::create_dir_all(&own).expect("a folder");
        fs::create_dir_all(&tree).expect("a folder");
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).expect("a file");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect("a file");
        LinkedTree { own, tree }
    }

    #[test]
    fn trees_are_unseen_unless_an_area_has_them_or_is_in_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let [a, _, _] = ["a", "w/inside", "around"].map(|name| linked(&root, name));
        let mut places = Places::standard(root.join("w"), None, Path::new("/h/.own"));
        places.tmp = "/other".into();
        let areas = ["w", "around/deep"].map(|name| Area { path: root.join(name), write: true });
        let of = |tier| unseen(&places, &areas, &[], tier);
        let expected = [a];
        assert_eq!(of(Tier::T1), expected);
        assert_eq!(of(Tier::T1b), expected);
        assert_eq!(of(Tier::T2), []);
        assert_eq!(unseen(&places, &areas[1..], &[], Tier::T1), [], "commands do not see the repository");
        places.tmp = root.clone();
        assert_eq!(unseen(&places, &areas, &[], Tier::T1b), []);
    }

    #[test]
    fn no_note_advises_to_delete_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let known = [linked(&root, "full"), linked(&root, "empty"), linked(&root, "gone")];
        fs::write(root.join("full/a"), "").expect("a file");
        fs::remove_file(root.join("gone/.git")).expect("removed");
        let of = |name: &str| note(Path::new(name), &known);
        let full = of(".git/worktrees/full");
        assert!(full.contains(&format!("`git worktree repair {}`", root.join("full").display())), "{full}");
        assert!(!full.contains("rm ") && !full.contains("prune"), "{full}");
        let empty = of("worktrees/empty");
        assert!(
            empty.contains(&format!("`rm -r {} && git worktree prune`", root.join("empty").display())),
            "{empty}"
        );
        for name in ["/x/.git/worktrees/gone", ".git/worktrees/other"] {
            let other = of(name);
            assert!(other.contains("`git worktree prune`") && !other.contains("rm "), "{other}");
        }
    }
}
