//! Parts of a work tree's repository that lie elsewhere, for a message that names them.

use std::fmt;
use std::path::{Path, PathBuf};

use scorpiox_paths::normalized;

use crate::read;
use crate::signs::is_of_git;

/// Most bytes of a file that names other folders.
const MAX_LINK_BYTES: u64 = 4096;

/// The place at which git would go on from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hidden {
    /// The folder lies in this work tree.
    Around(PathBuf),
    /// Its repository is there.
    Elsewhere(PathBuf),
    /// Its repository takes objects from there.
    Borrowed(PathBuf),
}

impl Hidden {
    /// The folder that is not seen.
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
                    "the repository of this folder is {path}, which does not name the folder as its work tree"
                )
            }
            Self::Borrowed(_) => {
                write!(f, "this repository takes objects from {path}, which commands do not see")
            }
        }
    }
}

/// Returns what git needs beside a folder, and which no check of [`outside`](crate::outside) opens: a file or link `.git`
/// may name any folder.
pub fn hidden(folder: &Path) -> Option<Hidden> {
    let git = folder.join(".git");
    let Ok(found) = git.symlink_metadata() else {
        let around = folder.ancestors().skip(1).find(|folder| folder.join(".git").symlink_metadata().is_ok());
        return around.map(|tree| Hidden::Around(tree.to_owned()));
    };
    let own = if found.is_file() {
        let text = read::text(&git, MAX_LINK_BYTES)?;
        folder.join(read::path(text.bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end())?)
    } else {
        git
    };
    let own = dunce::canonicalize(own).ok()?;
    let common = read::text(&own.join("commondir"), MAX_LINK_BYTES);
    let common = common.and_then(|text| read::path(text.bytes.trim_ascii_end()));
    let common = common.and_then(|common| dunce::canonicalize(own.join(common)).ok()).unwrap_or(own);
    if !common.starts_with(folder) && is_of_git(&common) {
        return Some(Hidden::Elsewhere(common));
    }
    let objects = common.join("objects");
    let text = read::text(&objects.join("info/alternates"), MAX_LINK_BYTES)?;
    let lines = text.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    // Commands may have written it: nothing is said but of a repository's objects, and by the path that stands there.
    let is_store = |path: &PathBuf| {
        let end = dunce::canonicalize(path).unwrap_or_default();
        end.ends_with("objects") && end.parent().is_some_and(is_of_git) && !end.starts_with(folder)
    };
    let borrowed = lines.filter_map(|line| Some(normalized(&objects.join(read::path(line)?))));
    borrowed.into_iter().find(is_store).map(Hidden::Borrowed)
}

#[cfg(test)]
mod tests {
    use scorpiox_bed::Bed;

    use super::*;

    #[test]
    fn each_part_is_named_and_no_folder_that_git_would_not_take() {
        let bed = Bed::with(&["main/.git/objects", "main/.git/refs", "main/a/b", "tree", "none"]);
        let main = bed.at("main/.git");
        let of = |folder: &str| hidden(&bed.at(folder));
        assert_eq!(of("main"), None);
        assert_eq!(of("main/a/b"), Some(Hidden::Around(bed.at("main"))));
        bed.put("tree/.git", &format!("gitdir: {}\n", main.display()));
        assert_eq!(of("tree"), Some(Hidden::Elsewhere(main.clone())));
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("none").display()));
        assert_eq!(of("tree"), None);
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
    }
}
