//! Tracks files and directories that appear while a command runs, and finds their paths when it has ended.
//!
//! A name does not identify a file: this command or another process can give the name to another file, and
//! the file another name. A descriptor to each file is therefore kept open.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use scorpiox_sys::linux::reach;

use super::caller::{Spot, path_of};
use super::mounts::{About, Unique};

/// Maximum number of open descriptors of a kind, except for repositories.
const MAX_HELD: usize = 64;
/// Maximum number of further files that are tracked by path, at a few hundred bytes each: more than an
/// installation creates.
const MAX_REMEMBERED: usize = 1 << 14;
/// Maximum length of a tracked path in bytes, since commands choose the lengths of their paths.
const MAX_REMEMBERED_BYTES: usize = 512;
/// Maximum number of attempts to find a file that other processes are moving.
const MAX_LOOKS: usize = 8;

/// Tracked files of a kind.
#[derive(Debug)]
pub(super) struct Came(RefCell<Things>);

#[derive(Debug, Default)]
struct Things {
    held: Vec<Held>,
    /// Maximum length of `held`.
    most: usize,
    /// Number of files to add before `held` is searched for removed files again.
    until_look: usize,
    /// Directories in `held`: their inode numbers are not reused while they are open. Other files may have
    /// several names, each of which counts.
    met: HashSet<Unique>,
    /// Files that do not fit into `held`, by path.
    remembered: BTreeMap<PathBuf, Unique>,
    /// Last path in `remembered` that [`Came::some_remembered`] looked at.
    looked_at: Option<PathBuf>,
    /// Paths of files that disappeared before they could be opened.
    missed: Vec<PathBuf>,
    /// Number of further files that nothing else is known of.
    others: u32,
}

#[derive(Debug)]
struct Held {
    thing: OwnedFd,
    key: Unique,
    /// Path at which the file appeared.
    place: PathBuf,
}

/// Current location of a file.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    At(PathBuf),
    /// The file was removed.
    Gone,
    /// The file was not removed, but cannot be found.
    Lost,
}

/// Files that cannot be found when the command has ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Paths at which they appeared.
    pub places: Vec<PathBuf>,
    /// Number of further files.
    pub others: u32,
    /// Number of those that may be at a path that cannot be followed, because a directory is closed.
    pub closed: u32,
}

impl Default for Came {
    fn default() -> Self {
        Self::holding(MAX_HELD)
    }
}

impl Came {
    /// Returns an empty set that keeps at most `most` files open.
    pub(super) fn holding(most: usize) -> Self {
        Self(RefCell::new(Things { most, ..Things::default() }))
    }

    /// Adds a file that appeared at a path.
    pub(super) fn add(&self, spot: &Spot) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let thing = openat(&spot.folder, spot.bare(), flags, Mode::empty());
        let place = path_of(&spot.folder).map(|folder| folder.join(spot.bare()));
        self.0.borrow_mut().add(thing.map_err(io::Error::from), place);
    }

    /// Adds an open directory at its current path.
    pub(super) fn add_folder(&self, folder: &OwnedFd) {
        self.0.borrow_mut().add(folder.try_clone(), path_of(folder));
    }

    /// Updates the tracked paths after the command moved a file or directory.
    pub(super) fn moved(&self, from: &Path, to: &Path) {
        let mut things = self.0.borrow_mut();
        let remembered = &mut things.remembered;
        let inside = remembered.range(from.to_owned()..).take_while(|(path, _)| path.starts_with(from));
        let inside: Vec<PathBuf> = inside.map(|(path, _)| path.clone()).collect();
        for path in inside {
            let Some(key) = remembered.remove(&path) else { continue };
            let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
            // Joining an empty path would append a slash.
            let path = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            remembered.insert(path, key);
        }
    }

    /// Returns `true` if some files are known by path only, so that moves have to be reported.
    pub(super) fn remembers(&self) -> bool {
        !self.0.borrow().remembered.is_empty()
    }

    /// Returns the number of files that nothing is known of, because there was no room for them.
    pub(super) fn without_room(&self) -> u32 {
        self.0.borrow().others
    }

    /// Returns `true` if nothing was added, or everything was found to be removed.
    pub(super) fn is_empty(&self) -> bool {
        let Things { held, remembered, missed, others, .. } = &*self.0.borrow();
        held.is_empty() && remembered.is_empty() && missed.is_empty() && *others == 0
    }

    /// Passes each file that is kept open and was not removed to `show`, with the path at which it is, or appeared.
    pub(super) fn each_held(&self, mut show: impl FnMut(&OwnedFd, PathBuf)) {
        for Held { thing, place, .. } in &self.0.borrow().held {
            match place_of(thing) {
                Place::At(path) => show(thing, path),
                Place::Gone => {}
                Place::Lost => show(thing, place.clone()),
            }
        }
    }

    /// Passes files that are known by path only, and are there, to `show`: the next ones in turn, at most `most` of them.
    pub(super) fn some_remembered(&self, most: usize, mut show: impl FnMut(&OwnedFd, PathBuf)) {
        let mut things = self.0.borrow_mut();
        let after = things.looked_at.take().map_or(Bound::Unbounded, Bound::Excluded);
        let next: Vec<(PathBuf, Unique)> = (things.remembered)
            .range((after, Bound::Unbounded))
            .take(most)
            .map(|(path, key)| (path.clone(), *key))
            .collect();
        // After the last path, the first comes next.
        things.looked_at = next.last().filter(|_| next.len() == most).map(|(path, _)| path.clone());
        drop(things);
        let mut walk = reach::Walk::default();
        for (path, key) in next {
            if let Ok(thing) = walk.open(&path)
                && About::folder(&thing).is_ok_and(|about| about.unique() == key)
            {
                show(&thing, path);
            }
        }
    }

    /// Passes each file that still exists to `show`; returns the files that cannot be found although they
    /// were not removed.
    pub(super) fn each(&self, mut show: impl FnMut(&OwnedFd, PathBuf)) -> Lost {
        let things = self.0.borrow();
        let mut lost = Lost { places: things.missed.clone(), others: things.others, closed: 0 };
        for Held { thing, place, .. } in &things.held {
            match place_of(thing) {
                Place::At(path) => show(thing, path),
                Place::Gone => {}
                Place::Lost => lost.places.push(place.clone()),
            }
        }
        let mut walk = reach::Walk::default();
        for (path, key) in &things.remembered {
            match walk.open(path) {
                Ok(thing) if About::folder(&thing).is_ok_and(|about| about.unique() == *key) => {
                    show(&thing, path.clone());
                }
                found => {
                    let is_gone = |error: io::Error| {
                        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                    };
                    lost.others = lost.others.saturating_add(1);
                    lost.closed =
                        lost.closed.saturating_add(u32::from(!found.map_or_else(is_gone, |_| true)));
                }
            }
        }
        lost
    }
}

