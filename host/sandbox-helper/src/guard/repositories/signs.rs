//! Names that make a directory a git directory, and names that git obeys or writes to in one.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use scorpiox_git::{
    Configured, HOOKS, OLD_REMOTES, SIGNS, Signs, WRITTEN, WRITTEN_AND_USUAL, configured, has_starting_remote,
};
use scorpiox_sandbox::Grounds;

use super::super::absent::folded;
use super::super::caller::Spot;
use super::super::mounts::About;
use super::super::opened::itself;

/// Number of entries from which a directory has others than those of git.
const MAX_OF_GIT: usize = 128;
/// Directories in whose files git writes, at any depth.
const WRITTEN_FOLDERS: [&str; 3] = ["logs", "refs", "info"];
/// Maximum number of entries below such a directory to look at.
const MAX_LOOKS: usize = 4096;

/// Name of a git directory, in the form that [`folded`] returns.
pub(super) const NAME: &str = ".git";
/// Directories in a git directory that hold further ones, at any depth.
pub(super) const HOLD_MORE: [&str; 2] = ["worktrees", "modules"];
/// Names that make a directory a git directory, and names that git obeys in one.
pub(super) const OBEYED: [&str; 14] = [
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
    "gitweb",
];
/// Configurations at the top of a git directory.
pub(super) const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Names without which git does not accept a directory as its own, as git spells them.
pub(super) const ASKED_FOR: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];
/// Directories that git creates in a directory before it counts as a git directory.
pub(super) const FIRST_MADE: [&str; 5] = ["hooks", "info", "branches", "refs", "objects"];
/// Files that git creates in a directory before it counts as a git directory.
pub(super) const FIRST_WRITTEN: [&str; 3] = ["HEAD", "description", "config"];
/// Names at the top of a git directory that git writes to, or whose contents it writes, in addition to `OBEYED` and to those
/// through which it follows links.
const WRITTEN_BESIDE: [&str; 7] =
    ["annex", "fsmonitor--daemon", "fsmonitor--daemon.ipc", "hub", "lfs", "lost-found", "svn"];
/// Names of `OBEYED` that are directories whose contents git obeys.
pub(super) const OBEYED_FOLDERS: [&str; 7] =
    ["hooks", "info", "worktrees", "modules", "remotes", "branches", "gitweb"];
/// Names that must stay in an existing repository: without them git would search further up. Git itself
/// replaces them, but never removes them.
pub(super) const STAY: [&str; 5] = ["head", "objects", "refs", "config", "commondir"];

/// Returns `true` if a list contains a name in any case, because some file systems ignore it.
pub(super) fn contains(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns `true` if git obeys or writes to a folded name at the top of a git directory.
pub(super) fn is_written(name: &str) -> bool {
    OBEYED.contains(&name)
        || WRITTEN_BESIDE.contains(&name)
        || contains(&WRITTEN, name)
        || contains(&WRITTEN_AND_USUAL, name)
}

/// Returns `true` if the contents of a directory, or of the one at `at`, make it a git directory.
pub(super) fn is_of_git(folder: &OwnedFd, at: Option<&Spot>) -> io::Result<bool> {
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
pub(super) fn entry(spot: &Spot) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&spot.folder, spot.bare(), flags, Mode::empty())?)
}

