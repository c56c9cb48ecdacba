//! Names that must stay absent in every folder, and where they may come nevertheless: with what is
//! unpacked, into folders that the command made, and below folders of packages.
//!
//! Such a folder can be moved, be given the name of one that was there, or get a link that leads to it. So what came is
//! told when the command has ended, with the path that it has by then, whoever moved it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FileType;
use scorpiox_paths::{Lost, Trail};

use super::absent::folded;
use super::caller::Spot;
use super::came::Came;

/// Most entries of all folders that left the packages that are looked at when the command has ended: tens of milliseconds.
const MAX_SEARCHED: usize = 20_000;

/// File systems take the time from a clock that is behind by up to one tick.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// The thing that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// A symbolic link, which may lead to a folder.
    Link,
    /// Nothing lies below it.
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

/// The names, and what came of them.
#[derive(Debug)]
pub(super) struct Unpacked {
    names: BTreeSet<String>,
    /// Before and after what may be anything.
    patterns: Vec<(String, String)>,
    /// By a name, those of the folders that it counts in: the last one first.
    in_folders: BTreeMap<String, Vec<Vec<String>>>,
    /// The same of such folders in folders (`repo` of `.jj/repo/config.toml`): a file in the place of one leads elsewhere.
    no_files: BTreeMap<String, Vec<Vec<String>>>,
    /// Names of folders that nobody opens as a project.
    packages: BTreeSet<String>,
    /// When the command began.
    began: Duration,
    came: Came,
    /// Folders in which a name counts because of theirs: they may be moved there with what is in them. Also links of
    /// such names.
    holders: Came,
    /// Folders that left the packages.
    left: Came,
    /// Links from elsewhere into the packages.
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
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            names: BTreeSet::new(),
            patterns: Vec::new(),
            in_folders: BTreeMap::new(),
            no_files: BTreeMap::new(),
            packages,
            began: now.saturating_sub(CLOCK_TICK),
            came: Came::default(),
            holders: Came::default(),
            left: Came::default(),
            links: Came::default(),
        }
    }

    /// Reports whether this is one of the names, as [`folded`] gives it, in the folder at this path.
    pub(super) fn names(&self, folder: &Path, name: &str) -> bool {
        self.is_anywhere(name) || is_in(&self.in_folders, folder, name)
    }

    /// Reports whether what gets this name in the folder at this path has one of the names, a file also by that of a
    /// folder in which one counts.
    pub(super) fn names_made(&self, folder: &Path, name: &str, is_file: bool) -> bool {
        self.names(folder, name) || (is_file && is_in(&self.no_files, folder, name))
    }

    /// Reports whether this is one of the names in any folder.
    fn is_anywhere(&self, name: &str) -> bool {
        let is_like = |(before, after): &(String, String)| {
            name.strip_prefix(before.as_str()).is_some_and(|rest| rest.ends_with(after.as_str()))
        };
        self.names.contains(name) || self.patterns.iter().any(is_like)
    }

    /// Reports whether a name counts in folders of this name.
    fn is_holder(&self, name: &str) -> bool {
        // Of several folders any may be the one that moves.
        self.in_folders.values().flatten().flatten().any(|folder| folder == name)
    }

    /// Reports whether something has to be known of what came to a name.
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

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty() && self.in_folders.is_empty()
    }

    /// Something came to a name, in the folder at this path, whatever its path was when that was allowed.
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

    /// Reports whether a place among packages may get one of the names: in a folder at this path, as the folder knows it
    /// that commands may write to.
    pub(super) fn may_come(&self, inside: &Path) -> bool {
        self.is_packed(inside)
    }

    /// Reports whether a folder has one of the names, or lies in one that does, in a folder that the command did not make:
    /// `inside` a folder `root` that commands may write to. `is_own` says whether it made a folder.
    pub(super) fn is_around(
        &self,
        root: &Path,
        inside: &Path,
        is_own: impl Fn(&Path) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let mut above = root.to_owned();
        for part in inside {
            let name = folded(part);
            if self.names(&above, &name) && !is_own(&above)? {
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

    /// Reports whether a link leads to a folder among packages that commands may write to, or to nothing there.
    fn leads_into_packages(&self, link: &Path, inside: impl for<'p> Fn(&'p Path) -> &'p Path) -> bool {
        match Trail::follow(link) {
            Ok(trail) if trail.exists => {
                let inside = inside(&trail.end);
                inside.is_relative() && self.is_packed(inside) && trail.end.is_dir()
            }
            // Nobody knows, and others wait for this look.
            Err(Lost::TooLong(_)) => true,
            _ => link.read_link().is_ok_and(|text| self.is_packed(&text)),
        }
    }

    /// Something was moved, and may have left the packages with names in it.
    pub(super) fn moved(
        &self,
        (from, place): (&Path, &Path),
        (to, kind): (&Spot, Kind),
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) {
        for came in [&self.came, &self.holders, &self.left, &self.links] {
            if came.remembers() {
                came.moved(from, place);
            }
        }
        if kind == Kind::Folder && self.is_packed(inside(from)) && !self.is_packed(inside(place)) {
            self.left.add(to);
        }
    }

    /// Reports whether something at any depth of a folder has one of the names, or there is too much in it to tell:
    /// more than is `left` to look at. A link counts that may lead to them.
    fn holds_names(
        &self,
        folder: &Path,
        left: &mut usize,
        inside: impl for<'p> Fn(&'p Path) -> &'p Path,
    ) -> bool {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { return true };
            for entry in entries {
                let Ok(entry) = entry else { return true };
                let (name, path) = (folded(&entry.file_name()), entry.path());
                *left = left.saturating_sub(1);
                let Ok(kind) = entry.file_type() else { return true };
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

    /// Names that are there and count because of a folder. Of a link the link itself, where none is there yet: a
    /// command that runs already can put it where that leads.
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

    /// What is there of it now, but among packages: all that is known, and how many more came.
    pub(super) fn found(&self, inside: impl for<'p> Fn(&'p Path) -> &'p Path) -> (Vec<PathBuf>, u32) {
        let (mut paths, mut others, mut left) = (Vec::new(), 0_u32, MAX_SEARCHED);
        let mut gather = |came: &Came, show: &mut dyn FnMut(PathBuf) -> Vec<PathBuf>| {
            let lost = came.each(|_, path| paths.extend(show(path)));
            // Each of which nothing is known may be something of this.
            paths.extend(lost.places);
            others = others.saturating_add(lost.others);
        };
        let only = |counts: bool, path: PathBuf| if counts { vec![path] } else { Vec::new() };
        gather(&self.came, &mut |path| only(self.has_name(&path), path));
        gather(&self.left, &mut |path| only(self.holds_names(&path, &mut left, &inside), path));
        gather(&self.holders, &mut |path| self.below(&path));
        gather(&self.links, &mut |path| vec![path]);
        paths.sort();
        paths.dedup();
        paths.retain(|path| !self.is_packed(inside(path)));
        (paths, others)
    }
}

/// Reports whether a name counts in the folder at this path, because of the names of that and of those above.
fn is_in(names: &BTreeMap<String, Vec<Vec<String>>>, folder: &Path, name: &str) -> bool {
    let is_here = |names: &Vec<String>| {
        let mut above = folder.iter().rev();
        names.iter().all(|name| above.next().is_some_and(|part| folded(part) == *name))
    };
    names.get(name).is_some_and(|folders| folders.iter().any(is_here))
}

/// Reports whether something lies at a path; also where that cannot be told.
fn may_be_there(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(
        |error| !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        |_| true,
    )
}
