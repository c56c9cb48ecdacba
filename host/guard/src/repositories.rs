//! Repositories of git that come to be while a command runs.
//!
//! What was there before has rules of its own. What the command makes is told when it has ended. What somebody
//! else makes meanwhile is nothing that the command may change.
//!
//! A folder needs no name to be one of git's: git looks for `HEAD`, `objects` and `refs` in each folder above the
//! one that it is started in. So each of these names is looked at when it is made, however that is done.

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
use scorpiox_gitdirs::{SIGNS, Signs};
use scorpiox_kernel::reach::{self, Identity};

use super::absent::{folded, what_becomes};
use super::caller::Spot;
use super::came::Came;
use super::mounts::About;
use super::opened::itself;

/// What git looks for, as [`folded`] gives it.
const NAME: &str = ".git";
/// Folders in one of git's that hold further ones, at any depth.
const HOLD_MORE: [&str; 2] = ["worktrees", "modules"];
/// Names in a folder of git's by which it becomes one, and what git obeys in it.
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
/// Those of them without which git takes a folder for none of its own.
const ASKED_FOR: [&str; 4] = ["head", "objects", "refs", "commondir"];
/// Those of them that are folders with more in them that git obeys.
const OBEYED_FOLDERS: [&str; 6] = ["hooks", "info", "worktrees", "modules", "remotes", "branches"];
/// Names that stay where they are in a repository from before: without them git would look further up. Git itself
/// puts others in their places, and never takes them away.
const STAY: [&str; 5] = ["head", "objects", "refs", "config", "commondir"];
/// Most folders that are remembered to be the command's own, of 9 bytes each: more than any build or installation
/// makes. A repository in one that came later counts as somebody else's.
const MAX_OWN: usize = 1 << 18;

/// Most folders that are held to see what became of them. Those of which only the path is known count in the end where they
/// were removed, and installations bring many.
const MAX_HELD: usize = 256;

/// Those of a command.
#[derive(Debug)]
pub(super) struct Repositories {
    /// Things that got the name, and folders that got one of those that git obeys: others may make repositories of them.
    came: Came,
    known: RefCell<Known>,
    /// What folders are remembered by.
    hasher: RandomState,
    /// How many of the command's own.
    most_own: usize,
}

/// Folders that the command may change though they are git's, each by a hash of what it is told by. Numbers are given
/// again, so when it was made counts, too.
#[derive(Debug, Default)]
struct Known {
    /// They were git's when the command began, and have rules.
    begun: HashSet<u64>,
    /// Those of them that git would have taken for repositories: nothing can become of them.
    complete: HashSet<u64>,
    /// The command made them. A repository that is in one counts only if it is the command's, too.
    own: HashSet<u64>,
    /// The command made them git's, by the first of the names that git asks for or by the name `.git`.
    own_repositories: HashSet<u64>,
}

