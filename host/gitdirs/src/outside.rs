//! The folder of git's that belongs to a work tree and lies outside of it.

use std::path::{Component, Path, PathBuf};

#[cfg(unix)]
use crate::index::knows;
use crate::parse::parse;
use crate::read;
use crate::signs::is_of_git;

/// Most bytes of a file that leads from one folder to another.
const MAX_LINK_BYTES: u64 = 4096;
/// Most bytes of a configuration.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Returns where git keeps the repository of a work tree, without links, if that lies outside of the tree and says that
/// it is this tree's: of `git worktree add`, of a submodule, of `git init --separate-git-dir`.
///
/// The file `.git` alone proves nothing, since it may have come with the tree. The other side is the person's: it names
/// the tree, or its index has the numbers of the tree's files.
pub fn outside(tree: &Path) -> Option<PathBuf> {
    let tree = dunce::canonicalize(tree).ok()?;
    let file = tree.join(".git");
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = link(&file)?;
    let own = dunce::canonicalize(tree.join(read::path(text.strip_prefix(b"gitdir: ")?)?)).ok()?;
    let repository = match link(&own.join("commondir")) {
        Some(common) => {
            let common = dunce::canonicalize(own.join(read::path(&common)?)).ok()?;
            let is_beside = own.parent() == Some(common.join("worktrees").as_path());
            (is_beside && leads_back(&own, &file)).then_some(common)?
        }
        None => (has_tree(&own, &tree) || knows(&own.join("index"), &tree)).then_some(own)?,
    };
    let is_apart = !repository.starts_with(&tree) && !tree.starts_with(&repository);
    (is_apart && is_of_git(&repository)).then_some(repository)
}

/// No number of a file is known here.
#[cfg(not(unix))]
fn knows(_: &Path, _: &Path) -> bool {
    false
}

/// The line of a file, without its end.
fn link(file: &Path) -> Option<Vec<u8>> {
    let text = read::text(file, MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
    Some(text.bytes.trim_ascii_end().to_owned())
}

/// Reports whether the folder of a linked work tree names its file `.git`.
fn leads_back(own: &Path, file: &Path) -> bool {
    let named = link(&own.join("gitdir")).and_then(|named| read::path(&named));
    let Some(named) = named.map(|named| own.join(named)) else { return false };
    let is_git = named.components().next_back() == Some(Component::Normal(".git".as_ref()));
    is_git && named.parent().and_then(|tree| dunce::canonicalize(tree).ok()).as_deref() == file.parent()
}

/// Reports whether a configuration names this work tree.
fn has_tree(own: &Path, tree: &Path) -> bool {
    let Some(text) = read::text(&own.join("config"), MAX_CONFIG_BYTES).filter(|text| !text.is_cut) else {
        return false;
    };
    let parsed = parse(&text.bytes);
    let named = parsed.entries.iter().rfind(|entry| entry.name.eq_ignore_ascii_case(b"core.worktree"));
    let named = named.filter(|_| !parsed.is_broken).and_then(|entry| read::path(entry.value()));
    named.and_then(|named| dunce::canonicalize(own.join(named)).ok()).as_deref() == Some(tree)
}

#[cfg(test)]
mod tests {
    use scorpiox_bed::Bed;

    use super::*;

    /// A repository with a linked work tree, as git makes it.
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
        // The other side says no, or nothing.
        bed.put("other/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/tree").display()));
        assert_eq!(outside(&bed.at("other")), None);
        bed.put("other/.git", &format!("gitdir: {}\n", main.display()));
        assert_eq!(outside(&bed.at("other")), None);
        bed.put("main/.git/config", &format!("[core]\n\tworktree = {}\n", bed.at("tree").display()));
        assert_eq!(outside(&bed.at("other")), None);
        // As of a submodule, or of one with a folder of git's elsewhere.
        bed.put("main/.git/config", "[core]\n\tworktree = ../../other\n");
        assert_eq!(outside(&bed.at("other")), Some(main));
        bed.put("main/.git/config", "[core]\n\tworktree = ../../other\n[");
        assert_eq!(outside(&bed.at("other")), None);
    }

    /// As `git init --separate-git-dir` leaves it, and as another tree with the same names would like it to be.
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
        for name in ["a", "sub/b"] {
            bed.put(format!("tree/{name}"), name);
        }
        git(&["add", "-A"]);
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")));
        std::fs::remove_file(bed.at("tree/a")).unwrap();
        assert_eq!(outside(&bed.at("tree")), Some(bed.at("repository")), "another one is there");
        for name in ["a", "sub/b"] {
            bed.put(format!("other/{name}"), name);
        }
        std::fs::copy(bed.at("tree/.git"), bed.at("other/.git")).unwrap();
        assert_eq!(outside(&bed.at("other")), None, "it was not written for this one");
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
        // One that gives itself a tree, but has nothing of a repository.
        bed.put("notes/config", &format!("[core]\n\tworktree = {}\n", bed.at("tree").display()));
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("notes").display()));
        std::fs::write(bed.at("notes/config"), "[x]\n").unwrap();
        assert_eq!(outside(&bed.at("tree")), None);
    }
}