impl Things {
    fn add(&mut self, thing: io::Result<OwnedFd>, place: io::Result<PathBuf>) {
        let about = thing.as_ref().ok().and_then(|thing| About::folder(thing).ok());
        let (Ok(thing), Ok(place), Some(about)) = (thing, place.as_ref(), about) else {
            match place {
                Ok(place) if self.missed.len() < MAX_HELD => self.missed.push(place),
                _ => self.others = self.others.saturating_add(1),
            }
            return;
        };
        let key = about.unique();
        if self.met.contains(&key) {
            return;
        }
        if self.held.len() == self.most {
            self.forget_removed();
        }
        if self.held.len() < self.most {
            if about.is_folder {
                self.met.insert(key);
            }
            self.held.push(Held { thing, key, place: place.clone() });
        } else if self.has_room_for(place) {
            self.remembered.insert(place.clone(), key);
        } else {
            self.others = self.others.saturating_add(1);
        }
    }

    /// Returns `true` if there is room for a path, or it is already tracked.
    fn has_room_for(&self, place: &Path) -> bool {
        let is_short = place.as_os_str().len() <= MAX_REMEMBERED_BYTES;
        is_short && (self.remembered.len() < MAX_REMEMBERED || self.remembered.contains_key(place))
    }

    /// Drops removed files from time to time: programs create repositories only to remove them again.
    fn forget_removed(&mut self) {
        if self.until_look > 0 {
            self.until_look -= 1;
            return;
        }
        let met = &mut self.met;
        self.held.retain(|held| {
            let is_there = place_of(&held.thing) != Place::Gone;
            if !is_there {
                met.remove(&held.key);
            }
            is_there
        });
        // The cost of a search is spread over as many additions.
        self.until_look = self.held.len();
    }
}

