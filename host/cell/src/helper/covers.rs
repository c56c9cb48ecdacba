//! What is special about paths in the workspace, made so by mounts in a command's own mount
//! namespace.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::root::{EMPTY_FOLDER, HIDDEN_FILE, HIDDEN_FOLDER};
use crate::sys;
use crate::wire::{Cover, Exposed, Fault};

/// Puts each cover in place. The paths are below something exposed and contain no links but,
/// maybe, as their last part: what is found otherwise was changed since the host looked.
pub(super) fn put(exposed: &[Exposed], covers: &[Cover]) -> Result<(), Fault> {
    for cover in covers {
        let path = cover.path();
        place(exposed, cover).map_err(|error| {
            use io::ErrorKind::{NotADirectory, NotFound};
            let looped = error.raw_os_error() == Some(libc::ELOOP);
            let changed = looped || matches!(error.kind(), NotFound | NotADirectory);
            Fault { changed, ..Fault::new(format!("protecting {}", path.display()), error) }
        })?;
    }
    Ok(())
}

fn place(exposed: &[Exposed], cover: &Cover) -> io::Result<()> {
    let (spot, kind) = find(exposed, cover.path())?;
    let clone = |recursive: OpenTreeFlags| {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | recursive;
        open_tree(spot.as_fd(), "", flags)
    };
    let tree = match cover {
        Cover::Hide(_) => from_root(if kind.is_dir() { HIDDEN_FOLDER } else { HIDDEN_FILE })?,
        // A link cannot be frozen where it is: what it says would still be followed.
        Cover::Freeze(_) if kind.is_symlink() => from_root(HIDDEN_FILE)?,
        Cover::Reserve(_) if kind.is_dir() => from_root(EMPTY_FOLDER)?,
        Cover::Reserve(_) => from_root(HIDDEN_FILE)?,
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

/// The place itself, reached without following any link.
fn find(exposed: &[Exposed], path: &Path) -> io::Result<(OwnedFd, FileType)> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    let around = exposed.iter().map(|exposed| exposed.path.as_path()).filter(|root| path.starts_with(root));
    let root =
        around.max_by_key(|root| root.as_os_str().len()).ok_or_else(|| invalid("it is not exposed"))?;
    let inside = path.strip_prefix(root).map_err(|_| invalid("it is not exposed"))?;
    let (Some(folder), Some(name)) = (inside.parent(), inside.file_name()) else {
        return Err(invalid("what is exposed as a whole is not covered"));
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags | OFlags::DIRECTORY, Mode::empty())?;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = rustix::fs::openat2(&root, folder, flags | OFlags::DIRECTORY, Mode::empty(), beneath)?;
    let spot = rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&spot)?.st_mode);
    Ok((spot, kind))
}
