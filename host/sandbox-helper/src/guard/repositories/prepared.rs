//! Reports directories that are repositories, or that are prepared for one, when the command has ended.
//!
//! A directory is prepared if git would start programs in it, or write through links, as soon as somebody makes a
//! repository of it. Nobody tells the supervisor when that happens. Prepared directories are therefore reported with
//! their current paths, and again if a later command moves them, or a directory around them.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use scorpiox_sandbox::Grounds;
use scorpiox_sys::linux::reach::Identity;

use super::super::absent::folded;
use super::super::caller::Spot;
use super::super::identity_of;
use super::super::mounts::About;
use super::Repositories;
use super::signs::{NAME, grounds, is_written, signs, there};

/// Maximum number of entries to search in moved directories when the command has ended: about 100 ms. A directory that is
/// not searched completely is counted.
const MAX_SEARCHED: usize = 100_000;
/// Maximum depth below a moved directory: each level keeps a directory open.
const MAX_DEPTH: usize = 64;

/// Maximum number of directories that are known by path only to look at together while the command runs: about 2 ms.
const MAX_LOOKED_AT: usize = 256;
/// Maximum number of repositories of other processes that are remembered.
const MAX_SIGHTED: usize = 64;

/// Directory that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Found {
    pub(in super::super) grounds: Grounds,
    pub(in super::super) path: PathBuf,
    pub(in super::super) identity: Identity,
}

impl Repositories {
    /// Records a moved directory, since the result of an earlier command may have named it, or something in it, by its
    /// old path. Rules that existed when the command started still apply.
    pub(super) fn note_moved(&self, to: &Spot) {
        if About::entry(&to.folder, to.bare()).is_ok_and(|about| about.is_folder) {
            self.moved.add(to);
        }
    }

    /// Returns the reason to report a moved directory, unless a rule has protected it from the command.
    fn grounds_when_moved(&self, folder: &OwnedFd) -> io::Result<Option<Grounds>> {
        let about = About::folder(folder)?;
        let is_old = self.known.borrow().begun.contains(&about, &self.hasher);
        if is_old { Ok(None) } else { self.grounds(folder, &about) }
    }

    /// Like [`grounds`]. Each command protects the `.git` of the work trees that were there when it started. One that
    /// a command created could be removed by another that started before.
    fn grounds(&self, folder: &OwnedFd, about: &About) -> io::Result<Option<Grounds>> {
        let keeps_git = self.is_work_tree(about)
            && there(folder, NAME)?.is_some_and(|entry| !self.may_be_by_commands(about, &entry));
        grounds(folder, keeps_git)
    }

    /// Remembers the repositories that other processes made where the command may have put hooks. The command can replace
    /// them before it ends. Looks at all directories that are kept open, and at some of the others.
    pub(in super::super) fn look_for_others(&self, is_new: impl Fn(&About) -> bool) {
        let look = |thing: &OwnedFd, path: PathBuf| {
            let mut sighted = self.sighted.borrow_mut();
            if sighted.len() < MAX_SIGHTED
                && self.is_made_by_another(thing, &is_new)
                && !sighted.iter().any(|known| known.path == path)
            {
                let identity = identity_of(thing).unwrap_or_default();
                sighted.push(Found { grounds: Grounds::MadeByAnother, path, identity });
            }
        };
        self.came.each_held(look);
        self.came.some_remembered(MAX_LOOKED_AT, look);
    }

