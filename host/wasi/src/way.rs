//! Virtual parent directories of granted folders, from `/` on. A guest can list and traverse them. They
//! contain only the path to granted folders, regardless of the machine's files, and are read-only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, MetadataHashValue,
};

/// A virtual parent directory, as a resource in the place of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way(PathBuf);

/// Remaining names of a directory listing, in reverse order.
pub(super) struct WayListing(Vec<String>);

/// Target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// Path inside a granted folder: the folder's index, and the rest of the path.
    Into(usize, PathBuf),
    /// Another virtual parent directory.
    Along(Way),
    /// Path outside of all granted folders.
    Elsewhere(PathBuf),
}

impl Way {
    /// Returns the root of all absolute paths.
    pub(super) fn root() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Resolves a path. For nested folders, the inner one is decisive. No links lead to the granted folders,
    /// so that the path can be resolved lexically.
    pub(super) fn lead(&self, path: &str, granted: &[(PathBuf, bool)]) -> Leads {
        let mut at = self.0.clone();
        let mut found = None;
        let mut parts = Path::new(path).components();
        while let Some(part) = parts.next() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => at = beneath(&at, name),
                // The granted folder itself resolves the rest.
                Component::ParentDir if found.is_some() => break,
                Component::ParentDir => _ = at.pop(),
                Component::RootDir | Component::Prefix(_) => return Leads::Elsewhere(path.into()),
            }
            if let Some(index) = granted.iter().position(|(root, _)| *root == at) {
                found = Some((index, parts.as_path().to_owned()));
            }
        }
        match found {
            Some((index, rest)) => Leads::Into(index, rest),
            None if granted.iter().any(|(root, _)| root.starts_with(&at)) => Leads::Along(Self(at)),
            None => Leads::Elsewhere(at),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the names of the entries that lead to granted folders.
    pub(super) fn listing(&self, granted: &[(PathBuf, bool)]) -> WayListing {
        let next = |root: &PathBuf| {
            let name = root.strip_prefix(&self.0).ok()?.components().next()?;
            Some(name.as_os_str().to_str()?.to_owned())
        };
        let names: BTreeSet<_> = granted.iter().filter_map(|(root, _)| next(root)).collect();
        WayListing(names.into_iter().rev().collect())
    }

    pub(super) fn flags() -> DescriptorFlags {
        DescriptorFlags::READ
    }

    pub(super) fn stat() -> DescriptorStat {
        DescriptorStat {
            type_: DescriptorType::Directory,
            link_count: 1,
            size: 0,
            data_access_timestamp: None,
            data_modification_timestamp: None,
            status_change_timestamp: None,
        }
    }

    /// Returns a hash that is equal for equal folders.
    pub(super) fn hash(&self) -> MetadataHashValue {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        MetadataHashValue { lower: hasher.finish(), upper: u64::MAX }
    }
}

/// Appends a name to a path in the guest's form, with `/` on each system.
fn beneath(folder: &Path, name: &OsStr) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    if folder != Path::new("/") {
        path.push("/");
    }
    path.push(name);
    path.into()
}

impl WayListing {
    pub(super) fn next(&mut self) -> Option<DirectoryEntry> {
        self.0.pop().map(|name| DirectoryEntry { type_: DescriptorType::Directory, name })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn granted() -> Vec<(PathBuf, bool)> {
        [("/srv/u/notes", true), ("/srv/u/notes/in", false), ("/data", false)]
            .map(|(p, w)| (p.into(), w))
            .into()
    }

    fn lead(from: &str, path: &str) -> Leads {
        Way(from.into()).lead(path, &granted())
    }

    #[test]
    fn paths_lead_into_granted_folders_or_along_or_elsewhere() {
        let into = |index, rest: &str| Leads::Into(index, rest.into());
        assert_eq!(lead("/", "srv/u/notes/a/b"), into(0, "a/b"));
        assert_eq!(lead("/srv", "u/notes"), into(0, ""));
        assert_eq!(lead("/", "srv/u/notes/in/x"), into(1, "x"), "the inner one");
        assert_eq!(lead("/", "srv/u/notes/../../x"), into(0, "../../x"), "which that folder refuses");
        assert_eq!(lead("/", "./srv/../data/a"), into(2, "a"));
        let along = [("/", ".", "/"), ("/", "..", "/"), ("/", "srv/u", "/srv/u"), ("/srv/u", "../..", "/")];
        for (from, path, at) in along {
            assert_eq!(lead(from, path), Leads::Along(Way(at.into())), "{from} {path}");
        }
        for (from, path, at) in [
            ("/", "etc/passwd", "/etc/passwd"),
            ("/srv", "u/notesing", "/srv/u/notesing"),
            ("/srv", "/data", "/data"),
        ] {
            assert_eq!(lead(from, path), Leads::Elsewhere(at.into()), "{from} {path}");
        }
    }

    #[test]
    fn a_folder_on_the_way_lists_what_leads_on_and_nothing_else() {
        let names = |at: &str| {
            let mut listing = Way(at.into()).listing(&granted());
            std::iter::from_fn(|| listing.next()).map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(names("/"), ["data", "srv"]);
        assert_eq!(names("/srv/u"), ["notes"]);
        assert!(names("/etc").is_empty());
    }
}