impl Known {
    /// Notes a folder with rules, if it is one of git's.
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
    /// Those of a command with rules about these paths: there is one in each repository that is there.
    pub(super) fn new<'a>(ruled: impl Iterator<Item = &'a Path>) -> Self {
        let hasher = RandomState::new();
        let is_obeyed = |path: &&Path| path.file_name().is_some_and(|name| OBEYED.contains(&&*folded(name)));
        let folders: BTreeSet<&Path> = ruled.filter(is_obeyed).filter_map(Path::parent).collect();
        let mut known = Known::default();
        for path in folders {
            // What is gone, or cannot be looked at, stays somebody else's.
            let _ = known.begin(path, &hasher);
        }
        let known = RefCell::new(known);
        Self { came: Came::holding(MAX_HELD), known, hasher, most_own: MAX_OWN }
    }

    /// The command made a name: that of a file, or of what may be a folder. `is_new` says of a time whether it has
    /// begun by then.
    pub(super) fn made(&self, spot: &Spot, is_file: bool, is_new: impl Fn(Option<Duration>) -> bool) {
        let name = folded(spot.bare());
        let is_repository = name == NAME;
        if is_repository {
            self.came.add(spot);
        }
        self.note_obeyed(spot, &name, is_new);
        // Most of what commands make are other files.
        if (is_repository || !is_file)
            && let Ok(about) = About::entry(&spot.folder, spot.bare())
            && (is_repository || about.is_folder)
        {
            self.own(&about);
        }
    }

    /// Something was moved between these places. Whose it is it stays, but what had no sign of git and gets its name.
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

    /// A name came to a folder, which git obeys if that is, or becomes, one of its own.
    fn note_obeyed(&self, spot: &Spot, name: &str, is_new: impl Fn(Option<Duration>) -> bool) {
        if !OBEYED.contains(&name) {
            return;
        }
        // Nothing becomes of what was a repository, which has rules.
        let about = About::folder(&spot.folder);
        let is_complete = |about: &About| self.known.borrow().complete.contains(&key(&self.hasher, about));
        if about.as_ref().is_ok_and(is_complete) {
            return;
        }
        self.came.add_folder(&spot.folder);
        // What cannot be looked at stays somebody else's.
        if let Ok(about) = about
            && SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(name))
        {
            let _ = self.note_sign(spot, &about, name, is_new);
        }
    }

    /// A sign of git came to a folder.
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
        // A folder that somebody else made meanwhile is not the command's, whatever is in it; nor is what somebody else
        // began to make a repository in one of the command's.
        let was_none = if is_own {
            !before.are_begun()
        } else {
            let is_of_git = || before.are_of_git(Path::new(&itself(&spot.folder)));
            !is_begun && !is_new(about.born) && !is_of_git()
        };
        if was_none && is_asked_for {
            self.own_repository(about);
        } else if was_none {
            // Git would not take it for one of its own yet, so somebody else can still make it theirs.
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

    /// Reports whether a folder that is new is the command's own.
    pub(super) fn owns(&self, folder: &About) -> bool {
        self.known.borrow().own.contains(&key(&self.hasher, folder))
    }

    fn own_repository(&self, about: &About) {
        let mut known = self.known.borrow_mut();
        if known.own_repositories.len() < self.most_own {
            known.own_repositories.insert(key(&self.hasher, about));
        }
    }

    /// Reports whether a command may change what git obeys in a folder, in which `signs` are.
    fn is_known(&self, about: &About, signs: impl FnOnce() -> io::Result<Signs>) -> io::Result<bool> {
        let (key, known) = (key(&self.hasher, about), self.known.borrow());
        if known.begun.contains(&key) || known.own_repositories.contains(&key) {
            return Ok(true);
        }
        Ok(known.own.contains(&key) && (!about.is_folder || !signs()?.are_begun()))
    }

    /// Whether a name is, or becomes, what git obeys, in a place that somebody else made a repository since the command
    /// began.
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

    /// Reports whether a folder is, or lies in, one that git used before the command: `inside` a folder `root` that
    /// commands may write to.
    pub(super) fn is_in_used(&self, root: &Path, inside: &Path) -> io::Result<bool> {
        let known = self.known.borrow();
        if known.begun.is_empty() {
            return Ok(false);
        }
        let mut path = root.to_owned();
        for part in std::iter::once(OsStr::new("")).chain(inside) {
            path.push(part);
            let key = key(&self.hasher, &About::folder(&reach::open(&path)?)?);
            // A project may have folders of such names, which git does not use.
            let is_used = known.complete.contains(&key) || folded(part) == NAME;
            if is_used && known.begun.contains(&key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether something stays where it is in a repository from before.
    pub(super) fn keeps_place(&self, spot: &Spot) -> io::Result<bool> {
        if !STAY.contains(&&*folded(spot.bare())) {
            return Ok(false);
        }
        let key = key(&self.hasher, &About::folder(&spot.folder)?);
        Ok(self.known.borrow().begun.contains(&key))
    }

    /// Finds all that became a repository and is there now, whoever made the last of it, and counts the others.
    pub(super) fn found(&self) -> (Vec<(PathBuf, Identity)>, u32) {
        let mut paths = Vec::new();
        let lost = self.came.each(|thing, path| {
            let is_named = || path.file_name().is_some_and(|name| folded(name) == NAME);
            let is_used = || match signs(thing, None) {
                Ok(signs) => signs.are_used(),
                // Also one that was closed, which the next command can open.
                Err(error) => error.kind() != io::ErrorKind::NotADirectory,
            };
            // What cannot be looked at is told whatever is there.
            if is_named() || is_used() {
                paths.push((path, super::identity_of(thing).unwrap_or_default()));
            }
        });
        paths.sort();
        paths.dedup();
        let lost_places = u32::try_from(lost.places.len()).unwrap_or(u32::MAX);
        (paths, lost.others.saturating_add(lost_places))
    }

    /// Whether a folder is, or lies in, one of git's that somebody else made since the command began: `inside` a
    /// folder `root` that commands may write to.
    pub(super) fn is_anothers(
        &self,
        root: &Path,
        inside: &Path,
        is_new: impl Fn(Option<Duration>) -> bool,
    ) -> io::Result<bool> {
        let mut path = root.to_owned();
        let (mut is_in_git, mut may_be_one) = (false, false);
        for part in inside {
            let name = folded(part);
            let is_obeyed = OBEYED_FOLDERS.contains(&&*name);
            if is_obeyed && !is_in_git && self.is_anothers_itself(&reach::open(&path)?)? {
                return Ok(true);
            }
            path.push(part);
            let is_repository = name == NAME;
            if is_repository || may_be_one {
                let folder = reach::open(&path)?;
                let about = About::folder(&folder)?;
                let is_known = self.is_known(&about, || signs(&folder, None))?;
                let counts = || is_repository || is_new(about.born);
                if !is_known && (counts() || is_of_git(&folder, None)?) {
                    return Ok(true);
                }
                // What is in a repository that is known is no further one. What is in a folder of such is.
                may_be_one &= !(is_known && is_of_git(&folder, None)?);
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

/// Whether a folder, or the one at this place, is one of git's by what is in it.
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

/// Opens the folder that has this name, to look into it.
fn entry(spot: &Spot) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&spot.folder, spot.bare(), flags, Mode::empty())?)
}

/// The names by which git knows a folder that are there, but for one of them.
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
    use super::*;

    const OLD: fn(Option<Duration>) -> bool = |_| false;
    const NEW: fn(Option<Duration>) -> bool = |_| true;

    /// A folder, with the repositories of a command that knows none.
    fn bed() -> (tempfile::TempDir, PathBuf, Repositories) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        (folder, root, Repositories::new(std::iter::empty()))
    }

    /// Makes a folder as the command, or somebody else, does.
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

    /// `git init --bare` of a person, in an empty folder that the command made for it.
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
            // Nor does a name that the command adds make it the command's.
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
            // The guard lets nobody make it anew.
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
}
