//! Locates parts of a work tree's repository outside the visible folder, for messages.

use std::fmt;
use std::path::{Path, PathBuf};

use scorpiox_fs::normalized;

use crate::read;

/// Maximum size of a file that names other folders, in bytes.
const MAX_LINK_BYTES: u64 = 4096;

/// Maximum length of a path in a message, in bytes.
const MAX_PRINTED: usize = 256;

/// Location outside a folder at which git would continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hidden {
    /// The folder is inside this work tree.
    Around(PathBuf),
    /// The folder's repository is at this path.
    Elsewhere(PathBuf),
    /// The folder's repository borrows objects from this path.
    Borrowed(PathBuf),
}

impl Hidden {
    /// Returns `true` if the path is named like a part of a repository. A file that a command wrote can name any path, so
    /// only such a path should be part of a command that opens it.
    pub fn is_named_like_git(&self) -> bool {
        let is_git = |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().ends_with(b".git");
        matches!(self, Self::Around(_)) || self.path().components().any(is_git)
    }

    /// Returns the path outside the folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Around(path) | Self::Elsewhere(path) | Self::Borrowed(path) => path,
        }
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Around(_) => {
                write!(f, "this folder belongs to the repository in {path}, which commands do not see")
            }
            Self::Elsewhere(_) => {
                write!(
                    f,
                    "`.git` names \"{path}\" as the repository of this folder, which commands do not see"
                )
            }
            Self::Borrowed(_) => {
                write!(f, "this repository takes objects from \"{path}\", which commands do not see")
            }
        }
    }
}

/// Returns the location outside a folder that git needs. A file or link `.git` may name any folder, so
/// [`outside`](crate::outside) may not have confirmed this location.
///
/// Commands may have written the `.git` file, so the target is never examined. Otherwise the answer would
/// reveal to a command what exists in places it cannot see.
pub fn hidden(folder: &Path) -> Option<Hidden> {
    found(folder).filter(|hidden| is_printable(hidden.path()))
}

/// Returns `true` if a path can appear unescaped in a message and in a policy. Commands can choose it.
fn is_printable(path: &Path) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@~=, ".contains(c);
    path.to_str().is_some_and(|path| path.chars().all(is_plain) && path.len() <= MAX_PRINTED)
}

fn found(folder: &Path) -> Option<Hidden> {
    let git = folder.join(".git");
    let Ok(found) = git.symlink_metadata() else {
        let around = folder.ancestors().skip(1).find(|folder| folder.join(".git").symlink_metadata().is_ok());
        return around.map(|tree| Hidden::Around(tree.to_owned()));
    };
    if found.is_symlink() {
        let end = normalized(&folder.join(git.read_link().ok()?));
        return (!end.starts_with(folder)).then_some(Hidden::Elsewhere(end));
    }
    if found.is_file() {
        let text = read::text(&git, MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
        let own = read::path(text.bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end())?;
        let own = normalized(&folder.join(own));
        return (!own.starts_with(folder)).then(|| Hidden::Elsewhere(common(&own).to_owned()));
    }
    let objects = git.join("objects");
    let alternates = objects.join("info/alternates");
    let is_here = |path: &Path| path.symlink_metadata().is_ok_and(|found| !found.is_symlink());
    if ![&objects, &objects.join("info"), &alternates].into_iter().all(|path| is_here(path)) {
        return None;
    }
    let text = read::text(&alternates, MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
    let lines = text.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    let mut borrowed = lines.filter_map(|line| Some(normalized(&objects.join(read::path(line)?))));
    borrowed.find(|store| store.ends_with("objects") && !store.starts_with(folder)).map(Hidden::Borrowed)
}

/// Returns the repository of a linked work tree's git directory, based on git's naming scheme.
fn common(own: &Path) -> &Path {
    let above = own.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
    above.unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    #[test]
    fn each_part_is_named_as_it_is_written() {
        let bed = Bed::with(&["main/.git/objects", "main/.git/refs", "main/a/b", "tree", "none"]);
        let main = bed.at("main/.git");
        let of = |folder: &str| hidden(&bed.at(folder));
        assert_eq!(of("main"), None);
        assert_eq!(of("main/a/b"), Some(Hidden::Around(bed.at("main"))));
        bed.put("tree/.git", &format!("gitdir: {}\n", main.display()));
        assert_eq!(of("tree"), Some(Hidden::Elsewhere(main.clone())));
        let of_linked = format!("gitdir: {}\n", main.join("worktrees/tree").display());
        bed.put("tree/.git", &of_linked);
        assert_eq!(of("tree"), Some(Hidden::Elsewhere(main.clone())));
        bed.put("tree/.git", "gitdir: inner/git\n");
        assert_eq!(of("tree"), None, "it is seen");
        bed.link(&main, "none/.git");
        assert_eq!(of("none"), Some(Hidden::Elsewhere(main.clone())));
        std::fs::create_dir_all(bed.at("borrows/.git/refs")).unwrap();
        bed.put(
            "borrows/.git/objects/info/alternates",
            &format!("# x\n\n{}\n", main.join("objects").display()),
        );
        assert_eq!(of("borrows"), Some(Hidden::Borrowed(main.join("objects"))));
        bed.put("borrows/.git/objects/info/alternates", &format!("{}\n", bed.at("none").display()));
        assert_eq!(of("borrows"), None, "no repository's");
        // The target must not be examined, and its existence not be revealed to a caller that cannot see it.
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("gone/.git").display()));
        assert_eq!(of("tree"), Some(Hidden::Elsewhere(bed.at("gone/.git"))));
        bed.put("tree/.git", "gitdir: /x\"\u{1b}[31m/.git\n");
        assert_eq!(of("tree"), None, "no text of others");
        bed.link(&main, "linked");
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("linked").display()));
        assert_eq!(of("tree"), Some(Hidden::Elsewhere(bed.at("linked"))));
    }
}