/// Inspects the entry with this name in a directory; `None` if there is none.
pub(super) fn there(folder: &OwnedFd, name: &str) -> io::Result<Option<About>> {
    match About::entry(folder, name.as_ref()) {
        Ok(about) => Ok(Some(about)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the reason to report a directory: git would start programs as soon as somebody makes a repository of it, or
/// write to another file than one of that repository. It has hooks, a configuration that git obeys, remotes with programs,
/// or links.
///
/// Other files in it excuse nothing: a later command can remove them, of which nobody is told. The top of a work tree
/// counts only if somebody has begun to make a git directory there, too. `keeps_git` is `true` if no command can remove
/// its `.git`.
pub(super) fn grounds(folder: &OwnedFd, keeps_git: bool) -> io::Result<Option<Grounds>> {
    let leads_away = |name: &&str| leads_away(folder, name).unwrap_or(true);
    let holds_links = |name: &&str| may_hold_links(folder, name, &mut { MAX_LOOKS }).unwrap_or(true);
    if leads_away(&"hooks") || WRITTEN_FOLDERS.iter().any(holds_links) {
        return Ok(Some(Grounds::Used));
    }
    let is_usual_link = || {
        WRITTEN_AND_USUAL.iter().chain(&OLD_REMOTES).any(leads_away) || OLD_REMOTES.iter().any(holds_links)
    };
    if WRITTEN.iter().any(leads_away) || (is_usual_link() && has_names_of_git_alone(folder)?) {
        return Ok(Some(Grounds::Used));
    }
    // A name that git asks for can only add a reason.
    let is_begun = signs(folder, None)?.are_begun();
    if is_begun && is_of_git(folder, None)? {
        return Ok(Some(Grounds::Used));
    }
    let grounds = match configured(Path::new(&itself(folder))) {
        // These are no other program's.
        Configured::Repository | Configured::Starts { has_core: true } => return Ok(Some(Grounds::Used)),
        Configured::Starts { has_core: false } => Grounds::Used,
        Configured::Nothing if leads_away(&"config") || has_hooks(folder)? => Grounds::Used,
        Configured::Nothing if has_starting_remote(Path::new(&itself(folder))) => Grounds::Used,
        Configured::Nothing if may_change(folder)? => Grounds::Harmless,
        Configured::Nothing => return Ok(None),
    };
    let is_excused = !is_begun && keeps_git && is_top_of_work_tree(folder)?;
    Ok((!is_excused).then_some(grounds))
}

/// Returns `true` if a directory has something with the name of a configuration or of a directory of remotes.
fn may_change(folder: &OwnedFd) -> io::Result<bool> {
    for name in CONFIGURATIONS.iter().chain(&OLD_REMOTES) {
        let is_remotes = OLD_REMOTES.contains(name);
        if there(folder, name)?.is_some_and(|entry| entry.is_folder == is_remotes) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a directory has a complete repository with the name `.git`.
fn is_top_of_work_tree(folder: &OwnedFd) -> io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, NAME, flags, Mode::empty()) {
        Ok(repository) => Ok(signs(&repository, None)?.are_complete()),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns `true` if a directory has a directory `hooks` with a name that git starts. A directory of such a name is no
/// program: projects have a `hooks/update`.
fn has_hooks(folder: &OwnedFd) -> io::Result<bool> {
    // Most of the folders that a command fills have none.
    let may_be_there = !matches!(statat(folder, "hooks", AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
    for hook in HOOKS.iter().filter(|_| may_be_there) {
        match statat(folder, Path::new("hooks").join(hook), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => {}
            Ok(_) => return Ok(true),
            Err(Errno::NOENT) => {}
            // No names can be looked up in it.
            Err(Errno::NOTDIR) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Returns `true` if an entry is there that is neither a file nor a directory.
fn leads_away(folder: &OwnedFd, name: &str) -> io::Result<bool> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => {
            Ok(!matches!(FileType::from_raw_mode(found.st_mode), FileType::RegularFile | FileType::Directory))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns `true` if a directory below another has an entry that is neither a file nor a directory, at any depth, or
/// cannot be looked at completely: git appends to files of these names. `looks` is the number of entries to look at.
fn may_hold_links(folder: &OwnedFd, name: &str, looks: &mut usize) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = match openat(folder, name, flags, Mode::empty()) {
        Ok(inside) => inside,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    for entry in Dir::read_from(&inside)? {
        let entry = entry?;
        // Git makes no names in other encodings there.
        let Ok(name) = entry.file_name().to_str() else { return Ok(true) };
        if name == "." || name == ".." {
            continue;
        }
        let Some(left) = looks.checked_sub(1) else { return Ok(true) };
        *looks = left;
        if leads_away(&inside, name)? || may_hold_links(&inside, name, looks)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if git uses each name in a directory at the top of a git directory.
pub(super) fn has_names_of_git_alone(folder: &OwnedFd) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = Dir::new(openat(folder, ".", flags, Mode::empty())?)?;
    for (number, entry) in entries.enumerate() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_itself = name == "." || name == "..";
        if number > MAX_OF_GIT || (!is_itself && !is_written(&folded(name))) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the signs of git in a directory, except for the name `but`.
pub(super) fn signs(folder: &OwnedFd, but: Option<&str>) -> io::Result<Signs> {
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
