//! Names that must stay absent in every folder, and where they may come nevertheless: with what is
//! unpacked, into folders that are younger than the command, and below folders of packages.
//!
//! Such a folder can be moved, and be given the name of one that was there. So what came is told when
//! the command has ended, with the path that it has by then.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::absent::folded;
use super::caller::Spot;
use super::came::Came;

/// Most entries of folders that left the packages that are looked at when the command has ended: tens of milliseconds.
const MAX_SEARCHED: usize = 20_000;

/// File systems take the time from a clock that is behind by up to one tick.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// The names, and what came of them.
#[derive(Debug)]
pub(super) struct Unpacked {
    names: BTreeSet<String>,
    /// Before and after what may be anything.
    patterns: Vec<(String, String)>,
    /// By a name, those of the folders that it counts in: the last one first.
    in_folders: BTreeMap<String, Vec<Vec<String>>>,
    /// Names of folders that nobody opens as a project.
    packages: BTreeSet<String>,
    /// When the command began.
    began: Duration,
    came: Came,
    /// Folders in which a name counts because of theirs: they may be moved there with what is in them.
    holders: Came,
    /// Something came in a package.
    in_packages: Cell<bool>,
    /// Folders that left the packages as they were before the command.
    left: Came,
}

impl Unpacked {
    pub(super) fn new(names: &[String], packages: &[String]) -> Self {
        let fold = |names: &[String]| names.iter().map(|name| folded(OsStr::new(name))).collect();
        let mut unpacked = Self::empty(fold(packages));
        for name in fold(names) {
            if let Some((before, after)) = name.split_once('*') {
                unpacked.patterns.push((before.to_owned(), after.to_owned()));
            } else if let Some((folders, name)) = name.rsplit_once('/') {
                let folders = folders.rsplit('/').map(str::to_owned).collect();
                unpacked.in_folders.entry(name.to_owned()).or_default().push(folders);
            } else {
                unpacked.names.insert(name);
            }
        }
        unpacked
    }

    fn empty(packages: BTreeSet<String>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            names: BTreeSet::new(),
            patterns: Vec::new(),
            in_folders: BTreeMap::new(),
            packages,
            began: now.saturating_sub(CLOCK_TICK),
            came: Came::default(),
            holders: Came::default(),
            in_packages: Cell::default(),
            left: Came::default(),
        }
    }

    /// Whether this is one of the names, as [`folded`] gives it, in the folder at this path.
    pub(super) fn names(&self, folder: &Path, name: &str) -> bool {
        let is_like = |(before, after): &(String, String)| {
            name.strip_prefix(before.as_str()).is_some_and(|rest| rest.ends_with(after.as_str()))
        };
        let is_in = |names: &Vec<String>| {
            let mut above = folder.iter().rev();
            names.iter().all(|name| above.next().is_some_and(|part| folded(part) == *name))
        };
        self.names.contains(name)
            || self.patterns.iter().any(is_like)
            || self.in_folders.get(name).is_some_and(|folders| folders.iter().any(is_in))
    }

    /// A folder was made, or moved to its name with what is in it.
    pub(super) fn folder_came(&self, spot: &Spot) {
        let name = folded(spot.bare());
        // Of several folders any may be the one that moves.
        if self.in_folders.values().flatten().flatten().any(|folder| *folder == name) {
            self.holders.add(spot);
        }
    }

    /// Whether a place may get one of the names: in a folder at this path, as the folder knows it that
    /// commands may write to, made at this time.
    pub(super) fn may_come(&self, spot: &Spot, inside: &Path, born: Option<Duration>) -> bool {
        if self.is_packed(inside) {
            self.in_packages.set(true);
            return true;
        }
        let is_new = self.is_new(born);
        if is_new {
            self.came.add(spot);
        }
        is_new
    }

    /// Whether what has one of the names may be changed, in a folder made at this time. Among packages, too, where
    /// any folder can be moved to.
    pub(super) fn may_change(&self, born: Option<Duration>) -> bool {
        self.is_new(born)
    }

    /// Whether a folder has one of the names, or lies in one that does, and was there before the command:
    /// `inside` a folder `root` that commands may write to. `born` says when a folder was made.
    pub(super) fn is_around(
        &self,
        root: &Path,
        inside: &Path,
        born: impl Fn(&Path) -> io::Result<Option<Duration>>,
    ) -> io::Result<bool> {
        let mut above = root.to_owned();
        for part in inside {
            let name = folded(part);
            if self.names(&above, &name) && !self.is_new(born(&above)?) {
                return Ok(true);
            }
            above.push(part);
        }
        Ok(false)
    }

    /// Whether something came to be since the command began.
    pub(super) fn is_new(&self, born: Option<Duration>) -> bool {
        born.is_some_and(|born| born >= self.began)
    }

    fn is_packed(&self, inside: &Path) -> bool {
        inside.iter().any(|part| self.packages.contains(&folded(part)))
    }

    /// Whether there is one among packages.
    pub(super) fn came_in_packages(&self) -> bool {
        self.in_packages.get()
    }

    /// Something was moved, and may have left the packages with names in it.
    pub(super) fn moved(&self, from: &Path, to: &Spot, to_path: &Path) {
        if self.is_packed(from) && !self.is_packed(to_path) {
            // What an earlier command made there is told if it has one of the names.
            let came = if self.came_in_packages() { &self.came } else { &self.left };
            came.add(to);
        }
    }

    /// Reports whether something at any depth of a folder has one of the names, or there is too much in it to tell.
    fn holds_names(&self, folder: &Path) -> bool {
        let (mut left, mut open) = (MAX_SEARCHED, vec![folder.to_owned()]);
        while let Some(folder) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { return true };
            for entry in entries {
                let Ok(entry) = entry else { return true };
                left -= 1;
                if left == 0 || self.names(&folder, &folded(&entry.file_name())) {
                    return true;
                }
                if entry.file_type().map_or(true, |kind| kind.is_dir()) {
                    open.push(entry.path());
                }
            }
        }
        false
    }

    /// Names that are there and count because of a folder.
    fn below(&self, holder: &Path) -> Vec<PathBuf> {
        let holder_name = holder.file_name().map(folded).unwrap_or_default();
        let mut found = Vec::new();
        for (name, folders) in &self.in_folders {
            for folders in folders {
                let inside = folders.iter().position(|folder| *folder == holder_name);
                let Some(inside) = inside else { continue };
                let mut path = holder.to_owned();
                path.extend(folders[..inside].iter().rev());
                if self.names(&path, name) && path.join(name).symlink_metadata().is_ok() {
                    found.push(path.join(name));
                }
            }
        }
        found
    }

    /// What is there of it now, but among packages: all that is known, and how many more came.
    pub(super) fn found(&self, inside: impl Fn(&Path) -> &Path) -> (Vec<PathBuf>, u32) {
        let (mut paths, others) = self.came.found();
        let (left, others_left) = self.left.found();
        paths.extend(left.into_iter().filter(|path| self.holds_names(path)));
        // Each folder of which nothing is known may hold something of this.
        let (holders, more) = self.holders.found();
        paths.extend(holders.iter().flat_map(|holder| self.below(holder)));
        paths.sort();
        paths.dedup();
        paths.retain(|path| !self.is_packed(inside(path)));
        (paths, others.saturating_add(others_left).saturating_add(more))
    }
}
