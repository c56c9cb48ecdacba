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
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use scorpiox_git::{SIGNS, Signs};
use scorpiox_sys::linux::reach::{self, Descent, Identity};

use super::absent::{folded, what_becomes};
use super::caller::Spot;
use super::came::Came;
use super::mounts::About;
use super::opened::itself;

/// Name of a git directory, in the form that [`folded`] returns.
const NAME: &str = ".git";
/// Directories in a git directory that hold further ones, at any depth.
const HOLD_MORE: [&str; 2] = ["worktrees", "modules"];
/// Names that make a directory a git directory, and names that git obeys in one.
const OBEYED: [&str; 13] = [
    "head",
    "objects",
    "refs",
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info",
    "worktrees",
    "modules",
    "remotes",
    "branches",
];
/// Names of `OBEYED` without which git does not accept a directory as its own.
const ASKED_FOR: [&str; 4] = ["head", "objects", "refs", "commondir"];
/// Names of `OBEYED` that are directories whose contents git obeys.
const OBEYED_FOLDERS: [&str; 6] = ["hooks", "info", "worktrees", "modules", "remotes", "branches"];
/// Names that must stay in an existing repository: without them git would search further up. Git itself
/// replaces them, but never removes them.
const STAY: [&str; 5] = ["head", "objects", "refs", "config", "commondir"];
/// Maximum number of directories remembered as the command's own, at 9 bytes each: more than any build or
/// installation creates. A repository in a directory beyond this limit counts as another process's.
const MAX_OWN: usize = 1 << 18;

/// Maximum number of directories that are kept open. A directory that is known by path only counts even after
/// its removal, and installations create many.
const MAX_HELD: usize = 256;

/// Repositories that concern a command.
#[derive(Debug)]
pub(super) struct Repositories {
    /// Files named `.git`, and directories that contain a name that git obeys: other processes may turn them
    /// into repositories.
    came: Came,
    known: RefCell<Known>,
    /// Hashes the identities of directories.
    hasher: RandomState,
    /// Maximum number of directories remembered as the command's own.
    most_own: usize,
}

/// Git directories that the command may change, each by a hash of its identity. Inode numbers are reused, so
/// the creation time is included.
#[derive(Debug, Default)]
struct Known {
    /// Git directories that existed when the command started and have rules.
    begun: HashSet<u64>,
    /// Directories that git accepted as repositories at the start: they cannot become new ones.
    complete: HashSet<u64>,
    /// Directories that the command created. A repository inside one is the command's only if the command
    /// created it, too.
    own: HashSet<u64>,
    /// Directories that the command turned into repositories, by creating the first name that git asks for or
    /// by the name `.git`.
    own_repositories: HashSet<u64>,
}

impl Known {
    /// Records a directory with rules, if it is a git directory.
    fn begin(&mut self, path: &Path, hasher: &RandomState) -> io::Result<()> {
        let folder = reach::open(path)?;
        let (about, signs) = (About::folder(&folder)?, signs(&folder, None)?);
        let key = key(hasher, &about);
        let is_named = path.file_name().is_some_and(|name| folded(name) == NAME);
        if is_named || signs.are_of_git(path) {
            self.begun.insert(key);
        }
        if signs.are_complete() {
            self.complete.insert(key);
        }
        Ok(())
    }
}

