//! Opens paths component by component with handles. An open directory cannot be renamed or deleted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::{Identity, Kind, invalid, is_a_link, name, parent, plain, rooted};

/// Open directory. It stays the same if its path is replaced.
#[derive(Debug)]
pub struct Folder(Dir);

impl Folder {
    /// Opens a directory by an absolute path that passes through no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (root, inside) = rooted(path)?;
        let root = Self(Dir::open_ambient_dir(root, ambient_authority())?);
        if inside.as_os_str().is_empty() { Ok(root) } else { root.folder(inside) }
    }

    /// Opens a directory by a relative path without `..`. An empty path is this directory.
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

    /// Opens a regular file below this directory for reading.
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
        // The file may have been replaced between the check and the open.
        if !matches!(kind_of(&file.metadata()?), Kind::File(_)) {
            return Err(invalid(Path::new(name), "is not a regular file"));
        }
        Ok(file.into_std())
    }

    /// Opens a regular file in this directory for reading and appending. A missing file is created.
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

    /// Returns the kind of the entry at a path below this directory. A link is not followed.
    pub fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let (folder, name) = parent(self, inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        Ok(kind_of(&folder.0.symlink_metadata(name)?))
    }

    /// Returns the names in the directory in arbitrary order. A name that cannot be read is an error.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
        Ok(self.0.entries()?.map(|entry| Ok(entry?.file_name())))
    }

    /// Returns the identity of the directory.
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
