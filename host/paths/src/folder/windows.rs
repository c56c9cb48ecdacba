//! Opening from part to part by handles. A folder that is held open cannot be renamed or deleted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::{Identity, Kind, invalid, is_a_link, name, parent, plain, rooted};

/// A folder that is held open: whatever takes its place, this stays the same one.
#[derive(Debug)]
pub struct Folder(Dir);

impl Folder {
    /// The folder at an absolute path, which passes through no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (root, inside) = rooted(path)?;
        let root = Self(Dir::open_ambient_dir(root, ambient_authority())?);
        if inside.as_os_str().is_empty() { Ok(root) } else { root.folder(inside) }
    }

    /// A folder below this one, by a relative path without `..`; an empty path is this folder.
    pub fn folder(&self, inside: &Path) -> io::Result<Self> {
        for part in inside.components() {
            name(inside, part)?;
        }
        let mut reached = self.0.try_clone()?;
        for part in inside.components() {
            let name = name(inside, part)?;
            reached = reached.open_dir_nofollow(name).map_err(|error| {
                let is_link = reached.symlink_metadata(name).is_ok_and(|found| kind_of(&found) == Kind::Link);
                if is_link { is_a_link(name) } else { error }
            })?;
        }
        Ok(Self(reached))
    }

    /// A regular file below this folder, to read.
    pub fn file(&self, inside: &Path) -> io::Result<File> {
        let (folder, name) = parent(self, inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        match kind_of(&folder.0.symlink_metadata(name)?) {
            Kind::File(_) => {}
            Kind::Link => return Err(is_a_link(name)),
            Kind::Folder | Kind::Other => return Err(invalid(Path::new(name), "is not a regular file")),
        }
        let file = folder.0.open_with(name, &options)?;
        // What was opened may be another one than what was looked at.
        if !matches!(kind_of(&file.metadata()?), Kind::File(_)) {
            return Err(invalid(Path::new(name), "is not a regular file"));
        }
        Ok(file.into_std())
    }

    /// A regular file in this folder, to read and to append to; made if there is none.
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        let name = plain(name)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).follow(FollowSymlinks::No);
        let file = self.0.open_with(name, &options)?;
        match kind_of(&file.metadata()?) {
            Kind::File(_) => Ok(file.into_std()),
            Kind::Link => Err(is_a_link(name)),
            Kind::Folder | Kind::Other => Err(invalid(Path::new(name), "is not a regular file")),
        }
    }

    /// What lies below this folder under a path, which is not followed if it is a link.
    pub fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let (folder, name) = parent(self, inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        Ok(kind_of(&folder.0.symlink_metadata(name)?))
    }

    /// The names in it, in no order. A name that cannot be read is an error.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
        Ok(self.0.entries()?.map(|entry| Ok(entry?.file_name())))
    }

    /// What tells it from any other.
    pub fn identity(&self) -> io::Result<Identity> {
        let about = self.0.dir_metadata()?;
        Ok((about.dev(), about.ino()))
    }
}

fn kind_of(about: &Metadata) -> Kind {
    let kind = about.file_type();
    if kind.is_symlink() {
        Kind::Link
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_file() {
        Kind::File(about.len())
    } else {
        Kind::Other
    }
}
