//! Git repositories that appear while a command runs.
//!
//! Repositories that exist before the command have rules of their own. Repositories that the command creates
//! are reported when it has ended. Repositories that another process creates meanwhile must not be changed by
//! the command.
//!
//! A git directory needs no special name: git looks for `HEAD`, `objects` and `refs` in the directory that it
//! is started in and in each one above. Each of these names is therefore checked when it is created, however
//! that happens.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::iter;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, fstatfs, openat};
use scorpiox_git::{Replaced, SIGNS};
use scorpiox_sys::linux::reach::{self, Descent};
use scorpiox_sys::linux::shared_set::SharedSet;

use super::absent::{folded, what_becomes};
use super::caller::Spot;
use super::came::Came;
use super::mounts::About;
use super::opened::itself;
use super::replaced::COPY;

mod filling;
mod prepared;
mod signs;
mod used;

pub(super) use prepared::Found;
use signs::{
    ASKED_FOR, CONFIGURATIONS, FIRST_MADE, FIRST_WRITTEN, HOLD_MORE, NAME, OBEYED, OBEYED_FOLDERS, STAY,
    contains, entry, is_of_git, is_written, signs, there,
};

/// Maximum number of directories remembered as the command's own, at 9 bytes each: more than any build or
/// installation creates. A repository in a directory beyond this limit counts as another process's.
const MAX_OWN: usize = 1 << 18;

/// Directory of references in a git directory.
const REFERENCES: &str = "refs";
/// Directories in a git directory with the state of an operation.
const OPERATIONS: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];
/// Flags to open a directory.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Type of a file system: an overlay (`OVERLAYFS_SUPER_MAGIC`).
const OVERLAY: rustix::fs::FsWord = 0x794c_7630;

/// Maximum number of directories that are kept open. A directory that is known by path only counts even after
/// its removal, and installations create many.
const MAX_HELD: usize = 256;

/// Repositories that concern a command.
#[derive(Debug)]
pub(super) struct Repositories {
    /// Files named `.git`, and directories that contain a name that git obeys: other processes may turn them
    /// into repositories.
    came: Came,
    /// Directories that the command moved: something in them can be prepared for a repository.
    moved: Came,
    known: RefCell<Known>,
    /// Repositories that other processes were seen to make in directories of the command.
    sighted: RefCell<Vec<Found>>,
    /// Entries of directories that commands of this cell put there, other than names of git.
    by_commands: Rc<SharedSet>,
    /// Hashes the identities of directories.
    hasher: RandomState,
    /// Maximum number of directories remembered as the command's own.
    most_own: usize,
}

/// Git directories that the command may change, each by a hash of its identity. Inode numbers are reused, so
/// the creation time or the generation is included.
#[derive(Debug, Default)]
struct Known {
    /// Git directories that existed when the command started and have rules.
    begun: AtStart,
    /// Directories that git accepted as repositories at the start: they cannot become new ones.
    complete: AtStart,
    /// Directories with a `.git` at the start.
    work_trees: AtStart,
    /// Directories that the command created. A repository inside one is the command's only if the command
    /// created it, too.
    own: HashSet<u64>,
    /// Directories that the command turned into repositories, by creating the first name that git asks for or
    /// by the name `.git`.
    own_repositories: HashSet<u64>,
    /// Names in `own_repositories` that git asks for and that the command created there. Once all of them are gone,
    /// others can make a repository of the directory.
    own_signs: HashSet<u64>,
    /// Files that the command created with a name of `FIRST_WRITTEN`.
    own_files: HashSet<u64>,
}

/// Directories that existed when the command started.
#[derive(Debug, Default)]
struct AtStart(HashSet<u64>);

impl AtStart {
    /// Adds a directory. That of an overlay gets another creation time when it is copied to the upper layer, so it is
    /// known by its inode number, too.
    fn insert(&mut self, folder: &OwnedFd, about: &About, hasher: &RandomState) {
        let [key, number] = keys(hasher, about);
        self.0.insert(key);
        if fstatfs(folder).is_ok_and(|found| found.f_type == OVERLAY) {
            self.0.insert(number);
        }
    }

    fn contains(&self, about: &About, hasher: &RandomState) -> bool {
        keys(hasher, about).iter().any(|key| self.0.contains(key))
    }
}

