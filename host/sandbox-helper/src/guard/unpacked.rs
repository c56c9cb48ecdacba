//! Names that must stay absent in every directory, and the exceptions: with unpacked files they may appear in
//! directories that the command created, and below directories of packages.
//!
//! Such a directory can be moved, can replace an existing one, or can become the target of a link. The names
//! that appeared are therefore reported when the command has ended, with their current paths, whoever moved
//! them.
//!
//! Names that appeared among packages are not tracked by themselves. When a directory leaves the packages, it
//! is searched at the end. Until then a part of it can be moved elsewhere, by this command or another one.
//! Every directory that moves meanwhile is therefore searched as well.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use scorpiox_fs::{Lost, Trail};
use scorpiox_sys::linux::reach::Descent;

use super::absent::folded;
use super::caller::Spot;
use super::came::Came;
use super::times;

/// Maximum number of entries to search when the command has ended, over all directories that left the
/// packages: tens of milliseconds.
const MAX_SEARCHED: usize = 20_000;

/// Kind of file that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// Symbolic link, which may lead to a directory.
    Link,
    /// Any other file: nothing lies below it.
    Other,
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Protected names, and the files that got them.
#[derive(Debug)]
pub(super) struct Unpacked {
    names: BTreeSet<String>,
    /// Text before and after the `*` of each pattern.
    patterns: Vec<(String, String)>,
    /// Directories in which a name counts, by name: the innermost one first.
    in_folders: BTreeMap<String, Vec<Vec<String>>>,
    /// The same for inner directories of such paths (`repo` of `.jj/repo/config.toml`): a file in their place
    /// redirects the program.
    no_files: BTreeMap<String, Vec<Vec<String>>>,
    /// Names of directories that are never opened as a project.
    packages: BTreeSet<String>,
    /// Start time of the command.
    began: Duration,
    came: Came,
    /// Directories by whose names a name inside counts: they may be moved into position with their contents.
    /// Includes links of such names.
    holders: Came,
    /// Directories that were moved out of the packages, or that may come from such a one.
    left: Came,
    /// Links from other directories into the packages.
    links: Came,
}

impl Unpacked {
    pub(super) fn new(names: &[String], packages: &[String]) -> Self {
        let fold = |names: &[String]| names.iter().map(|name| folded(OsStr::new(name))).collect();
        let mut unpacked = Self::empty(fold(packages));
        for name in fold(names) {
            if let Some((before, after)) = name.split_once('*') {
                unpacked.patterns.push((before.to_owned(), after.to_owned()));
            } else if let Some((folders, name)) = name.rsplit_once('/') {
                let folders: Vec<String> = folders.rsplit('/').map(str::to_owned).collect();
                if let [last, above @ ..] = &*folders
                    && !above.is_empty()
                {
                    unpacked.no_files.entry(last.clone()).or_default().push(above.to_owned());
                }
                unpacked.in_folders.entry(name.to_owned()).or_default().push(folders);
            } else {
                unpacked.names.insert(name);
            }
        }
        unpacked
    }

    fn empty(packages: BTreeSet<String>) -> Self {
        Self {
            names: BTreeSet::new(),
            patterns: Vec::new(),
            in_folders: BTreeMap::new(),
            no_files: BTreeMap::new(),
            packages,
            began: times::now(),
            came: Came::default(),
            holders: Came::default(),
            left: Came::default(),
            links: Came::default(),
        }
    }

    /// Returns `true` if this is a protected name, as [`folded`] returns it, in the directory at this path.
    pub(super) fn names(&self, folder: &Path, name: &str) -> bool {
        self.is_anywhere(name) || is_in(&self.in_folders, folder, name)
    }

    /// Returns `true` if a new entry with this name is protected. A file is also protected if its name is
    /// that of a directory in which a name counts.
    pub(super) fn names_made(&self, folder: &Path, name: &str, is_file: bool) -> bool {
        self.names(folder, name) || (is_file && is_in(&self.no_files, folder, name))
    }

