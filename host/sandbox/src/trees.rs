//! Directory trees, by which lock holders determine whether they share files.
//!
//! A tree is identified by its top directory and by all parents of that. Two trees overlap if they have the
//! same top, or if the top of either lies in the other. This misses files that are also visible at another
//! path. Such a tree therefore counts as overlapping all others.

use serde::{Deserialize, Serialize};

/// Number of a directory. Two directories can have the same number: their users then wait for each other
/// needlessly.
pub type Tree = u32;

/// Number of the tree that overlaps all others.
#[cfg(target_os = "linux")]
pub(crate) const ALL: Tree = 0;

/// Set of directory trees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trees {
    roots: Vec<Tree>,
    above: Vec<Tree>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

    use super::{ALL, Tree, Trees};
    use crate::mounted;

    impl Trees {
        /// Returns the trees at these paths, which must not contain links.
        pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
            let (mut roots, mut above) = (BTreeSet::new(), BTreeSet::from([ALL]));
            for path in paths {
                match chain(path) {
                    Some((root, folders)) => {
                        roots.insert(root);
                        above.extend(folders);
                    }
                    None => {
                        roots.insert(ALL);
                    }
                }
            }
            if roots.is_empty() {
                return Self::default();
            }
            Self { roots: roots.into_iter().collect(), above: above.into_iter().collect() }
        }

        pub(crate) fn roots(&self) -> impl Iterator<Item = Tree> {
            self.roots.iter().copied()
        }

        pub(crate) fn above(&self) -> impl Iterator<Item = Tree> {
            self.above.iter().copied()
        }
    }

    /// Returns the number of a path and those of its parents; returns `None` if they do not determine what it
    /// overlaps.
    fn chain(path: &Path) -> Option<(Tree, Vec<Tree>)> {
        let (root, mount, _) = number(path)?;
        if mounted::is_seen_twice(mount) {
            return None;
        }
        let above = path.ancestors().skip(1).map(|folder| {
            let (number, _, is_folder) = number(folder)?;
            is_folder.then_some(number)
        });
        Some((root, above.collect::<Option<_>>()?))
    }

    /// Returns the number of a file or directory, its mount ID, and whether it is a directory.
    fn number(path: &Path) -> Option<(Tree, u64, bool)> {
        let asked = StatxFlags::MNT_ID | StatxFlags::INO | StatxFlags::TYPE;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, asked).ok()?;
        let is_told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
        let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let mixed = (found.stx_ino ^ device.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let number = Tree::try_from(mixed).unwrap_or(ALL).max(ALL + 1);
        is_told.then_some((number, found.stx_mnt_id, kind.is_dir()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        impl Trees {
            /// Returns trees with made-up numbers.
            pub(crate) fn by_numbers(roots: &[Tree], above: &[Tree]) -> Self {
                Self { roots: roots.to_vec(), above: above.to_vec() }
            }
        }

        #[test]
        fn a_tree_is_told_by_its_top_and_by_what_that_lies_in() {
            let folder = tempfile::tempdir().expect("a folder");
            let top = folder.path().canonicalize().expect("a path");
            let (inner, other) = (top.join("inner"), top.join("other"));
            std::fs::create_dir(&inner).expect("a folder");
            std::fs::write(&other, "a file").expect("a file");
            let (_, mount, _) = number(&top).expect("a number");
            let of = |path: &Path| Trees::of([path]);
            if mounted::is_seen_twice(mount) {
                assert_eq!(of(&inner), Trees::by_numbers(&[ALL], &[ALL]));
                return;
            }
            let (outer, inner, other) = (of(&top), of(&inner), of(&other));
            assert!(inner.above.contains(&outer.roots[0]) && inner.above.contains(&ALL));
            assert_eq!(inner.above, other.above);
            assert_ne!(inner.roots, other.roots);
            let both = Trees::of([top.join("inner").as_path(), &top]);
            assert_eq!((both.roots.len(), &both.above), (2, &inner.above));
        }

        #[test]
        fn a_tree_that_cannot_be_told_is_one_with_all_others() {
            let folder = tempfile::tempdir().expect("a folder");
            let link = folder.path().join("link");
            std::os::unix::fs::symlink("/", &link).expect("a link");
            for path in [folder.path().join("gone"), link.join("etc")] {
                assert_eq!(Trees::of([&*path]), Trees::by_numbers(&[ALL], &[ALL]), "{}", path.display());
            }
            assert_eq!(Trees::of([]), Trees::default());
        }
    }
}