impl Repositories {
    /// Records the existing repositories, given the paths with rules: every repository has such a path.
    pub(super) fn new<'a>(ruled: impl Iterator<Item = &'a Path>) -> Self {
        let hasher = RandomState::new();
        let is_obeyed = |path: &&Path| path.file_name().is_some_and(|name| OBEYED.contains(&&*folded(name)));
        let folders: BTreeSet<&Path> = ruled.filter(is_obeyed).filter_map(Path::parent).collect();
        let mut known = Known::default();
        for path in folders {
            // A directory that is missing or cannot be inspected counts as another process's.
            let _ = known.begin(path, &hasher);
        }
        let known = RefCell::new(known);
        Self { came: Came::holding(MAX_HELD), known, hasher, most_own: MAX_OWN }
    }

    /// Records that the command created a name. `is_file` is `false` if it may be a directory. `is_new`
    /// returns `true` for a creation time since the command started.
    pub(super) fn made(&self, spot: &Spot, is_file: bool, is_new: impl Fn(Option<Duration>) -> bool) {
        let name = folded(spot.bare());
        let is_repository = name == NAME;
        if is_repository {
            self.came.add(spot);
        }
        self.note_obeyed(spot, &name, is_new);
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
    pub(super) fn moved(
        &self,
        (from, place): (&Path, &Path),
        to: &Spot,
        is_new: impl Fn(Option<Duration>) -> bool,
    ) {
        if self.came.remembers() {
            self.came.moved(from, place);
        }
        let name = folded(to.bare());
        if name == NAME {
            self.came.add(to);
            if let Ok(about) = About::entry(&to.folder, to.bare())
                && !is_new(about.born)
                && !(about.is_folder && is_of_git(&to.folder, Some(to)).unwrap_or(true))
            {
                self.own_repository(&about);
            }
        }
        self.note_obeyed(to, &name, is_new);
    }

    /// Records a new name in a directory, which git obeys if the directory is, or becomes, a git directory.
    fn note_obeyed(&self, spot: &Spot, name: &str, is_new: impl Fn(Option<Duration>) -> bool) {
        if !OBEYED.contains(&name) {
            return;
        }
        // A directory that already was a repository has rules and needs no tracking.
        let about = About::folder(&spot.folder);
        let is_complete = |about: &About| self.known.borrow().complete.contains(&key(&self.hasher, about));
        if about.as_ref().is_ok_and(is_complete) {
            return;
        }
        self.came.add_folder(&spot.folder);
        // A directory that cannot be inspected counts as another process's.
        if let Ok(about) = about
            && SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(name))
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
        is_new: impl Fn(Option<Duration>) -> bool,
    ) -> io::Result<()> {
        let key = key(&self.hasher, about);
        let (is_begun, is_own) = {
            let known = self.known.borrow();
            (known.begun.contains(&key), known.own.contains(&key))
        };
        let is_asked_for = ASKED_FOR.contains(&name);
        if is_own && !is_asked_for {
            return Ok(());
        }
        let before = signs(&spot.folder, Some(name))?;
        // A directory that another process created meanwhile is not the command's, whatever it contains.
        // Neither is a repository that another process started to create in a directory of the command.
        let was_none = if is_own {
            !before.are_begun()
        } else {
            let is_of_git = || before.are_of_git(Path::new(&itself(&spot.folder)));
            !is_begun && !is_new(about.born) && !is_of_git()
        };
        if was_none && is_asked_for {
            self.own_repository(about);
        } else if was_none {
            // Git would not accept the directory yet, so another process can still turn it into its own
            // repository.
            self.own(about);
        }
        Ok(())
    }

    fn own(&self, about: &About) {
        let mut known = self.known.borrow_mut();
        if known.own.len() < self.most_own {
            known.own.insert(key(&self.hasher, about));
        }
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

    /// Returns `true` if a command may change the names that git obeys in a directory with these `signs`.
    fn is_known(&self, about: &About, signs: impl FnOnce() -> io::Result<Signs>) -> io::Result<bool> {
        let (key, known) = (key(&self.hasher, about), self.known.borrow());
        if known.begun.contains(&key) || known.own_repositories.contains(&key) {
            return Ok(true);
        }
        Ok(known.own.contains(&key) && (!about.is_folder || !signs()?.are_begun()))
    }

    /// Returns `true` if a name, or its lock file, is obeyed by git in a repository that another process
    /// created since the command started.
    pub(super) fn holds_anothers(&self, spot: &Spot, name: &str) -> io::Result<bool> {
        if name == NAME {
            return match About::entry(&spot.folder, spot.bare()) {
                Ok(about) => Ok(!self.is_known(&about, || signs(&entry(spot)?, None))?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            };
        }
        let is_obeyed =
            OBEYED.contains(&name) || what_becomes(name).is_some_and(|name| OBEYED.contains(&name));
        Ok(is_obeyed && self.is_anothers_itself(&spot.folder)?)
    }

    /// Returns the number of parts of `inside` up to the outermost git directory that a directory is, or lies in, if
    /// the command did not create it. The path of the directory is `inside` relative to the writable directory
    /// `root`. Names that git requires may be missing, because a command can remove them for a while.
    pub(super) fn used(&self, root: &Path, inside: &Path) -> io::Result<Option<usize>> {
        let known = self.known.borrow();
        let mut descent = Descent::from(root);
        for (number, part) in std::iter::once(OsStr::new("")).chain(inside).enumerate() {
            if number > 0 {
                descent.enter(part);
            }
            let folder = descent.folder()?;
            let key = key(&self.hasher, &About::folder(folder)?);
            if known.begun.contains(&key) {
                return Ok(Some(number));
            }
            // Another process may have made it meanwhile, under any name.
            if !known.own_repositories.contains(&key) && signs(folder, None)?.are_complete() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Returns `true` if an entry must stay where it is in a repository that existed before.
    pub(super) fn keeps_place(&self, spot: &Spot) -> io::Result<bool> {
        if !STAY.contains(&&*folded(spot.bare())) {
            return Ok(false);
        }
        let key = key(&self.hasher, &About::folder(&spot.folder)?);
        Ok(self.known.borrow().begun.contains(&key))
    }

    /// Returns the paths of everything that became a repository and still exists, whoever completed it, and
    /// the number of the others.
    pub(super) fn found(&self) -> (Vec<(PathBuf, Identity)>, u32) {
        let mut paths = Vec::new();
        let lost = self.came.each(|thing, path| {
            let is_named = || path.file_name().is_some_and(|name| folded(name) == NAME);
            let is_used = || match signs(thing, None) {
                Ok(signs) => signs.are_used(),
                // An inaccessible directory counts: the next command can restore its permissions.
                Err(error) => error.kind() != io::ErrorKind::NotADirectory,
            };
            // A directory that cannot be inspected is always reported.
            if is_named() || is_used() {
                paths.push((path, super::identity_of(thing).unwrap_or_default()));
            }
        });
        paths.sort();
        paths.dedup();
        let lost_places = u32::try_from(lost.places.len()).unwrap_or(u32::MAX);
        (paths, lost.others.saturating_add(lost_places))
    }

    /// Returns `true` if a directory is, or lies in, a git directory that another process created since the
    /// command started. Its path is `inside` relative to the writable directory `root`.
    pub(super) fn is_anothers(
        &self,
        root: &Path,
        inside: &Path,
        is_new: impl Fn(Option<Duration>) -> bool,
    ) -> io::Result<bool> {
        let mut descent = Descent::from(root);
        let (mut is_in_git, mut may_be_one) = (false, false);
        for part in inside {
            let name = folded(part);
            let is_obeyed = OBEYED_FOLDERS.contains(&&*name);
            if is_obeyed && !is_in_git && self.is_anothers_itself(descent.folder()?)? {
                return Ok(true);
            }
            descent.enter(part);
            let is_repository = name == NAME;
            if is_repository || may_be_one {
                let folder = descent.folder()?;
                let about = About::folder(folder)?;
                let is_known = self.is_known(&about, || signs(folder, None))?;
                let counts = || is_repository || is_new(about.born);
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

    fn is_anothers_itself(&self, folder: &OwnedFd) -> io::Result<bool> {
        Ok(!self.is_known(&About::folder(folder)?, || signs(folder, None))? && is_of_git(folder, None)?)
    }
}

/// Returns `true` if the contents of a directory, or of the one at `at`, make it a git directory.
fn is_of_git(folder: &OwnedFd, at: Option<&Spot>) -> io::Result<bool> {
    let opened;
    let folder = match at {
        None => folder,
        Some(spot) => {
            opened = entry(spot)?;
            &opened
        }
    };
    Ok(signs(folder, None)?.are_of_git(Path::new(&itself(folder))))
}

/// Opens the directory with this name for inspection.
fn entry(spot: &Spot) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&spot.folder, spot.bare(), flags, Mode::empty())?)
}

/// Returns the signs of git in a directory, except for the name `but`.
fn signs(folder: &OwnedFd, but: Option<&str>) -> io::Result<Signs> {
    let mut signs = Signs::default();
    for name in SIGNS {
        if but.is_some_and(|but| but.eq_ignore_ascii_case(name)) {
            continue;
        }
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let kind = FileType::from_raw_mode(found.st_mode);
                signs.note(name.as_ref(), kind.is_dir(), kind.is_file());
            }
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(signs)
}

fn key(hasher: &RandomState, about: &About) -> u64 {
    hasher.hash_one((about.identity, about.born))
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    const OLD: fn(Option<Duration>) -> bool = |_| false;
    const NEW: fn(Option<Duration>) -> bool = |_| true;

    /// Returns a directory, and the repositories of a command that knows none.
    fn bed() -> (tempfile::TempDir, PathBuf, Repositories) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        (folder, root, Repositories::new(std::iter::empty()))
    }

    /// Creates a directory as the command or, without one, as another process.
    fn folder(path: &Path, command: Option<&Repositories>) {
        std::fs::create_dir(path).expect("a folder");
        if let Some(command) = command {
            command.made(&Spot::of(path), false, NEW);
        }
    }

    fn is_anothers(repositories: &Repositories, root: &Path, inside: &str) -> bool {
        repositories.is_anothers(root, Path::new(inside), NEW).expect("looks")
    }

    #[test]
    fn a_repository_beyond_the_bound_is_not_the_commands() {
        let (_folder, root, mut all) = bed();
        all.most_own = 3;
        for (name, is_remembered) in [("a", true), ("b", false)] {
            folder(&root.join(name), Some(&all));
            folder(&root.join(name).join(".git"), Some(&all));
            assert_eq!(is_anothers(&all, &root, &format!("{name}/.git/hooks")), !is_remembered, "{name}");
            if is_remembered {
                folder(&root.join("c"), Some(&all));
            }
        }
    }

    #[test]
    fn a_number_that_is_given_again_is_not_the_same_folder() {
        let (_folder, root, all) = bed();
        let about = |seconds| {
            let mut about = About::folder(&reach::open(&root).expect("a folder")).expect("known");
            about.born = Some(Duration::from_secs(seconds));
            about
        };
        all.own(&about(1));
        let is_known = |seconds| all.is_known(&about(seconds), || Ok(Signs::default())).expect("looks");
        assert!(is_known(1));
        assert!(!is_known(2));
    }

    /// A user runs `git init --bare` in an empty directory that the command created for the repository.
    #[test]
    fn a_repository_that_somebody_makes_in_a_folder_of_the_commands_is_theirs() {
        for (name, first, is_new) in
            [("bare", "", NEW), (".git", "", NEW), ("late", "config", NEW), ("persons", "config", OLD)]
        {
            let (_folder, root, all) = bed();
            folder(&root.join(name), (is_new(None)).then_some(&all));
            if !first.is_empty() {
                std::fs::write(root.join(name).join(first), "").expect("a file");
                all.made(&Spot::of(&root.join(name).join(first)), true, is_new);
            }
            for sign in ["refs", "objects"] {
                std::fs::create_dir(root.join(name).join(sign)).expect("a folder");
            }
            std::fs::write(root.join(name).join("HEAD"), "ref: refs/heads/main\n").expect("a file");
            let spot = Spot::of(&root.join(name).join("config"));
            assert!(all.holds_anothers(&spot, "config").expect("looks"), "{name}");
            assert!(is_anothers(&all, &root, &format!("{name}/hooks")), "{name}");
            // A further name that the command creates does not make the repository its own either.
            std::fs::write(root.join(name).join("commondir"), "x").expect("a file");
            all.made(&Spot::of(&root.join(name).join("commondir")), true, NEW);
            assert!(all.holds_anothers(&spot, "config").expect("looks"), "{name}");
        }
    }

    #[test]
    fn whose_a_repository_is_tells_who_made_its_signs() {
        let (_folder, root, all) = bed();
        let make = |path: &str, sign: &str, is_new: fn(Option<Duration>) -> bool| {
            std::fs::write(root.join(path).join(sign), "x").expect("a file");
            all.made(&Spot::of(&root.join(path).join(sign)), true, is_new);
        };
        for name in ["old", "theirs", "young", "own"] {
            folder(&root.join(name), (name == "own").then_some(&all));
        }
        std::fs::write(root.join("theirs/HEAD"), "x").expect("a file");
        std::fs::create_dir(root.join("theirs/objects")).expect("a folder");
        for (name, is_new) in [("old", OLD), ("theirs", OLD), ("young", NEW), ("own", NEW)] {
            make(name, "config", is_new);
            // The guard denies that the command creates `HEAD` there.
            if name != "theirs" {
                make(name, "HEAD", is_new);
            }
            let spot = Spot::of(&root.join(name).join("config"));
            let is_anothers = all.holds_anothers(&spot, "config").expect("looks");
            assert_eq!(is_anothers, name == "theirs" || name == "young", "{name}");
            assert_eq!(
                super::tests::is_anothers(&all, &root, &format!("{name}/hooks")),
                is_anothers,
                "{name}"
            );
        }
        assert!(all.found().0.is_empty(), "none is complete");
        make("old", "commondir", OLD);
        std::fs::rename(root.join("old"), root.join("moved")).expect("moves");
        let (found, others) = all.found();
        let paths: Vec<_> = found.into_iter().map(|(path, _)| path).collect();
        assert_eq!((paths, others), (vec![root.join("moved")], 0));
    }

    /// Commands choose the depth, and other commands wait for the judgement of a move. Opening each prefix of
    /// the path from the root takes about 200 times as long as opening the path.
    #[test]
    fn the_work_for_a_path_grows_with_its_depth_and_no_faster() {
        const DEPTH: usize = 400;
        let (_folder, root, all) = bed();
        all.known.borrow_mut().begun.insert(0);
        let inside: PathBuf = std::iter::repeat_n("info", DEPTH).collect();
        std::fs::create_dir_all(root.join(&inside)).expect("folders");
        let own_time = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
        let time = |work: &dyn Fn()| {
            let once = || {
                let before = own_time();
                work();
                own_time().saturating_sub(before)
            };
            (0..5).map(|_| once()).min().unwrap_or_default()
        };
        let opened = time(&|| drop(reach::open(&root.join(&inside)).expect("a folder")));
        let others = time(&|| assert!(!all.is_anothers(&root, &inside, NEW).expect("looks")));
        let used = time(&|| assert!(all.used(&root, &inside).expect("looks").is_none()));
        for taken in [others, used] {
            assert!(taken < 50 * opened, "{taken:?} instead of about {opened:?}");
        }
    }
}