    /// Returns `true` if this name is protected in any directory.
    fn is_anywhere(&self, name: &str) -> bool {
        let is_like = |(before, after): &(String, String)| {
            name.strip_prefix(before.as_str()).is_some_and(|rest| rest.ends_with(after.as_str()))
        };
        self.names.contains(name) || self.patterns.iter().any(is_like)
    }

    /// Returns `true` if some name counts in directories of this name.
    fn is_holder(&self, name: &str) -> bool {
        // Any of several nested directories may be the one that moves.
        self.in_folders.values().flatten().flatten().any(|folder| folder == name)
    }

    /// Returns `true` if a new entry with this name has to be recorded.
    pub(super) fn concerns(&self, name: &str, kind: Kind) -> bool {
        let is_name = || {
            self.is_anywhere(name) || self.in_folders.contains_key(name) || self.no_files.contains_key(name)
        };
        match kind {
            Kind::Link => !self.is_empty(),
            Kind::Folder => is_name() || self.is_holder(name),
            Kind::Other => is_name(),
        }
    }

    /// Returns `true` if no name is protected.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty() && self.in_folders.is_empty()
    }

    /// Records a new entry in the directory at this path, which may differ from its path when the operation
    /// was allowed.
    pub(super) fn came(
        &self,
        (spot, kind): (&Spot, Kind),
        folder: &Path,
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) {
        let (name, place) = (folded(spot.bare()), folder.join(spot.bare()));
        if self.is_packed(inside(&place)) {
            return;
        }
        if self.names_made(folder, &name, kind == Kind::Other) {
            self.came.add(spot);
        }
        if kind != Kind::Other && self.is_holder(&name) {
            self.holders.add(spot);
        }
        if kind == Kind::Link && !self.is_empty() && self.leads_into_packages(&place, inside) {
            self.links.add(spot);
        }
    }

    /// Returns `true` if a directory lies among packages and may therefore contain protected names. `inside`
    /// is its path relative to the writable directory.
    pub(super) fn may_come(&self, inside: &Path) -> bool {
        self.is_packed(inside)
    }

    /// Returns `true` if a directory has a protected name, or lies in one that does, in a parent that the
    /// command did not create. Its path is `inside` relative to the writable directory `root`. `is_own`
    /// returns `true` for a directory that the command created.
    pub(super) fn is_around(
        &self,
        root: &Path,
        inside: &Path,
        is_own: impl Fn(&OwnedFd) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let mut above = root.to_owned();
        let mut descent = Descent::from(root);
        for part in inside {
            let name = folded(part);
            if self.names(&above, &name) && !is_own(descent.folder()?)? {
                return Ok(true);
            }
            above.push(part);
            descent.enter(part);
        }
        Ok(false)
    }

    /// Returns `true` if a creation time is not before the start of the command.
    pub(super) fn is_new(&self, born: Option<Duration>) -> bool {
        born.is_some_and(|born| times::latest(born) >= self.began)
    }

    fn is_packed(&self, inside: &Path) -> bool {
        inside.iter().any(|part| self.packages.contains(&folded(part)))
    }

    /// Returns `true` if a link leads to a writable directory among packages, or to a missing path there.
    fn leads_into_packages(&self, link: &Path, inside: impl for<'p> Fn(&'p Path) -> &'p Path) -> bool {
        match Trail::follow(link) {
            Ok(trail) if trail.exists => {
                let inside = inside(&trail.end);
                inside.is_relative() && self.is_packed(inside) && trail.end.is_dir()
            }
            // Undecided after the maximum length, and other calls wait for this check.
            Err(Lost::TooLong(_)) => true,
            _ => link.read_link().is_ok_and(|text| self.is_packed(&text)),
        }
    }

    /// Returns `true` if a directory that moves between these paths, relative to the writable directory,
    /// leaves the packages. Other commands have to know before.
    pub(super) fn leaves(&self, from: &Path, to: &Path) -> bool {
        self.is_packed(from) && !self.is_packed(to)
    }

    /// Records a move, which may have brought protected names out of the packages. Returns `true` if the
    /// moved directory has to be searched at the end. `others_left` returns `true` if another command
    /// moved a directory out of the packages.
    pub(super) fn moved(
        &self,
        (from, place): (&Path, &Path),
        (to, kind): (&Spot, Kind),
        others_left: impl FnOnce() -> bool,
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) -> bool {
        for came in [&self.came, &self.holders, &self.left, &self.links] {
            if came.remembers() {
                came.moved(from, place);
            }
        }
        if kind != Kind::Folder || self.is_empty() || self.is_packed(inside(place)) {
            return false;
        }
        let counts = self.is_packed(inside(from)) || !self.left.is_empty() || others_left();
        if counts {
            self.left.add(to);
        }
        counts
    }

    /// Returns `true` if a directory contains a protected name at any depth, except for `known` paths, or
    /// more than `left` entries, or is not searched before `until`. A link counts if it may lead to such
    /// names.
    fn holds_names(
        &self,
        (folder, known): (&Path, &BTreeSet<PathBuf>),
        left: &mut usize,
        until: Instant,
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) -> bool {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            if Instant::now() >= until {
                return true;
            }
            let Ok(entries) = std::fs::read_dir(&folder) else { return true };
            for entry in entries {
                let Ok(entry) = entry else { return true };
                let (name, path) = (folded(&entry.file_name()), entry.path());
                *left = left.saturating_sub(1);
                let Ok(kind) = entry.file_type() else { return true };
                if *left > 0 && known.contains(&path) {
                    continue;
                }
                if *left == 0 || self.names_made(&folder, &name, kind.is_file()) {
                    return true;
                }
                if kind.is_symlink() && (self.is_holder(&name) || self.leads_into_packages(&path, &inside)) {
                    return true;
                }
                if kind.is_dir() && !self.packages.contains(&name) {
                    open.push(path);
                }
            }
        }
        false
    }

    /// Returns the existing names that count because of the directory `holder`. If `holder` is a link and no
    /// such name exists yet, returns the link itself: a command that already runs can create the name in the
    /// target.
    fn below(&self, holder: &Path) -> Vec<PathBuf> {
        let holder_name = holder.file_name().map(folded).unwrap_or_default();
        let is_link = holder.is_symlink();
        let mut found = Vec::new();
        for (name, folders) in &self.in_folders {
            for folders in folders {
                let inside = folders.iter().position(|folder| *folder == holder_name);
                let Some(inside) = inside else { continue };
                let mut path = holder.to_owned();
                path.extend(folders[..inside].iter().rev());
                if !self.names(&path, name) {
                    continue;
                }
                if may_be_there(&path.join(name)) {
                    found.push(path.join(name));
                } else if is_link {
                    found.push(holder.to_owned());
                }
            }
        }
        found
    }

    fn has_name(&self, path: &Path) -> bool {
        let (folder, name) = (path.parent(), path.file_name());
        let is_file = || path.symlink_metadata().is_ok_and(|found| found.is_file());
        folder.zip(name).is_some_and(|(folder, name)| self.names_made(folder, &folded(name), is_file()))
    }

    /// Returns `true` if nothing is tracked, so that nothing will be found.
    pub(super) fn is_untouched(&self) -> bool {
        [&self.came, &self.holders, &self.left, &self.links].iter().all(|came| came.is_empty())
    }

    /// Returns the protected names that exist outside of packages, and the number of those whose paths are
    /// unknown. The caller keeps everything in place `until` then; directories that are not searched before
    /// count as such names.
    pub(super) fn found(
        &self,
        until: Instant,
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) -> (Vec<PathBuf>, u32) {
        let (mut known, mut others, mut left) = (BTreeSet::new(), 0_u32, MAX_SEARCHED);
        let mut gather = |came: &Came, show: &dyn Fn(PathBuf) -> Vec<PathBuf>| {
            let lost = came.each(|_, path| known.extend(show(path)));
            // A lost file may contain a protected name.
            known.extend(lost.places);
            others = others.saturating_add(lost.others);
        };
        gather(&self.came, &|path| if self.has_name(&path) { vec![path] } else { Vec::new() });
        gather(&self.holders, &|path| self.below(&path));
        gather(&self.links, &|path| vec![path]);
        let mut folders = BTreeSet::new();
        let lost = self.left.each(|_, path| {
            folders.insert(path);
        });
        others = others.saturating_add(lost.others);
        let mut paths: Vec<_> = known.iter().cloned().chain(lost.places).collect();
        // A folder in another one is searched by itself.
        known.extend(folders.iter().cloned());
        let searched = folders.into_iter().filter(|folder| !self.is_packed(inside(folder)));
        paths.extend(searched.filter(|folder| self.holds_names((folder, &known), &mut left, until, &inside)));
        paths.sort();
        paths.dedup();
        paths.retain(|path| !self.is_packed(inside(path)));
        (paths, others)
    }
}