/// Finds the current path of an open file.
fn place_of(thing: &OwnedFd) -> Place {
    let Ok(own) = fstat(thing) else { return Place::Lost };
    let is_folder = FileType::from_raw_mode(own.st_mode).is_dir();
    for _ in 0..MAX_LOOKS {
        if fstat(thing).is_ok_and(|found| found.st_nlink == 0) {
            return Place::Gone;
        }
        let Ok(path) = path_of(thing) else { return Place::Lost };
        match statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if reach::identity(&found) == reach::identity(&own) => return Place::At(path),
            // The path may lie in a directory without permissions, which the next command can restore.
            Err(error) if !matches!(error, Errno::NOENT | Errno::NOTDIR) => return Place::At(path),
            // For a file the name counts: its other names are tracked separately.
            _ if !is_folder && path.as_os_str().as_bytes().ends_with(b" (deleted)") => return Place::Gone,
            _ => {}
        }
    }
    Place::Lost
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn bed() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        (folder, root)
    }

    fn found(came: &Came) -> (Vec<PathBuf>, Lost) {
        let mut paths = Vec::new();
        let lost = came.each(|_, path| paths.push(path));
        paths.sort();
        (paths, lost)
    }

    #[test]
    fn things_are_found_wherever_they_and_what_they_lie_in_are_moved() {
        let (_folder, root) = bed();
        let came = Came::default();
        for name in ["a", "b", "gone", "file", "removed"] {
            if ["file", "removed"].contains(&name) {
                fs::write(root.join(name), "x").expect("a file");
            } else {
                fs::create_dir(root.join(name)).expect("a folder");
            }
            came.add(&Spot::of(&root.join(name)));
            came.add(&Spot::of(&root.join(name)));
        }
        fs::hard_link(root.join("file"), root.join("again")).expect("links");
        came.add(&Spot::of(&root.join("again")));
        fs::rename(root.join("a"), root.join("b/c")).expect("moves");
        fs::rename(root.join("b"), root.join("d")).expect("moves");
        fs::rename(root.join("file"), root.join("d/f")).expect("moves");
        fs::remove_dir(root.join("gone")).expect("removes");
        fs::hard_link(root.join("removed"), root.join("second")).expect("links");
        fs::remove_file(root.join("removed")).expect("removes");
        let (paths, lost) = found(&came);
        let paths: std::collections::BTreeSet<_> = paths.into_iter().collect();
        assert_eq!(
            (paths, lost),
            (["again", "d", "d/c", "d/f"].map(|name| root.join(name)).into(), Lost::default())
        );
    }

    /// Another process can move a file between the system call and the inspection.
    #[test]
    fn what_cannot_be_held_is_lost_at_its_place() {
        let (_folder, root) = bed();
        let came = Came::default();
        came.add(&Spot::of(&root.join("a")));
        assert_eq!(found(&came), (Vec::new(), Lost { places: vec![root.join("a")], ..Lost::default() }));
    }

    /// A test suite treats its repositories like this.
    #[test]
    fn many_that_are_made_and_removed_one_after_the_other_leave_nothing() {
        let (_folder, root) = bed();
        let came = Came::default();
        for _ in 0..3 * MAX_HELD {
            fs::create_dir(root.join("a")).expect("a folder");
            came.add(&Spot::of(&root.join("a")));
            fs::remove_dir(root.join("a")).expect("removes");
        }
        assert_eq!(found(&came), (Vec::new(), Lost::default()));
    }

    #[test]
    fn what_finds_no_room_is_looked_at_in_turn() {
        let (_folder, root) = bed();
        let came = Came::holding(1);
        for name in ["0", "a", "b", "c", "d", "e"] {
            fs::create_dir(root.join(name)).expect("a folder");
            came.add(&Spot::of(&root.join(name)));
        }
        fs::rename(root.join("c"), root.join("elsewhere")).expect("moves");
        let look = || {
            let mut paths = Vec::new();
            came.some_remembered(2, |_, path| paths.push(path));
            paths
        };
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        assert_eq!(
            [look(), look(), look(), look()],
            [paths(&["a", "b"]), paths(&["d"]), paths(&["e"]), paths(&["a", "b"])]
        );
    }

    #[test]
    fn what_finds_no_room_is_found_by_its_path() {
        let (_folder, root) = bed();
        let came = Came::default();
        fs::create_dir(root.join("p")).expect("a folder");
        let make = |name: &str| {
            fs::create_dir(root.join(name)).expect("a folder");
            came.add(&Spot::of(&root.join(name)));
        };
        for number in 0..MAX_HELD {
            make(&format!("{number}"));
        }
        assert!(!came.remembers());
        for name in ["p/q", "p/q/r", "p/other", "q"] {
            make(name);
        }
        assert!(came.remembers());
        fs::rename(root.join("p/q"), root.join("moved")).expect("moves");
        came.moved(&root.join("p/q"), &root.join("moved"));
        // Moved by another process.
        fs::rename(root.join("q"), root.join("hidden")).expect("moves");
        let (paths, lost) = found(&came);
        assert_eq!(lost, Lost { others: 1, ..Lost::default() });
        for name in ["moved", "moved/r", "p/other", "0"] {
            assert!(paths.contains(&root.join(name)), "{name}: {paths:?}");
        }
        assert_eq!(paths.len(), MAX_HELD + 3);
        // Removed files eventually make room.
        (0..MAX_HELD).for_each(|number| fs::remove_dir(root.join(number.to_string())).expect("removes"));
        (0..MAX_HELD).for_each(|number| make(&format!("more{number}")));
        make("held");
        fs::rename(root.join("held"), root.join("found")).expect("moves");
        assert!(found(&came).0.contains(&root.join("found")));
    }
}
