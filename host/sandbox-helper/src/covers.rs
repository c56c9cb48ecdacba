//! Applies the rules for paths in the workspace, with mounts in a command's own mount namespace.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, StatVfsMountFlags, StatxAttributes, StatxFlags, fstatvfs};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use scorpiox_sandbox::wire::{Cover, Exposed, Fault};
use scorpiox_sys::linux::reach::{self, Identity, Walk};
use scorpiox_sys::linux::sys;

use crate::root::{HIDDEN_FILE, HIDDEN_FOLDER};

/// Puts each cover in place. The paths must lie below an exposed directory. Only their last component may be
/// a link; a link elsewhere means that the path has changed since the host's scan.
pub(super) fn put(exposed: &[Exposed], covers: &[Cover]) -> Result<(), Fault> {
    // The walk opens a pinned directory again for its contents, which come later in the list.
    let mut walk = Walk::default();
    for cover in with_folders(exposed, covers) {
        place(exposed, &cover, &mut walk)
            .map_err(|error| Fault::of_path("protecting", cover.path(), error))?;
    }
    Ok(())
}

fn place(exposed: &[Exposed], cover: &Cover, walk: &mut Walk) -> io::Result<()> {
    let (spot, kind) = find(exposed, cover.path(), walk)?;
    let clone = |recursive: OpenTreeFlags| {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | recursive;
        open_tree(spot.as_fd(), "", flags)
    };
    let tree = match cover {
        Cover::Hide(_) => from_root(if kind.is_dir() { HIDDEN_FOLDER } else { HIDDEN_FILE })?,
        // A link that is mounted on itself can be followed, but neither moved nor removed. Its target has a
        // separate cover.
        Cover::Freeze(_) if kind.is_symlink() => clone(OpenTreeFlags::empty())?,
        // No mount can be placed here: see `guard`.
        Cover::Keep(_) | Cover::Absent(_) => return Ok(()),
        Cover::Pin(_) => clone(OpenTreeFlags::AT_RECURSIVE)?,
        Cover::Freeze(_) => {
            let tree = clone(OpenTreeFlags::AT_RECURSIVE)?;
            sys::set_mount_attributes(tree.as_fd(), libc::AT_RECURSIVE, libc::MOUNT_ATTR_RDONLY)?;
            tree
        }
    };
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree.as_fd(), "", spot.as_fd(), "", onto)?)
}

fn from_root(path: &str) -> io::Result<OwnedFd> {
    Ok(open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?)
}

/// Returns the covers that are mounts, and a pin for each directory above a cover. A command under the same
/// rules therefore cannot move such a directory with its protected contents, or replace it. A directory comes
/// before its contents.
pub(super) fn with_folders(exposed: &[Exposed], covers: &[Cover]) -> Vec<Cover> {
    let is_absent = |cover: &Cover| matches!(cover, Cover::Absent(_));
    let mounts = covers.iter().filter(|cover| !is_absent(cover));
    let mut all: BTreeMap<PathBuf, Cover> =
        mounts.map(|cover| (cover.path().to_owned(), cover.clone())).collect();
    for cover in covers {
        let Some(root) = root_of(exposed, cover.path()).filter(|root| root.write) else { continue };
        let folders = cover.path().ancestors().skip(1).take_while(|path| *path != root.path.as_path());
        // Directories above an absent name may be absent, too, and a file there may be replaced.
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| !found.is_file());
        let is_there = |path: &&Path| !is_absent(cover) || is_folder(path);
        for folder in folders.filter(is_there) {
            all.entry(folder.to_owned()).or_insert_with(|| Cover::Pin(folder.into()));
        }
    }
    all.into_values().collect()
}

/// Returns the covers for bubblewrap, which follows links: the guard protects a covered link instead.
pub(super) fn without_links(exposed: &[Exposed], covers: &[Cover]) -> Vec<Cover> {
    let is_link = |cover: &Cover| cover.path().symlink_metadata().is_ok_and(|found| found.is_symlink());
    let absent = covers.iter().filter(|cover| matches!(cover, Cover::Absent(_))).cloned();
    let all = with_folders(exposed, covers).into_iter().chain(absent);
    all.map(|cover| match cover {
        Cover::Freeze(path) | Cover::Hide(path) if is_link(&Cover::Keep(path.clone())) => Cover::Keep(path),
        other => other,
    })
    .collect()
}

/// Identity of the file that a cover must show, if it is known in advance.
pub(super) type Expected = Option<Identity>;

/// Returns the identities that the covers must show, before bubblewrap puts them in place.
pub(super) fn expected(covers: &[Cover]) -> Result<Vec<Expected>, Fault> {
    let expect = |cover: &Cover| match cover {
        Cover::Pin(path) | Cover::Freeze(path) | Cover::Keep(path) => {
            let identity = reach::identity_at(path.as_path());
            identity.map(Some).map_err(|error| Fault::of_path("protecting", path.as_path(), error))
        }
        Cover::Hide(_) | Cover::Absent(_) => Ok(None),
    };
    covers.iter().map(expect).collect()
}

/// Checks that bubblewrap put each cover at its path, with the expected identity. There are as many mounts as
/// covers, so if all of them are found, none is anywhere else.
pub(super) fn check(covers: &[Cover], expected: &[Expected]) -> Result<(), Fault> {
    for (cover, expected) in covers.iter().zip(expected) {
        let path = cover.path();
        let is_right = shows(cover, *expected).map_err(|error| Fault::of_path("protecting", path, error))?;
        if !is_right {
            let fault =
                Fault::new(format!("protecting {}", path.display()), "another file came in its place");
            return Err(Fault { changed: true, ..fault });
        }
    }
    Ok(())
}

fn shows(cover: &Cover, expected: Expected) -> io::Result<bool> {
    if matches!(cover, Cover::Absent(_)) {
        return Ok(true);
    }
    let spot = reach::open(cover.path())?;
    let stat = rustix::fs::fstat(&spot)?;
    if matches!(cover, Cover::Keep(_)) {
        return Ok(expected == Some(reach::identity(&stat)));
    }
    let is_read_only = fstatvfs(&spot)?.f_flag.contains(StatVfsMountFlags::RDONLY);
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let about = rustix::fs::statx(&spot, "", flags, StatxFlags::BASIC_STATS)?;
    let is_mount = about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    Ok(is_mount
        && match cover {
            Cover::Pin(_) => expected == Some(reach::identity(&stat)),
            Cover::Freeze(_) => is_read_only && expected == Some(reach::identity(&stat)),
            Cover::Hide(_) => is_read_only && Mode::from_raw_mode(stat.st_mode).is_empty(),
            Cover::Keep(_) | Cover::Absent(_) => false,
        })
}

/// Returns the innermost exposed directory that contains a path.
fn root_of<'a>(exposed: &'a [Exposed], path: &Path) -> Option<&'a Exposed> {
    let around = exposed.iter().filter(|exposed| path.starts_with(exposed.path.as_path()));
    around.max_by_key(|exposed| exposed.path.as_path().as_os_str().len())
}

/// Opens a path, which must lie below an exposed directory.
fn find(exposed: &[Exposed], path: &Path, walk: &mut Walk) -> io::Result<(OwnedFd, FileType)> {
    let root = root_of(exposed, path);
    if root.is_none_or(|root| root.path.as_path() == path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not below what is exposed"));
    }
    let spot = walk.open(path)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&spot)?.st_mode);
    Ok((spot, kind))
}