/// Returns `true` if a name counts in the directory at this path, because of its name and the names of its
/// parents.
fn is_in(names: &BTreeMap<String, Vec<Vec<String>>>, folder: &Path, name: &str) -> bool {
    let is_here = |names: &Vec<String>| {
        let mut above = folder.iter().rev();
        names.iter().all(|name| above.next().is_some_and(|part| folded(part) == *name))
    };
    names.get(name).is_some_and(|folders| folders.iter().any(is_here))
}

/// Returns `true` if something exists at a path, or if that cannot be determined.
fn may_be_there(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(
        |error| !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        |_| true,
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Directory, and the names of a command under which `.x` is protected.
    struct Bed(tempfile::TempDir, Unpacked);

    impl Bed {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            Self(folder, Unpacked::new(&[".x".to_owned()], &["packages".to_owned()]))
        }

        fn root(&self) -> PathBuf {
            self.0.path().canonicalize().expect("a path")
        }

        fn make(&self, path: &str) {
            fs::create_dir_all(self.root().join(path)).expect("a folder");
        }

        /// Moves a folder, as the command does while another one has moved something out of the packages.
        fn moves(&self, from: &str, to: &str, others_left: bool) -> bool {
            let (from, to, root) = (self.root().join(from), self.root().join(to), self.root());
            fs::rename(&from, &to).expect("moves");
            let (moved, to) = ((from.as_path(), to.as_path()), (&Spot::of(&to), Kind::Folder));
            self.1.moved(moved, to, || others_left, |path| path.strip_prefix(&root).unwrap_or(path))
        }

        fn found(&self, time: Duration) -> Vec<String> {
            let root = self.root();
            let (paths, others) =
                self.1.found(Instant::now() + time, |path| path.strip_prefix(&root).unwrap_or(path));
            assert_eq!(others, 0);
            let text = |path: &PathBuf| path.strip_prefix(&root).unwrap_or(path).display().to_string();
            paths.iter().map(text).collect()
        }
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_part_of_what_left_the_packages_is_found_wherever_it_is_moved() {
        let bed = Bed::new();
        bed.make("packages/p/in/.x");
        bed.make("packages/p/rest");
        bed.make("other/plain");
        assert!(!bed.moves("other", "other2", false), "nothing left the packages yet");
        assert!(bed.moves("packages/p", "p", false));
        assert!(bed.moves("p/in", "in", false));
        assert!(bed.moves("other2", "other", false));
        assert!(!bed.moves("in", "packages/in", false));
        assert!(bed.found(LONG).is_empty());
        assert!(bed.moves("packages/in", "p/in", false));
        assert!(bed.moves("p", "q", false));
        assert_eq!(bed.found(LONG), ["q/in"], "each is told once");
    }

    #[test]
    fn a_part_of_what_another_command_took_out_of_the_packages_is_found() {
        let bed = Bed::new();
        bed.make("theirs/in/.x");
        assert!(bed.moves("theirs/in", "in", true));
        assert_eq!(bed.found(LONG), ["in"]);
    }

    #[test]
    fn a_folder_that_is_not_searched_in_time_may_hold_names() {
        let bed = Bed::new();
        bed.make("packages/p");
        assert!(bed.moves("packages/p", "p", false));
        assert!(bed.found(LONG).is_empty());
        assert_eq!(bed.found(Duration::ZERO), ["p"]);
    }
}
