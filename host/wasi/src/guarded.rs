//! The files of one call: resolves resources to folders, and checks access to paths from there.

use std::fs::File as StdFile;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir as OpenDir, File as OpenFile, OpenMode, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use super::closed::Closed;
use super::folders::{Described, Guard, Preopen};
use super::place::{Place, real_path};
use super::way::{Leads, Way};

/// Marker that selects [`Guarded`] as the state of the interface.
pub(super) struct GuardedFiles;

impl HasData for GuardedFiles {
    type Data<'a> = Guarded<'a>;
}

/// The files of one call.
pub(super) struct Guarded<'a> {
    pub(super) view: WasiFilesystemCtxView<'a>,
    pub(super) guard: &'a Guard,
    pub(super) listings: &'a mut u32,
}

impl<'a> Guarded<'a> {
    pub(super) fn new(
        ctx: &'a mut WasiFilesystemCtx,
        table: &'a mut ResourceTable,
        guard: &'a Guard,
        listings: &'a mut u32,
    ) -> Self {
        Self { view: WasiFilesystemCtxView { ctx, table }, guard, listings }
    }

    fn dir(&self, fd: &Resource<Descriptor>) -> FsResult<OpenDir> {
        match self.view.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Returns the virtual parent directory of a resource, if it is one.
    pub(super) fn way(&self, fd: &Resource<Descriptor>) -> Option<&Way> {
        self.view.table.get(&Resource::<Way>::new_borrow(fd.rep())).ok()
    }

    /// Fails for a virtual parent directory, which does not support the operation.
    pub(super) fn real(&self, fd: &Resource<Descriptor>) -> FsResult<()> {
        if self.way(fd).is_some() { Err(ErrorCode::NotPermitted.into()) } else { Ok(()) }
    }

    pub(super) fn push_way(&mut self, way: Way) -> FsResult<Resource<Descriptor>> {
        let held = self.view.table.push(way)?;
        Ok(Resource::new_own(held.rep()))
    }

    /// Determines the folder in which a path starts: a granted folder or a virtual parent of one.
    fn begin(&self, fd: &Resource<Descriptor>, path: &str, write: bool) -> FsResult<Begin> {
        self.guard.begins(Path::new(path));
        let Some(way) = self.way(fd) else {
            let dir = self.dir(fd)?;
            let Some(first) = self.guard.of_machine(&dir, path) else {
                return Ok(Begin::In(dir, Asked { path: path.to_owned(), named: path.into() }));
            };
            self.guard.lies_at_machine(first, path, write);
            // In the workspace, the path does not exist.
            return Err(if write { ErrorCode::NotPermitted } else { ErrorCode::NoEntry }.into());
        };
        if path.is_empty() {
            return Err(ErrorCode::NoEntry.into());
        }
        let named = way.path().join(path);
        match way.lead(path, self.guard.roots()) {
            Leads::Into(index, rest) => {
                let dir = self.guard.opened(index).ok_or(ErrorCode::NoEntry)?;
                let rest = rest.to_str().ok_or(ErrorCode::IllegalByteSequence)?;
                let path = if rest.is_empty() { "." } else { rest }.to_owned();
                Ok(Begin::In(dir, Asked { path, named }))
            }
            Leads::Along(way) if !write => Ok(Begin::Along(way)),
            Leads::Along(way) => {
                self.guard.lies_outside(way.path(), write);
                Err(ErrorCode::NotPermitted.into())
            }
            Leads::Elsewhere(path) => {
                self.guard.lies_outside(&path, write);
                Err(ErrorCode::NotPermitted.into())
            }
        }
    }

    /// Resolves a path and checks that access is allowed.
    fn place(&self, dir: &OpenDir, asked: &Asked, follow: bool, write: bool) -> FsResult<Place> {
        if write && dir.perms.write_not_permitted() {
            self.guard.is_to_read(&real_path(&handle(dir)?)?, &asked.named);
            return Err(ErrorCode::NotPermitted.into());
        }
        let place = self.find(dir, asked, follow, write)?;
        let is_allowed = self.guard.allows(&place, &asked.named, write);
        if is_allowed { Ok(place) } else { Err(ErrorCode::NotPermitted.into()) }
    }

    /// Resolves a path in a folder.
    fn find(&self, dir: &OpenDir, asked: &Asked, follow: bool, write: bool) -> FsResult<Place> {
        let found = Place::find(&handle(dir)?, &asked.path, follow).inspect_err(|error| {
            if matches!(error, ErrorCode::NotPermitted | ErrorCode::Access | ErrorCode::Loop) {
                self.guard.leads_out(&asked.named, write);
            }
        });
        Ok(found?)
    }

    /// Checks write access to a path. Returns its folder as a resource, its name in that folder, and its
    /// resolved path.
    pub(super) fn changed(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
    ) -> FsResult<(Held, String, PathBuf)> {
        let Begin::In(dir, path) = self.begin(fd, path, true)? else {
            return Err(ErrorCode::NotPermitted.into());
        };
        let place = self.place(&dir, &path, false, true)?;
        let folder = OpenDir::new(place.folder.into_std_file(), dir.perms, dir.open_mode, true);
        let held = self.view.table.push(Descriptor::Dir(folder))?;
        Ok((Held(held.rep()), place.name, place.real))
    }

    /// Checks read access to a path. Returns its folder as a resource, and its name in that folder.
    pub(super) fn seen(&mut self, fd: &Resource<Descriptor>, path: &str, flags: PathFlags) -> FsResult<Seen> {
        let (dir, path) = match self.begin(fd, path, false)? {
            Begin::In(dir, path) => (dir, path),
            Begin::Along(way) => return Ok(Seen::Way(way)),
        };
        let place = self.place(&dir, &path, flags.contains(PathFlags::SYMLINK_FOLLOW), false)?;
        self.hold(&dir, place)
    }

    /// Like [`seen`](Self::seen), for the metadata of a path.
    pub(super) fn described(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
        flags: PathFlags,
    ) -> FsResult<Seen> {
        let (dir, path) = match self.begin(fd, path, false)? {
            Begin::In(dir, path) => (dir, path),
            Begin::Along(way) => return Ok(Seen::Way(way)),
        };
        let place = self.find(&dir, &path, flags.contains(PathFlags::SYMLINK_FOLLOW), false)?;
        match self.guard.describes(&place.real, &path.named) {
            Described::Open => self.hold(&dir, place),
            Described::Listed(listed) => Ok(Seen::Closed(Closed::find(&place, &listed)?)),
            Described::Refused => Err(ErrorCode::NotPermitted.into()),
        }
    }

    fn hold(&mut self, dir: &OpenDir, place: Place) -> FsResult<Seen> {
        let folder = OpenDir::new(place.folder.into_std_file(), dir.perms, dir.open_mode, true);
        let held = self.view.table.push(Descriptor::Dir(folder))?;
        Ok(Seen::In(Held(held.rep()), place.name))
    }

    /// Returns the guest's preopened descriptors with their names.
    pub(super) fn preopened(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut all = Vec::new();
        for (preopen, name) in self.guard.preopens() {
            let fd = match preopen {
                Preopen::Folder(dir) => self.view.table.push(Descriptor::Dir(dir))?,
                Preopen::Way(way) => Resource::new_own(self.view.table.push(way)?.rep()),
            };
            all.push((fd, name));
        }
        Ok(all)
    }

    pub(super) fn close(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        if self.way(&fd).is_some() {
            self.view.table.delete(Resource::<Way>::new_own(fd.rep()))?;
        } else {
            self.view.table.delete(fd)?;
        }
        Ok(())
    }

    /// Reports whether a file or folder, with all its contents, may be moved to another path.
    pub(super) fn may_move(&self, real: &Path, to: &Path) -> bool {
        let is_folder = real.symlink_metadata().is_ok_and(|about| about.is_dir());
        !is_folder || self.guard.allows_all_below(real, to)
    }

    pub(super) fn release(&mut self, held: &Held) -> FsResult<()> {
        self.view.table.delete(Resource::<Descriptor>::new_own(held.0))?;
        Ok(())
    }

    pub(super) fn open(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: bool,
        create: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Opened> {
        let unsupported = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(unsupported) {
            return Err(ErrorCode::Unsupported.into());
        }
        let changes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        let write = flags.contains(DescriptorFlags::WRITE) || create.intersects(changes);
        if create.contains(OpenFlags::DIRECTORY) && create.intersects(changes) {
            return Err(ErrorCode::Invalid.into());
        }
        let (dir, path) = match self.begin(fd, path, write)? {
            Begin::In(dir, path) => (dir, path),
            Begin::Along(way) => return Ok(Opened::Way(way)),
        };
        let place = self.place(&dir, &path, follow, write)?;
        let read = flags.contains(DescriptorFlags::READ) || !write;
        let mode = if write { OpenMode::WRITE } else { OpenMode::empty() };
        let mode = if read { mode | OpenMode::READ } else { mode };
        let file = place.folder.open_with(&place.name, &options(read, write, create))?.into_std();
        let about = file.metadata()?;
        if about.is_dir() {
            Ok(Opened::Real(Descriptor::Dir(OpenDir::new(file, dir.perms, mode, true))))
        } else if create.contains(OpenFlags::DIRECTORY) {
            Err(ErrorCode::NotDirectory.into())
        } else if about.is_file() {
            Ok(Opened::Real(Descriptor::File(OpenFile::new(file, dir.perms, mode, true))))
        } else {
            // A pipe or a device could block the call, or have effects that files do not have.
            Err(ErrorCode::NotPermitted.into())
        }
    }
}

/// A path requested by a plugin.
struct Asked {
    /// Path relative to the starting folder.
    path: String,
    /// Path as named by the plugin.
    named: PathBuf,
}

/// Starting point of a path.
enum Begin {
    /// A granted folder, and the path relative to it.
    In(OpenDir, Asked),
    /// The path leads to a virtual parent directory, which cannot be changed.
    Along(Way),
}

/// An opened file or directory.
pub(super) enum Opened {
    Real(Descriptor),
    Way(Way),
}

/// Target of a read operation.
pub(super) enum Seen {
    /// An entry of a folder, with its name there.
    In(Held, String),
    Way(Way),
    /// A denied entry of a folder that may be listed.
    Closed(Closed),
}

/// A resource for a folder, which exists only during an operation.
pub(super) struct Held(u32);

impl Held {
    pub(super) fn fd(&self) -> Resource<Descriptor> {
        Resource::new_borrow(self.0)
    }
}

fn handle(dir: &OpenDir) -> io::Result<Dir> {
    Ok(Dir::from_std_file(StdFile::try_clone(&dir.dir)?))
}

fn options(read: bool, write: bool, create: OpenFlags) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(read).write(write).follow(FollowSymlinks::No);
    options.truncate(create.contains(OpenFlags::TRUNCATE));
    if create.contains(OpenFlags::CREATE) {
        let new = create.contains(OpenFlags::EXCLUSIVE);
        options.create(!new).create_new(new);
    }
    // Opening a pipe without a writer would block.
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(
        &mut options,
        i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0),
    );
    options
}