    /// Returns everything that became a repository, or may start programs once somebody makes a repository of it, and still
    /// exists: the harmless directories last, each once. Also returns the number of directories of which nothing is known.
    /// `is_packed` returns `true` below directories of packages, of which nobody makes a repository.
    /// Those that are not judged in time are reported as if they started programs.
    pub(in super::super) fn found(
        &self,
        until: Instant,
        is_packed: impl Fn(&Path) -> bool,
        is_new: impl Fn(&About) -> bool,
    ) -> (Vec<Found>, u32) {
        let mut all = Vec::new();
        let lost = self.came.each(|thing, path| {
            let is_named = || path.file_name().is_some_and(|name| folded(name) == NAME);
            let grounds = if self.is_made_by_another(thing, &is_new) {
                Some(Grounds::MadeByAnother)
            } else if is_named() || Instant::now() >= until {
                Some(Grounds::Used)
            } else {
                self.grounds_now(thing, is_packed(&path))
            };
            if let Some(grounds) = grounds {
                // A directory that cannot be inspected is always reported.
                all.push(Found { grounds, path, identity: identity_of(thing).unwrap_or_default() });
            }
        });
        let lost_places = u32::try_from(lost.places.len()).unwrap_or(u32::MAX);
        let mut others = lost.others.saturating_add(lost_places);
        let unsearched = self.search_moved(until, &is_packed, &mut all);
        others = others.saturating_add(unsearched);
        all.sort();
        let mut paths = HashSet::new();
        // Whatever is at the path now, it is not what the other process used, unless that was moved.
        let is_moved = |sighted: &&Found| {
            let is_it =
                |found: &Found| (found.grounds, found.identity) == (sighted.grounds, sighted.identity);
            all.iter().any(is_it)
        };
        let sighted: Vec<_> =
            self.sighted.borrow().iter().filter(|sighted| !is_moved(sighted)).cloned().collect();
        let mut all: Vec<_> = sighted.into_iter().chain(all).collect();
        all.retain(|found| paths.insert(found.path.clone()));
        (all, others)
    }

    /// Returns `true` if another process made a repository of a directory since the command started, or began to.
    fn is_made_by_another(&self, thing: &OwnedFd, is_new: impl Fn(&About) -> bool) -> bool {
        let is_made = || {
            let about = About::folder(thing)?;
            if !about.is_folder || self.known.borrow().begun.contains(&about, &self.hasher) {
                return Ok(false);
            }
            self.has_sign_of_another(thing, &about, is_new)
        };
        // One that cannot be inspected is reported for that.
        let is_made: io::Result<bool> = is_made();
        is_made.unwrap_or(false)
    }

    /// Returns the reason to report a directory that git may use already.
    fn grounds_now(&self, thing: &OwnedFd, is_packed: bool) -> Option<Grounds> {
        let grounds = || {
            let signs = signs(thing, None)?;
            if signs.are_used() {
                return Ok(Some(Grounds::Used));
            }
            if is_packed && !signs.are_begun() {
                return Ok(None);
            }
            self.grounds(thing, &About::folder(thing)?)
        };
        // An inaccessible directory counts: the next command can restore its permissions.
        grounds().unwrap_or_else(|error: io::Error| {
            (error.kind() != io::ErrorKind::NotADirectory).then_some(Grounds::Used)
        })
    }

    /// Adds the prepared directories in moved ones. Returns the number of moved directories that were not searched
    /// completely.
    fn search_moved(&self, until: Instant, is_packed: &dyn Fn(&Path) -> bool, found: &mut Vec<Found>) -> u32 {
        let mut unsearched = 0_u32;
        let mut search =
            Search { all: self, until, is_packed, left: MAX_SEARCHED, searched: HashSet::new(), found };
        // A directory that is gone was removed, or moved by a process that is no command.
        let lost = self.moved.each(|folder, path| {
            if !is_packed(&path) && search.folder(folder, &path, MAX_DEPTH).is_err() {
                unsearched = unsearched.saturating_add(1);
            }
        });
        unsearched.saturating_add(self.moved.without_room()).saturating_add(lost.closed)
    }
}

/// A search for prepared directories.
struct Search<'a> {
    all: &'a Repositories,
    until: Instant,
    is_packed: &'a dyn Fn(&Path) -> bool,
    /// Number of entries to look at.
    left: usize,
    /// Directories that were searched, or are: a moved directory can lie in another one.
    searched: HashSet<Identity>,
    found: &'a mut Vec<Found>,
}