/// Returns the key of a directory, and that by its inode number alone.
fn keys(hasher: &RandomState, about: &About) -> [u64; 2] {
    [key(hasher, about), hasher.hash_one(("by number", about.identity))]
}

impl Known {
    /// Records a directory with rules, if it is a git directory.
    fn begin(&mut self, path: &Path, hasher: &RandomState) -> io::Result<()> {
        let folder = reach::open(path)?;
        let (about, signs) = (About::folder(&folder)?, signs(&folder, None)?);
        let is_named = path.file_name().is_some_and(|name| folded(name) == NAME);
        if is_named || signs.are_of_git(path) {
            self.begun.insert(&folder, &about, hasher);
        }
        if signs.are_complete() {
            self.complete.insert(&folder, &about, hasher);
        }
        Ok(())
    }
}

impl Repositories {
    /// Records the existing repositories, given the paths with rules: every repository has such a path.
    /// `by_commands` is shared by all commands of the cell.
    pub(super) fn new<'a>(ruled: impl Iterator<Item = &'a Path>, by_commands: Rc<SharedSet>) -> Self {
        let hasher = RandomState::new();
        let (mut folders, mut work_trees) = (BTreeSet::new(), BTreeSet::new());
        for path in ruled {
            let (Some(name), Some(folder)) = (path.file_name().map(folded), path.parent()) else { continue };
            if OBEYED.contains(&&*name) {
                folders.insert(folder);
            } else if name == NAME {
                work_trees.insert(folder);
            }
        }
        let mut known = Known::default();
        for path in &work_trees {
            if let Ok(folder) = reach::open(path)
                && let Ok(about) = About::folder(&folder)
            {
                known.work_trees.insert(&folder, &about, &hasher);
            }
        }
        for path in folders {
            // A directory that is missing or cannot be inspected counts as another process's.
            let _ = known.begin(path, &hasher);
        }
        let known = RefCell::new(known);
        Self {
            came: Came::holding(MAX_HELD),
            moved: Came::default(),
            sighted: RefCell::default(),
            known,
            by_commands,
            hasher,
            most_own: MAX_OWN,
        }
    }

    /// Records that the command created a name. `is_file` is `false` if it may be a directory. `is_new`
    /// returns `true` for a creation time since the command started.
    pub(super) fn made(&self, spot: &Spot, is_file: bool, is_new: impl Fn(&About) -> bool) {
        let name = folded(spot.bare());
        let is_repository = name == NAME;
        if is_repository {
            self.came.add(spot);
        }
        self.note_entry(spot, &name);
        self.note_used_by_git(spot, &name, is_new);
        // Most files that commands create are of neither kind.
        if (is_repository || !is_file)
            && let Ok(about) = About::entry(&spot.folder, spot.bare())
            && (is_repository || about.is_folder)
        {
            self.own(&about);
        }
    }

    /// Records a move between two paths. Ownership does not change, unless something without signs of git
    /// gets the name `.git`.
    pub(super) fn moved(&self, (from, place): (&Path, &Path), to: &Spot, is_new: impl Fn(&About) -> bool) {
        for came in [&self.came, &self.moved] {
            if came.remembers() {
                came.moved(from, place);
            }
        }
        let name = folded(to.bare());
        if name == NAME {
            self.came.add(to);
            if let Ok(about) = About::entry(&to.folder, to.bare())
                && !is_new(&about)
                && !(about.is_folder && is_of_git(&to.folder, Some(to)).unwrap_or(true))
            {
                self.own_repository(&about);
                if let Ok(folder) = entry(to) {
                    for sign in ASKED_FOR {
                        self.own_sign(&about, &folder, sign.as_ref());
                    }
                }
            }
        }
        self.note_entry(to, &name);
        self.note_used_by_git(to, &name, is_new);
        self.note_moved(to);
    }

    /// Records that an existing file may be changed. A configuration can become that of a git directory.
    pub(super) fn changed(&self, spot: &Spot) {
        if !CONFIGURATIONS.contains(&&*folded(spot.bare())) {
            return;
        }
        let is_complete = |about: &About| self.known.borrow().complete.contains(about, &self.hasher);
        if !About::folder(&spot.folder).as_ref().is_ok_and(is_complete) {
            self.came.add_folder(&spot.folder);
        }
    }

    /// Records a new name in a directory, which git obeys or writes to if the directory is, or becomes, a git directory.
    fn note_used_by_git(&self, spot: &Spot, name: &str, is_new: impl Fn(&About) -> bool) {
        if !is_written(name) {
            return;
        }
        // A directory that already was a repository has rules and needs no tracking.
        let about = About::folder(&spot.folder);
        let is_complete = |about: &About| self.known.borrow().complete.contains(about, &self.hasher);
        if about.as_ref().is_ok_and(is_complete) {
            return;
        }
        self.came.add_folder(&spot.folder);
        if let Ok(about) = &about
            && contains(&FIRST_WRITTEN, name)
        {
            self.own_name(about, &spot.folder, spot.bare(), |known| &mut known.own_files);
        }
        // A directory that cannot be inspected counts as another process's.
        if let Ok(about) = about
            && contains(&SIGNS, name)
        {
            let _ = self.note_sign(spot, &about, name, is_new);
        }
    }

    /// Records a sign of git that appeared in a directory.
    fn note_sign(
        &self,
        spot: &Spot,
        about: &About,
        name: &str,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<()> {
        let key = key(&self.hasher, about);
        let (is_begun, is_own) = {
            let known = self.known.borrow();
            (known.begun.contains(about, &self.hasher), known.own.contains(&key))
        };
        let is_asked_for = contains(&ASKED_FOR, name);
        if is_own && !is_asked_for {
            return Ok(());
        }
        let before = signs(&spot.folder, Some(name))?;
        let is_own_repository = || self.is_own_repository(key, &spot.folder, Some(name));
        // A directory that another process created meanwhile is not the command's, whatever it contains.
        // Neither is a repository that another process started to create in a directory of the command.
        let was_none = if is_own {
            !before.are_begun()
        } else {
            !is_begun && !is_new(about) && !before.are_of_git(Path::new(&itself(&spot.folder)))
        } && !self.is_begun_by_another(&spot.folder, about, Some(name), &is_new)?;
        if is_asked_for && (was_none || is_own_repository()?) {
            self.own_repository(about);
            self.own_sign(about, &spot.folder, spot.bare());
        } else if was_none {
            // Git would not accept the directory yet, so another process can still turn it into its own
            // repository.
            self.own(about);
        }
        Ok(())
    }

    /// Returns the kind of a file that git replaces as a whole, if the file with this folded name is one, in a repository
    /// that was there when the command started. `inside` is the path of its directory in the writable directory.
    pub(super) fn replaced(
        &self,
        folder: &OwnedFd,
        inside: &Path,
        name: &str,
    ) -> io::Result<Option<Replaced>> {
        let is_copy = name.starts_with(COPY.0) && name.ends_with(COPY.1);
        let kind = if is_copy { Some(Replaced::Index) } else { Replaced::of_name(name) };
        // An earlier command can have removed what makes git accept the directory.
        if kind.is_some() && self.was_begun(folder)? {
            return Ok(kind);
        }
        // Git takes no other name of that kind for a reference.
        if !is_copy && what_becomes(name).is_some() {
            return Ok(None);
        }
        for (above, _) in inside.iter().rev().enumerate().filter(|(_, part)| folded(part) == REFERENCES) {
            let repository: PathBuf = iter::repeat_n("..", above + 1).collect();
            if self.was_begun(&openat(folder, repository, FOLDER, Mode::empty())?)? {
                return Ok(Some(Replaced::Reference));
            }
        }
        Ok(None)
    }

    /// Returns `true` if this was a git directory when the command started.
    fn was_begun(&self, folder: &OwnedFd) -> io::Result<bool> {
        Ok(self.known.borrow().begun.contains(&About::folder(folder)?, &self.hasher))
    }

    /// Returns `true` if another process created a directory with the state of an operation since the command started, in a
    /// repository that was there. Its path is `inside` in the writable directory.
    pub(super) fn holds_anothers_operation(
        &self,
        folder: &OwnedFd,
        inside: &Path,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        for (above, _) in inside.iter().rev().enumerate().filter(|(_, part)| is_operation(&folded(part))) {
            let operation = match above {
                0 => folder.try_clone()?,
                _ => openat(folder, iter::repeat_n("..", above).collect::<PathBuf>(), FOLDER, Mode::empty())?,
            };
            let about = About::folder(&operation)?;
            let is_anothers = is_new(&about) && !self.owns(&about);
            if is_anothers && self.was_begun(&openat(&operation, "..", FOLDER, Mode::empty())?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a name for a copy.
    pub(super) fn copy_name(&self, number: u64) -> String {
        let (begin, end) = COPY;
        format!("{begin}{:016x}{end}", self.hasher.hash_one(("copy", number)))
    }

    fn own(&self, about: &About) {
        let mut known = self.known.borrow_mut();
        if known.own.len() < self.most_own {
            known.own.insert(key(&self.hasher, about));
        }
    }

    /// Returns `true` if this was the top of a work tree when the command started.
    fn is_work_tree(&self, folder: &About) -> bool {
        self.known.borrow().work_trees.contains(folder, &self.hasher)
    }

    /// Returns `true` if the command created this new directory.
    pub(super) fn owns(&self, folder: &About) -> bool {
        self.known.borrow().own.contains(&key(&self.hasher, folder))
    }

    fn own_repository(&self, about: &About) {
        let mut known = self.known.borrow_mut();
        if known.own_repositories.len() < self.most_own {
            known.own_repositories.insert(key(&self.hasher, about));
        }
    }

    /// Records a name that git asks for in a repository of the command.
    fn own_sign(&self, repository: &About, folder: &OwnedFd, name: &OsStr) {
        self.own_name(repository, folder, name, |known| &mut known.own_signs);
    }

    /// Records a name that the command created in a directory.
    fn own_name(
        &self,
        about: &About,
        folder: &OwnedFd,
        name: &OsStr,
        own: impl Fn(&mut Known) -> &mut HashSet<u64>,
    ) {
        let Ok(entry) = About::entry(folder, name) else { return };
        let key = self.sign_key(key(&self.hasher, about), &entry);
        let mut known = self.known.borrow_mut();
        let own = own(&mut known);
        if own.len() < self.most_own {
            own.insert(key);
        }
    }

    fn sign_key(&self, repository: u64, sign: &About) -> u64 {
        self.hasher.hash_one((repository, sign.unique()))
    }

    /// Returns `true` if the command made a repository of this directory and a name that it created for that, other
    /// than `but`, is still there.
    fn is_own_repository(&self, key: u64, folder: &OwnedFd, but: Option<&str>) -> io::Result<bool> {
        let known = self.known.borrow();
        if !known.own_repositories.contains(&key) {
            return Ok(false);
        }
        for name in ASKED_FOR.iter().filter(|name| but.is_none_or(|but| !but.eq_ignore_ascii_case(name))) {
            if there(folder, name)?.is_some_and(|sign| known.own_signs.contains(&self.sign_key(key, &sign))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if another process created git's first names in a directory since the command started, except for
    /// the name `but`: the directory can be a git directory soon.
    fn is_begun_by_another(
        &self,
        folder: &OwnedFd,
        about: &About,
        but: Option<&str>,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        let (key_of, known) = (|about: &About| key(&self.hasher, about), self.known.borrow());
        let repository = key_of(about);
        let is_skipped = |name: &str| but.is_some_and(|but| but.eq_ignore_ascii_case(name));
        for name in FIRST_MADE.iter().filter(|name| !is_skipped(name)) {
            let Some(sign) = there(folder, name)?.filter(|sign| sign.is_folder) else { continue };
            if is_new(&sign) && !known.own.contains(&key_of(&sign)) {
                return Ok(true);
            }
        }
        // Programs create a `config` in directories of all kinds. In one that the command created, nobody else does.
        let is_own = known.own.contains(&repository);
        let counts = |name: &str| (is_own || name == "HEAD") && !is_skipped(name);
        for name in FIRST_WRITTEN.iter().filter(|name| counts(name)) {
            let Some(file) = there(folder, name)? else { continue };
            if is_new(&file) && !known.own_files.contains(&self.sign_key(repository, &file)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if a command may change the names that git obeys in a directory, or in the file `.git` if
    /// `folder` is `None`.
    fn is_known(&self, about: &About, folder: Option<&OwnedFd>) -> io::Result<bool> {
        let (key, known) = (key(&self.hasher, about), self.known.borrow());
        if known.begun.contains(about, &self.hasher) {
            return Ok(true);
        }
        if !known.own_repositories.contains(&key) && !known.own.contains(&key) {
            return Ok(false);
        }
        let Some(folder) = folder else { return Ok(true) };
        // A directory without a name that git asks for is still as the command made it.
        Ok(self.is_own_repository(key, folder, None)? || !signs(folder, None)?.are_begun())
    }

    /// Returns `true` if a name, or its lock file, is obeyed by git in a repository that another process
    /// created since the command started, or may be creating. `is_root` is `true` for a name at the top of a writable
    /// directory.
    pub(super) fn holds_anothers(
        &self,
        spot: &Spot,
        name: &str,
        is_root: bool,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        if name == NAME {
            return match About::entry(&spot.folder, spot.bare()) {
                Ok(about) => {
                    let folder = about.is_folder.then(|| entry(spot)).transpose()?;
                    Ok(!self.is_known(&about, folder.as_ref())?)
                }
                // Git finds the hooks in it when somebody makes a repository there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let about = About::folder(&spot.folder)?;
                    Ok(!is_root && is_new(&about) && !self.owns(&about))
                }
                Err(error) => Err(error),
            };
        }
        let is_obeyed =
            OBEYED.contains(&name) || what_becomes(name).is_some_and(|name| OBEYED.contains(&name));
        Ok(is_obeyed && self.is_anothers_itself(&spot.folder, is_root, is_new)?)
    }

    /// Returns `true` if an entry must stay where it is in a repository that existed before.
    pub(super) fn keeps_place(&self, spot: &Spot) -> io::Result<bool> {
        if !STAY.contains(&&*folded(spot.bare())) {
            return Ok(false);
        }
        self.was_begun(&spot.folder)
    }

    /// Returns `true` if a directory is, or lies in, a git directory that another process created since the
    /// command started, or may be creating. Its path is `inside` relative to the writable directory `root`.
    pub(super) fn is_anothers(
        &self,
        root: &Path,
        inside: &Path,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        let mut descent = Descent::from(root);
        let (mut is_in_git, mut may_be_one) = (false, false);
        for (number, part) in inside.iter().enumerate() {
            let name = folded(part);
            let is_obeyed = OBEYED_FOLDERS.contains(&&*name);
            if is_obeyed && !is_in_git {
                let folder = descent.folder()?;
                if self.is_anothers_itself(folder, number == 0, &is_new)? {
                    return Ok(true);
                }
                self.note_contents(folder)?;
            }
            descent.enter(part);
            let is_repository = name == NAME;
            if is_repository || may_be_one {
                let folder = descent.folder()?;
                let about = About::folder(folder)?;
                let is_known = self.is_known(&about, Some(folder))?;
                let counts = || is_repository || is_new(&about);
                if !is_known && (counts() || is_of_git(folder, None)?) {
                    return Ok(true);
                }
                // Contents of a known repository are not further repositories. Contents of a directory of
                // repositories are.
                may_be_one &= !(is_known && is_of_git(folder, None)?);
            }
            is_in_git |= is_repository;
            may_be_one |= is_in_git && HOLD_MORE.contains(&&*name);
        }
        Ok(false)
    }

    /// Records a directory in which the command changes the contents of a directory that git obeys. It can become a
    /// repository later.
    fn note_contents(&self, folder: &OwnedFd) -> io::Result<()> {
        let about = About::folder(folder)?;
        let key = key(&self.hasher, &about);
        let is_unique = about.born.is_some() || about.generation.is_some();
        let is_known = is_unique && {
            let known = self.known.borrow();
            known.complete.contains(&about, &self.hasher) || known.own.contains(&key)
        };
        if !is_known {
            self.came.add_folder(folder);
        }
        Ok(())
    }

    fn is_anothers_itself(
        &self,
        folder: &OwnedFd,
        is_root: bool,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        let about = About::folder(folder)?;
        if !self.is_known(&about, Some(folder))? && is_of_git(folder, None)? {
            return Ok(true);
        }
        // One that was there when the command started has rules of its own.
        let is_old = self.known.borrow().begun.contains(&about, &self.hasher);
        Ok(!is_old && self.may_be_filled(folder, &about, is_root, is_new)?)
    }
}

fn is_operation(name: &str) -> bool {
    OPERATIONS.contains(&name)
}

fn key(hasher: &RandomState, about: &About) -> u64 {
    hasher.hash_one(about.unique())
}

#[cfg(test)]
mod tests;
