//! Things that came while a command ran, and their places when it has ended.
//!
//! A name does not tell that: it can be given to another thing, and the thing another name, by this command or by others. So the thing
//! itself is held.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use scorpiox_kernel::reach::{self, Identity};

use super::caller::{Spot, path_of};
use super::mounts::About;

/// Most things of a kind that are held to see where they are in the end, but of repositories.
const MAX_HELD: usize = 64;
/// Most further ones that are remembered by their paths, of a few hundred bytes each: more than an installation brings.
const MAX_REMEMBERED: usize = 1 << 14;
/// Longest path that is remembered, in bytes: commands choose the lengths of theirs.
const MAX_REMEMBERED_BYTES: usize = 512;
/// The number of times that something is looked for which others move meanwhile.
const MAX_LOOKS: usize = 8;

/// The identity of a thing. Numbers are given again, so when it was made counts, too.
type Key = (Identity, Option<Duration>);

/// Things of a kind.
#[derive(Debug)]
pub(super) struct Came(RefCell<Things>);

#[derive(Debug, Default)]
struct Things {
    held: Vec<Held>,
    /// Most of them.
    most: usize,
    /// The number of those that come before it is looked again for some that were removed.
    until_look: usize,
    /// Folders among them, by what they are told by: none of these numbers is given again as long as it is held. What
    /// is no folder may have several names, each of which counts.
    met: HashSet<Key>,
    /// Further ones that find no room there, by their paths.
    remembered: BTreeMap<PathBuf, Key>,
    /// Places of what was gone before it could be held.
    missed: Vec<PathBuf>,
    /// How many more, of which nothing else is known.
    others: u32,
}

#[derive(Debug)]
struct Held {
    thing: OwnedFd,
    key: Key,
    /// The place that it came to.
    place: PathBuf,
}

/// The place of a thing.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    At(PathBuf),
    /// It was removed.
    Gone,
    /// It was not removed, and is not found.
    Lost,
}

/// Things that are not found in the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// The place that it came to.
    pub places: Vec<PathBuf>,
    /// The number of further ones.
    pub others: u32,
}

impl Default for Came {
    fn default() -> Self {
        Self::holding(MAX_HELD)
    }
}

impl Came {
    /// None yet, of which at most so many are held.
    pub(super) fn holding(most: usize) -> Self {
        Self(RefCell::new(Things { most, ..Things::default() }))
    }

    /// Something came to a place.
    pub(super) fn add(&self, spot: &Spot) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let thing = openat(&spot.folder, spot.bare(), flags, Mode::empty());
        let place = path_of(&spot.folder).map(|folder| folder.join(spot.bare()));
        self.0.borrow_mut().add(thing.map_err(io::Error::from), place);
    }

    /// The same of an open folder, at the place where it is now.
    pub(super) fn add_folder(&self, folder: &OwnedFd) {
        self.0.borrow_mut().add(folder.try_clone(), path_of(folder));
    }

    /// The command moved something, which may have these in it.
    pub(super) fn moved(&self, from: &Path, to: &Path) {
        let mut things = self.0.borrow_mut();
        let remembered = &mut things.remembered;
        let inside = remembered.range(from.to_owned()..).take_while(|(path, _)| path.starts_with(from));
        let inside: Vec<PathBuf> = inside.map(|(path, _)| path.clone()).collect();
        for path in inside {
            let Some(key) = remembered.remove(&path) else { continue };
            let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
            // An empty rest would leave a slash.
            let path = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            remembered.insert(path, key);
        }
    }

    /// Reports whether something is known by its path alone, so that its moves have to be told.
    pub(super) fn remembers(&self) -> bool {
        !self.0.borrow().remembered.is_empty()
    }

    /// Shows what is there of it now; returns what is not found, though it was not removed.
    pub(super) fn each(&self, mut show: impl FnMut(&OwnedFd, PathBuf)) -> Lost {
        let things = self.0.borrow();
        let mut lost = Lost { places: things.missed.clone(), others: things.others };
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
                Ok(thing)
                    if About::folder(&thing).is_ok_and(|about| (about.identity, about.born) == *key) =>
                {
                    show(&thing, path.clone());
                }
                _ => lost.others = lost.others.saturating_add(1),
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
        let key = (about.identity, about.born);
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

    /// Reports whether there is room for a path, or it has its room already.
    fn has_room_for(&self, place: &Path) -> bool {
        let is_short = place.as_os_str().len() <= MAX_REMEMBERED_BYTES;
        is_short && (self.remembered.len() < MAX_REMEMBERED || self.remembered.contains_key(place))
    }

    /// Makes room now and then: programs make repositories to remove them again.
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
        // As many come before the next look as it is to look at.
        self.until_look = self.held.len();
    }
}

/// Finds an open thing, by a name that leads to it.
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
            // Also in a folder that was closed, which the next command can open.
            Err(error) if !matches!(error, Errno::NOENT | Errno::NOTDIR) => return Place::At(path),
            // Of a file the name counts: its other ones came by themselves.
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

    /// Another command can move something between the call and the look at it.
    #[test]
    fn what_cannot_be_held_is_lost_at_its_place() {
        let (_folder, root) = bed();
        let came = Came::default();
        came.add(&Spot::of(&root.join("a")));
        assert_eq!(found(&came), (Vec::new(), Lost { places: vec![root.join("a")], others: 0 }));
    }

    /// As a test suite does with its repositories.
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
        // By somebody else.
        fs::rename(root.join("q"), root.join("hidden")).expect("moves");
        let (paths, lost) = found(&came);
        assert_eq!(lost, Lost { places: Vec::new(), others: 1 });
        for name in ["moved", "moved/r", "p/other", "0"] {
            assert!(paths.contains(&root.join(name)), "{name}: {paths:?}");
        }
        assert_eq!(paths.len(), MAX_HELD + 3);
        // What is removed makes room, in time.
        (0..MAX_HELD).for_each(|number| fs::remove_dir(root.join(number.to_string())).expect("removes"));
        (0..MAX_HELD).for_each(|number| make(&format!("more{number}")));
        make("held");
        fs::rename(root.join("held"), root.join("found")).expect("moves");
        assert!(found(&came).0.contains(&root.join("found")));
    }
}