impl Search<'_> {
    /// Searches a directory and those below it. Fails if something was not searched.
    fn folder(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or(io::ErrorKind::QuotaExceeded)?;
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if !self.searched.insert(identity_of(folder)?) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entries = Dir::new(openat(folder, ".", flags, Mode::empty())?)?;
        let (mut below, mut has_name_of_git): (Vec<OsString>, bool) = (Vec::new(), false);
        for entry in entries {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::QuotaExceeded)?;
            let name_of_entry = folded(name);
            has_name_of_git |= is_written(&name_of_entry);
            let may_be_folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            // These have rules, or were reported when they were created.
            if may_be_folder && name_of_entry != NAME {
                below.push(name.to_owned());
            }
        }
        if has_name_of_git {
            let is_complete = signs(folder, None)?.are_complete();
            if is_complete {
                return Ok(());
            }
            if let Some(grounds) = self.all.grounds_when_moved(folder)? {
                let found = Found { grounds, path: path.to_owned(), identity: identity_of(folder)? };
                self.found.push(found);
            }
        }
        let mut unsearched = None;
        for name in below {
            let path = path.join(&name);
            if (self.is_packed)(&path) {
                continue;
            }
            let found = match openat(folder, &name, flags, Mode::empty()) {
                Ok(inside) => self.folder(&inside, &path, depth),
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(()),
                Err(error) => Err(error.into()),
            };
            // The rest may have something to report.
            unsearched = unsearched.or(found.err());
        }
        unsearched.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::tests::{NEW, OLD, bed, folder, later, nothing};
    use super::*;

    fn paths(all: &Repositories) -> Vec<PathBuf> {
        let (found, others) = all.found(later(), |path| path.iter().any(|part| part == "node_modules"), OLD);
        assert_eq!(others, 0);
        let prepared = found.into_iter().filter(|found| found.grounds != Grounds::Harmless);
        prepared.map(|found| found.path).collect()
    }

    fn put(all: &Repositories, path: &Path, text: &str) {
        std::fs::write(path, text).expect("a file");
        all.made(&Spot::of(path), true, NEW);
    }

    #[test]
    fn a_configuration_is_told_where_git_would_obey_it() {
        let (_folder, root, all) = bed();
        let alias = "[alias]\n\tst = !x\n";
        for (name, config, expected) in [
            ("alone", alias, true),
            ("include", "[include]\n\tpath = x\n", true),
            ("core", "[core]\n\tfsmonitor = x\n", true),
            ("dvc", "[core]\n    remote = x\n['remote \"x\"']\n    url = s3://x\n", false),
            ("app", "[database]\nhost = x\n", false),
        ] {
            std::fs::create_dir(root.join(name)).expect("a folder");
            put(&all, &root.join(name).join("config"), config);
            assert_eq!(paths(&all).contains(&root.join(name)), expected, "{name}");
        }
        // Somebody has begun a repository here, whatever else is there.
        folder(&root.join("begun"), Some(&all));
        folder(&root.join("begun/refs"), Some(&all));
        put(&all, &root.join("begun/config"), alias);
        put(&all, &root.join("begun/HEAD"), "ref: refs/heads/main\n");
        put(&all, &root.join("begun/README"), "x");
        assert!(paths(&all).contains(&root.join("begun")));
        // A later command can remove the other files.
        folder(&root.join("unpacked"), Some(&all));
        put(&all, &root.join("unpacked/README"), "x");
        put(&all, &root.join("unpacked/config"), alias);
        std::fs::create_dir(root.join("project")).expect("a folder");
        std::fs::write(root.join("project/main.c"), "x").expect("a file");
        put(&all, &root.join("project/config"), alias);
        let found = paths(&all);
        assert!(found.contains(&root.join("unpacked")) && found.contains(&root.join("project")), "{found:?}");
    }

    /// The host finds out if one of them can change: it sees all names and all processes.
    #[test]
    fn what_git_would_obey_is_found_though_it_is_harmless() {
        let (_folder, root, all) = bed();
        for (at, name) in
            [("a", "config"), ("b", "config.worktree"), ("c", "remotes"), ("d", "branches"), ("e", "README")]
        {
            folder(&root.join(at), Some(&all));
            if matches!(name, "remotes" | "branches") {
                folder(&root.join(at).join(name), Some(&all));
            } else {
                put(&all, &root.join(at).join(name), "");
            }
        }
        folder(&root.join("moved"), None);
        std::fs::write(root.join("moved/config"), "").expect("a file");
        all.note_moved(&Spot::of(&root.join("moved")));
        let (found, others) = all.found(later(), |_| false, OLD);
        let found: Vec<_> = found.into_iter().map(|found| (found.grounds, found.path)).collect();
        let expected = ["a", "b", "c", "d", "moved"].map(|name| (Grounds::Harmless, root.join(name)));
        assert_eq!((found, others), (expected.into(), 0));
    }

    #[test]
    fn links_below_references_count() {
        let (_folder, root, all) = bed();
        for name in ["refs-linked", "refs-plain"] {
            folder(&root.join(name), Some(&all));
            folder(&root.join(name).join("refs"), Some(&all));
        }
        std::os::unix::fs::symlink("../../x", root.join("refs-linked/refs/heads")).expect("a link");
        assert_eq!(paths(&all), [root.join("refs-linked")]);
    }

    /// Projects have folders of these names.
    #[test]
    fn an_old_remote_is_told_where_git_would_start_a_program() {
        let (_folder, root, all) = bed();
        let remote = |name: &str, kind: &str, text: &str| {
            folder(&root.join(name), Some(&all));
            folder(&root.join(name).join(kind), Some(&all));
            put(&all, &root.join(name).join(kind).join("origin"), text);
        };
        remote("remote", "remotes", "URL: ext::x\n");
        remote("branch", "branches", "ext::x\n");
        remote("readme", "branches", "ext::x\n");
        put(&all, &root.join("readme/README"), "x");
        remote("plain", "branches", "https://example.com/a.git\n");
        remote("data", "remotes", "a,b,c\n");
        // Links can get another target, or target's content, later.
        for (name, others) in [("link", None), ("project", Some("README"))] {
            folder(&root.join(name), Some(&all));
            std::os::unix::fs::symlink("../x", root.join(name).join("remotes")).expect("a link");
            all.made(&Spot::of(&root.join(name).join("remotes")), true, NEW);
            if let Some(other) = others {
                put(&all, &root.join(name).join(other), "x");
            }
        }
        assert_eq!(paths(&all), ["branch", "link", "readme", "remote"].map(|name| root.join(name)));
    }

    /// `git init` adds the names that are missing, and keeps the others.
    #[test]
    fn a_name_of_git_takes_no_reason_away() {
        use scorpiox_git::SIGNS;
        type Put = fn(&Repositories, &Path);
        let reasons: [(&str, Put); 6] = [
            ("include", |all, at| put(all, &at.join("config"), "[include]\n\tpath = ../x\n")),
            ("alias", |all, at| put(all, &at.join("config"), "[alias]\n\tst = !x\n")),
            ("core", |all, at| put(all, &at.join("config"), "[core]\n\tfsmonitor = x\n")),
            ("extension", |all, at| {
                put(all, &at.join("config"), "[extensions]\n\tworktreeConfig = true\n");
                put(all, &at.join("config.worktree"), "[core]\n\tfsmonitor = x\n");
            }),
            ("hook", |all, at| {
                folder(&at.join("hooks"), Some(all));
                std::fs::write(at.join("hooks/post-update"), "x").expect("a file");
            }),
            ("link", |all, at| {
                std::os::unix::fs::symlink("../x", at.join("config")).expect("a link");
                all.made(&Spot::of(&at.join("config")), true, NEW);
            }),
        ];
        let (_folder, root, all) = bed();
        let mut expected = Vec::new();
        for (reason, make) in reasons {
            for subset in 0..1_u32 << SIGNS.len() {
                for other in ["", "README"] {
                    let at = root.join(format!("{reason}-{subset}{other}"));
                    folder(&at, Some(&all));
                    make(&all, &at);
                    if !other.is_empty() {
                        put(&all, &at.join(other), "x");
                    }
                    let chosen = SIGNS.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
                    for (_, sign) in chosen.filter(|(_, sign)| !at.join(sign).exists()) {
                        match *sign {
                            "objects" | "refs" | "hooks" => folder(&at.join(sign), Some(&all)),
                            "config" if at.join(sign).is_symlink() => {}
                            file => put(&all, &at.join(file), ""),
                        }
                    }
                    expected.push(at);
                }
            }
        }
        expected.sort();
        let (found, others) = all.found(later(), |_| false, OLD);
        assert_eq!(others, 0);
        let found: HashSet<_> = found.into_iter().map(|found| found.path).collect();
        let missing: Vec<_> = expected.iter().filter(|path| !found.contains(*path)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// `chmod 0 config`: the next command can restore the permissions.
    #[test]
    fn a_configuration_that_cannot_be_read_counts() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, root, all) = bed();
        let config = root.join("store/config");
        folder(&root.join("store"), Some(&all));
        put(&all, &config, "");
        assert!(paths(&all).is_empty());
        std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o000)).expect("closes");
        // Root can read each file.
        if std::fs::read(&config).is_err() {
            assert_eq!(paths(&all), [root.join("store")]);
        }
    }

    /// Later commands cannot remove the `.git` of a work tree. A package is searched when it leaves the others.
    #[test]
    fn a_directory_hooks_of_a_package_or_a_work_tree_is_no_hook() {
        let (_folder, root, _) = bed();
        for sign in ["objects", "refs"] {
            std::fs::create_dir_all(root.join("tree/.git").join(sign)).expect("folders");
        }
        std::fs::write(root.join("tree/.git/HEAD"), "x").expect("a file");
        let ruled = [root.join("tree/.git")];
        let all = Repositories::new(ruled.iter().map(PathBuf::as_path), nothing());
        let hook = |name: &str, other: Option<&str>| {
            let at = root.join(name);
            std::fs::create_dir_all(at.parent().expect("a folder")).expect("folders");
            folder(&at, Some(&all));
            if let Some(other) = other {
                put(&all, &at.join(other), "x");
            }
            folder(&at.join("hooks"), Some(&all));
            std::fs::write(at.join("hooks/commit-msg"), "x").expect("a file");
        };
        hook("node_modules/x", Some("package.json"));
        hook("node_modules/y", None);
        hook("tree/x", None);
        std::fs::rename(root.join("tree/x/hooks"), root.join("tree/hooks")).expect("moves");
        all.moved(
            (&root.join("tree/x/hooks"), &root.join("tree/hooks")),
            &Spot::of(&root.join("tree/hooks")),
            OLD,
        );
        std::fs::create_dir_all(root.join("app/hooks/update")).expect("folders");
        all.made(&Spot::of(&root.join("app/hooks")), false, OLD);
        assert_eq!(paths(&all), [""; 0].map(PathBuf::from));
        hook("gerrit", Some("README"));
        hook("store", None);
        assert_eq!(paths(&all), [root.join("gerrit"), root.join("store")]);
        std::fs::remove_file(root.join("tree/.git/HEAD")).expect("removes");
        assert_eq!(paths(&all), ["gerrit", "store", "tree"].map(|name| root.join(name)));
    }

    /// A command that started before does not protect it.
    #[test]
    fn a_work_tree_of_a_command_excuses_nothing() {
        let (_folder, root, first) = bed();
        let (tree, git) = (root.join("a/tree"), root.join("a/tree/.git"));
        std::fs::create_dir(root.join("a")).expect("a folder");
        folder(&tree, Some(&first));
        folder(&git, Some(&first));
        for sign in ["objects", "refs"] {
            folder(&git.join(sign), Some(&first));
        }
        put(&first, &git.join("HEAD"), "ref: refs/heads/main\n");
        let later = Repositories::new([git.as_path()].into_iter(), Rc::clone(&first.by_commands));
        for all in [&first, &later] {
            folder(&tree.join("hooks"), Some(all));
            std::fs::write(tree.join("hooks/post-update"), "x").expect("a file");
            assert!(paths(all).contains(&tree));
            std::fs::rename(tree.join("hooks"), tree.join("unused")).expect("moves");
            std::fs::remove_file(tree.join("unused/post-update")).expect("removes");
            std::fs::remove_dir(tree.join("unused")).expect("removes");
        }
    }

    #[test]
    fn a_prepared_directory_is_told_again_wherever_it_is_moved_to() {
        let (_folder, root, first) = bed();
        for name in ["a/b/store/hooks", "node_modules/p/hooks", "c/.git/hooks"] {
            std::fs::create_dir_all(root.join(name)).expect("folders");
            std::fs::write(root.join(name).join("post-update"), "x").expect("a file");
        }
        // A later command, which knows nothing of the first one.
        let later = Repositories::new(std::iter::empty(), nothing());
        let moves = |from: &str, to: &str| {
            std::fs::rename(root.join(from), root.join(to)).expect("moves");
            later.moved((&root.join(from), &root.join(to)), &Spot::of(&root.join(to)), OLD);
        };
        moves("a", "d");
        assert_eq!(paths(&later), [root.join("d/b/store")]);
        moves("d/b", "e");
        assert_eq!(paths(&later), [root.join("e/store")]);
        moves("node_modules/p", "node_modules/q");
        moves("c", "f");
        assert_eq!(paths(&later), [root.join("e/store")], "packages, and a repository with rules of its own");
        moves("node_modules/q", "q");
        assert_eq!(paths(&later), [root.join("e/store"), root.join("q")]);
        assert!(paths(&first).is_empty());
    }

    /// `mv p bare.git/x; mv bare.git y`
    #[test]
    fn a_prepared_directory_in_a_repository_is_told_wherever_both_are_moved_to() {
        let (_folder, root, all) = bed();
        for name in ["bare/objects", "bare/refs", "p/hooks"] {
            std::fs::create_dir_all(root.join(name)).expect("folders");
        }
        std::fs::write(root.join("bare/HEAD"), "x").expect("a file");
        std::fs::write(root.join("p/hooks/post-update"), "x").expect("a file");
        let moves = |from: &str, to: &str| {
            std::fs::rename(root.join(from), root.join(to)).expect("moves");
            all.moved((&root.join(from), &root.join(to)), &Spot::of(&root.join(to)), OLD);
        };
        moves("p", "bare/x");
        moves("bare", "y");
        assert_eq!(paths(&all), [root.join("y/x")]);
    }

    /// More than are kept open, in a directory that is closed then.
    #[test]
    fn moved_directories_that_cannot_be_reached_are_counted() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, root, all) = bed();
        std::fs::create_dir(root.join("p")).expect("a folder");
        for number in 0..70 {
            let (from, to) = (root.join(number.to_string()), root.join(format!("p/{number}")));
            std::fs::create_dir(&from).expect("a folder");
            std::fs::rename(&from, &to).expect("moves");
            all.moved((&from, &to), &Spot::of(&to), OLD);
        }
        std::fs::remove_dir(root.join("p/69")).expect("removes");
        assert_eq!(all.found(later(), |_| false, OLD), (Vec::new(), 0));
        let close = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(root.join("p"), permissions).expect("sets the mode");
        };
        close(0);
        // Root can follow each path.
        let expected = if root.join("p/0").exists() { 0 } else { 6 };
        assert_eq!(all.found(later(), |_| false, OLD), (Vec::new(), expected));
        close(0o755);
    }

    #[test]
    fn moved_directories_that_are_not_searched_are_counted() {
        let (_folder, root, all) = bed();
        let deep: PathBuf = std::iter::repeat_n("x", MAX_DEPTH + 1).collect();
        std::fs::create_dir_all(root.join("a").join(deep)).expect("folders");
        std::fs::rename(root.join("a"), root.join("b")).expect("moves");
        all.moved((&root.join("a"), &root.join("b")), &Spot::of(&root.join("b")), OLD);
        assert_eq!(all.found(later(), |_| false, OLD), (Vec::new(), 1));
        scorpiox_sys::remove_folder(&root.join("b")).expect("removes");
        assert_eq!(all.found(later(), |_| false, OLD), (Vec::new(), 0));
    }

    /// One file of 1 MiB with many names would take minutes.
    #[test]
    fn directories_that_are_not_judged_in_time_are_reported() {
        let (_folder, root, all) = bed();
        for name in ["a", "b"] {
            folder(&root.join(name), Some(&all));
            put(&all, &root.join(name).join("config"), "[database]\n");
        }
        std::fs::create_dir_all(root.join("c/store")).expect("folders");
        all.moved((&root.join("x"), &root.join("c")), &Spot::of(&root.join("c")), OLD);
        let (found, others) = all.found(Instant::now(), |_| false, OLD);
        assert!(found.iter().all(|found| found.grounds == Grounds::Used), "{found:?}");
        assert_eq!((found.len(), others), (2, 1));
    }
}
