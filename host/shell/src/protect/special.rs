//! Paths with a rule, and their translation for each tier.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Trail, Walks};
use scorpiox_git::weight;
use scorpiox_sandbox::{Access, Cover, Granted};

use super::Area;
use super::branches::largest;
use super::kept::Kept;

/// Reason for the rule of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Denied,
    Socket,
    Own,
    Unseen(&'static str),
    Name,
    Git,
    Program,
    Kept,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied => "it is denied, or has a link to it that is",
            Self::Socket => "it is a socket of another program",
            Self::Own => "it is this program's own",
            Self::Unseen(why) => return write!(f, "it {why}, so that nothing is known of what is in it"),
            Self::Name => "editors, clients and shells outside the sandbox run what it names",
            Self::Git => "git obeys it, or what leads to it, and runs what it names",
            Self::Program => "programs outside the sandbox start from it",
            Self::Kept => "the policy opens it for reading alone, inside a folder for writing",
        })
    }
}

/// Paths with a rule, each listed once.
#[derive(Debug, Default)]
pub struct Special {
    areas: Vec<Area>,
    /// Areas, and `true` if commands may write there.
    write: HashMap<PathBuf, bool>,
    hidden: BTreeMap<PathBuf, Why>,
    frozen: BTreeMap<PathBuf, Why>,
    absent: BTreeMap<PathBuf, Why>,
    /// Folders that cannot be moved, but whose content can change.
    pinned: BTreeSet<PathBuf>,
    /// Frozen paths whose links have not been followed yet.
    fresh: VecDeque<(PathBuf, Why)>,
    /// Cache of followed paths.
    walks: Walks,
    /// First path that led through too many folders.
    lost: Option<PathBuf>,
    /// Roots that a command had closed to their owner, reopened by the survey.
    pub reopened: Vec<PathBuf>,
    /// Git directories.
    pub repositories: Vec<PathBuf>,
}

impl Special {
    pub(super) fn new(areas: &[Area], reopened: Vec<PathBuf>) -> Self {
        let (kept, areas): (Vec<_>, Vec<_>) = areas.iter().cloned().partition(|area| area.is_kept(areas));
        let write = areas.iter().map(|area| (area.path.clone(), area.write)).collect();
        let frozen = kept.into_iter().map(|area| (area.path, Why::Kept)).collect();
        Self { areas, write, frozen, reopened, ..Self::default() }
    }

    /// Follows a path. A path through too many folders makes [`Self::end_walks`] fail: the kernel would
    /// follow it, and its target would have no rule.
    pub(super) fn follow(&mut self, path: &Path) -> Result<Trail, Lost> {
        let followed = self.walks.follow(path);
        if let (Err(Lost::TooLong(path)), None) = (&followed, &self.lost) {
            self.lost = Some(path.clone());
        }
        followed
    }

    /// Clears the cache of followed paths. Fails if a path could not be followed to its end.
    pub(super) fn end_walks(&mut self) -> io::Result<()> {
        self.walks = Walks::default();
        match self.lost.take() {
            None => Ok(()),
            Some(path) => Err(io::Error::other(format!(
                "{} leads through more links and folders than are followed; remove it, or the links on its way",
                path.display()
            ))),
        }
    }

    /// Returns the innermost area that contains the path, and `true` if commands may write there. Returns
    /// `None` for an area itself, which is governed by the policy.
    fn area<'a>(&self, path: &'a Path) -> Option<(&'a Path, bool)> {
        if self.write.contains_key(path) {
            return None;
        }
        path.ancestors().skip(1).find_map(|folder| Some((folder, *self.write.get(folder)?)))
    }

    /// Returns `true` if a folder is or contains a writable area.
    pub(super) fn holds_area(&self, folder: &Path) -> bool {
        self.areas.iter().any(|area| area.write && area.path.starts_with(folder))
    }

    /// Adds a rule that forbids reading and changing the path.
    pub(super) fn hide(&mut self, path: &Path, why: Why) {
        if self.area(path).is_some() {
            self.hidden.entry(path.to_owned()).or_insert(why);
        }
    }

    /// Adds a rule that forbids changing the existing path.
    pub(super) fn freeze(&mut self, path: &Path, why: Why) {
        let is_new = self.area(path).is_some_and(|(_, write)| write) && !self.frozen.contains_key(path);
        if is_new {
            self.frozen.insert(path.to_owned(), why);
            self.fresh.push_back((path.to_owned(), why));
        }
    }

    /// Adds a rule that forbids creating the nonexistent path.
    pub(super) fn keep_absent(&mut self, path: &Path, why: Why) {
        if self.area(path).is_some_and(|(_, write)| write) {
            self.absent.entry(path.to_owned()).or_insert(why);
        }
    }

    /// Adds a rule that forbids moving the existing folder.
    pub(super) fn pin(&mut self, path: &Path) {
        if self.area(path).is_some_and(|(_, write)| write) {
            self.pinned.insert(path.to_owned());
        }
    }

    /// Takes the next frozen path. Each is returned once.
    pub(super) fn next_fresh(&mut self) -> Option<(PathBuf, Why)> {
        self.fresh.pop_front()
    }

    pub(super) fn hidden(&self) -> &BTreeMap<PathBuf, Why> {
        &self.hidden
    }

    /// Returns `true` if the rules equal the stored ones.
    pub(super) fn are_kept(&self, kept: &Kept) -> bool {
        let Kept { hidden, frozen, absent, pinned } = kept;
        (&self.hidden, &self.frozen, &self.absent, &self.pinned) == (hidden, frozen, absent, pinned)
    }

    /// Returns a copy of all rules.
    pub(super) fn kept(&self) -> Kept {
        let Self { hidden, frozen, absent, pinned, .. } = self;
        let (hidden, frozen, absent) = (hidden.clone(), frozen.clone(), absent.clone());
        Kept { hidden, frozen, absent, pinned: pinned.clone() }
    }

    pub(super) fn frozen(&self) -> &BTreeMap<PathBuf, Why> {
        &self.frozen
    }

    /// Returns why a path (absolute, without links) cannot be read, or cannot be written if `write` is set.
    pub fn closes(&self, path: &Path, write: bool) -> Option<Why> {
        let closed =
            |rules: &BTreeMap<PathBuf, Why>| path.ancestors().find_map(|path| rules.get(path).copied());
        let unreadable = closed(&self.hidden);
        if !write {
            return unreadable;
        }
        unreadable.or_else(|| closed(&self.frozen)).or_else(|| closed(&self.absent))
    }

    /// Closes the folders directly below an area that contain most of `paths`, until at most `most` are left.
    pub(super) fn close_branches<'a>(&mut self, paths: impl Iterator<Item = &'a PathBuf>, most: usize) {
        let mut weights: HashMap<PathBuf, usize> = HashMap::new();
        for path in paths {
            let Some(branch) = self.branch(path) else { continue };
            *weights.entry(branch).or_default() += weight(path);
        }
        for branch in largest(weights, most, 0) {
            self.hidden.insert(branch, Why::Unseen("holds too many repositories"));
        }
    }

    /// Removes redundant rules and closes the folders with most rules, until at most `most` remain, including
    /// parent folders. Otherwise a command could leave so many paths behind that later commands fail.
    pub(super) fn bound(&mut self, most: usize) -> io::Result<()> {
        self.leave_out();
        // This overestimates: it counts every parent of every path.
        if self.paths().map(|path| path.components().count()).sum::<usize>() <= most {
            return Ok(());
        }
        for branch in largest(self.weights(), most, 1) {
            self.hidden.insert(branch, Why::Unseen("holds too many denied or protected files"));
        }
        self.leave_out();
        let weights = self.weights();
        if weights.values().sum::<usize>() <= most {
            return Ok(());
        }
        let mut areas: BTreeMap<&Path, usize> = BTreeMap::new();
        for branch in weights.keys() {
            *areas.entry(branch.parent().unwrap_or(branch)).or_default() += 1;
        }
        let fullest =
            areas.into_iter().max_by_key(|(_, count)| *count).map(|(path, _)| path.display().to_string());
        Err(io::Error::other(format!(
            "{} holds more than {most} files and folders that are denied, protected or closed, or hold such; \
             remove some, or start in a smaller folder",
            fullest.unwrap_or_default()
        )))
    }

    fn leave_out(&mut self) {
        let hidden: BTreeSet<PathBuf> = self.hidden.keys().cloned().collect();
        let frozen: BTreeSet<PathBuf> = self.frozen.keys().cloned().collect();
        let below = |path: &Path, rules: &BTreeSet<PathBuf>| {
            path.ancestors().skip(1).any(|folder| rules.contains(folder))
        };
        self.hidden.retain(|path, _| !below(path, &hidden));
        self.frozen
            .retain(|path, _| !hidden.contains(path) && !below(path, &hidden) && !below(path, &frozen));
        self.absent.retain(|path, _| !below(path, &hidden) && !below(path, &frozen));
        let is_held = |path: &Path, rules: &BTreeSet<PathBuf>| rules.contains(path) || below(path, rules);
        self.pinned.retain(|path| !is_held(path, &hidden) && !is_held(path, &frozen));
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.hidden.keys().chain(self.frozen.keys()).chain(self.absent.keys()).chain(&self.pinned)
    }

    /// Counts the rules, with the parent folders inside their areas, for each branch.
    fn weights(&self) -> HashMap<PathBuf, usize> {
        let mut weights: HashMap<PathBuf, usize> = HashMap::new();
        let mut counted: HashSet<&Path> = HashSet::new();
        for path in self.paths() {
            let (Some((area, _)), Some(branch)) = (self.area(path), self.branch(path)) else { continue };
            let above = path.ancestors().skip(1).take_while(|folder| *folder != area);
            let new = above.take_while(|folder| counted.insert(folder)).count();
            *weights.entry(branch).or_default() += 1 + new;
        }
        weights
    }

    /// Returns the folder directly below its area that contains the path.
    fn branch(&self, path: &Path) -> Option<PathBuf> {
        let (area, _) = self.area(path)?;
        let first = path.strip_prefix(area).ok()?.components().next()?;
        Some(area.join(first))
    }

    /// Returns the rules for the guard, and for tiers with mount namespaces. A folder precedes its content.
    pub fn covers(&self) -> Vec<Cover> {
        let mut covers: Vec<Cover> = Vec::new();
        covers.extend(self.hidden.keys().map(|path| Cover::Hide(path.as_path().into())));
        covers.extend(self.frozen.keys().map(|path| Cover::Freeze(path.as_path().into())));
        covers.extend(self.absent.keys().map(|path| Cover::Absent(path.as_path().into())));
        covers.extend(self.pinned.iter().map(|path| Cover::Pin(path.as_path().into())));
        covers.sort_by(|a, b| a.path().cmp(b.path()));
        covers
    }

    /// Returns the grants for tiers with Landlock only.
    ///
    /// Landlock can grant a folder only with its complete content, so a folder that contains a rule is
    /// granted piece by piece.
    pub fn granted(&self) -> io::Result<Vec<Granted>> {
        let mut granted = Vec::new();
        let mut open: Vec<_> = self.areas.iter().map(|area| (area.path.clone(), area.write)).collect();
        while let Some((path, write)) = open.pop() {
            if self.hidden.contains_key(&path) {
                continue;
            }
            let write = write && !self.frozen.contains_key(&path);
            let access = if write { Access::Write } else { Access::Read };
            if !self.splits(&path, write) {
                granted.push(Granted { path: path.into(), access });
                continue;
            }
            // If nothing inside is hidden, everything in the folder may be read.
            let access = if holds(&self.hidden, &path) { Access::List } else { Access::Read };
            granted.push(Granted { path: path.as_path().into(), access });
            // A folder removed in the meantime needs no grant.
            let Some(entries) = if_there(fs::read_dir(&path))? else { continue };
            for entry in entries {
                let entry = entry?;
                // A link needs no grant; its target is granted under its own path.
                let Some(kind) = if_there(entry.file_type())? else { continue };
                if !kind.is_symlink() {
                    open.push((entry.path(), write));
                }
            }
        }
        Ok(granted)
    }

    /// Returns `true` if a path inside the folder has a stricter rule than the folder.
    fn splits(&self, folder: &Path, write: bool) -> bool {
        holds(&self.hidden, folder) || (write && holds(&self.frozen, folder))
    }

    /// Returns the folders that are closed because their content is unknown.
    pub fn unseen(&self) -> Vec<(PathBuf, &'static str)> {
        let unseen = self.hidden.iter().filter_map(|(path, why)| match why {
            Why::Unseen(why) => Some((path.clone(), *why)),
            _ => None,
        });
        unseen.collect()
    }
}

/// Returns `None` if the path does not exist.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Returns `true` if a path inside the folder has one of these rules.
fn holds(rules: &BTreeMap<PathBuf, Why>, folder: &Path) -> bool {
    let from = (std::ops::Bound::Excluded(folder), std::ops::Bound::Unbounded);
    rules.range::<Path, _>(from).next().is_some_and(|(path, _)| path.starts_with(folder))
}
