//! `wasi:filesystem/types`, with a decision before everything that has a path.
//!
//! A path is followed to the folder that its last part is in, by `cap-std`, which leaves no folder that
//! was granted. That folder is held open, what the last part is called in it is decided about, and
//! then it is acted upon there without following a link: what is exchanged in between is not reached.
//! Reading and writing what is open, and looking at names, times and sizes, is wasmtime's own.

use std::fs::File as StdFile;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir as OpenDir, File as OpenFile, OpenMode, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::folders::Guard;

/// Links that are followed one after the other.
const MAX_LINKS: u32 = 40;

/// Names the state that is behind the interface.
pub(super) struct GuardedFiles;

impl HasData for GuardedFiles {
    type Data<'a> = Guarded<'a>;
}

/// The files of one call.
pub(super) struct Guarded<'a> {
    view: WasiFilesystemCtxView<'a>,
    guard: &'a Guard,
    listings: &'a mut u32,
}

/// Listings of folders that a call may have open.
const MAX_LISTINGS: u32 = 16;

/// Where a path leads to.
struct Place {
    folder: Dir,
    /// In the folder; `.` for the folder itself.
    name: String,
    /// The whole path, without links.
    real: PathBuf,
}

impl Place {
    fn find(from: &Dir, path: &str, follow: bool) -> Result<Self, ErrorCode> {
        let mut path = PathBuf::from(path);
        for _ in 0..MAX_LINKS {
            if path.is_absolute() {
                return Err(ErrorCode::NotPermitted);
            }
            let (parent, name) = split(&path)?;
            let is_here = parent.as_os_str().is_empty();
            let folder = if is_here { from.try_clone()? } else { from.open_dir(&parent)? };
            let at = real_path(&folder)?;
            let Some(name) = name else { return Ok(Self { folder, name: ".".to_owned(), real: at }) };
            match folder.read_link_contents(&name) {
                Ok(target) if follow => path = parent.join(target),
                _ => return Ok(Self { real: at.join(&name), folder, name }),
            }
        }
        Err(ErrorCode::Loop)
    }
}

/// The folder and the name in it; no name for a path that ends in `.` or `..`.
fn split(path: &Path) -> Result<(PathBuf, Option<String>), ErrorCode> {
    match path.components().next_back() {
        Some(Component::Normal(name)) => {
            let name = name.to_str().ok_or(ErrorCode::IllegalByteSequence)?;
            Ok((path.parent().unwrap_or(Path::new("")).to_owned(), Some(name.to_owned())))
        }
        Some(_) => Ok((path.to_owned(), None)),
        None => Err(ErrorCode::NoEntry),
    }
}

/// Where a folder that is open is now.
fn real_path(folder: &Dir) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle as _;
        scorpiox_windows::file::path(folder.as_handle())
    }
    #[cfg(not(any(target_os = "linux", windows)))]
    {
        use std::os::unix::ffi::OsStringExt as _;
        let path = rustix::fs::getpath(folder)?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
    }
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

    /// Where a path leads, if something may be done there.
    fn place(&self, dir: &OpenDir, path: &str, follow: bool, write: bool) -> FsResult<Place> {
        if write && dir.perms.write_not_permitted() {
            self.guard.is_to_read(&real_path(&handle(dir)?)?);
            return Err(ErrorCode::NotPermitted.into());
        }
        let place = Place::find(&handle(dir)?, path, follow).inspect_err(|error| {
            if matches!(error, ErrorCode::NotPermitted | ErrorCode::Access | ErrorCode::Loop) {
                self.guard.leads_out(write);
            }
        })?;
        if self.guard.allows(&place.real, write) { Ok(place) } else { Err(ErrorCode::NotPermitted.into()) }
    }

    /// The folder of a place that may be changed, as a resource, and the name in it.
    fn changed(&mut self, fd: &Resource<Descriptor>, path: &str) -> FsResult<(Held, String, PathBuf)> {
        let dir = self.dir(fd)?;
        let place = self.place(&dir, path, false, true)?;
        let folder = OpenDir::new(place.folder.into_std_file(), dir.perms, dir.open_mode, true);
        let held = self.view.table.push(Descriptor::Dir(folder))?;
        Ok((Held(held.rep()), place.name, place.real))
    }

    /// The folder of a place that may be looked at, as a resource, and the name in it.
    fn seen(&mut self, fd: &Resource<Descriptor>, path: &str, flags: PathFlags) -> FsResult<(Held, String)> {
        let dir = self.dir(fd)?;
        let place = self.place(&dir, path, flags.contains(PathFlags::SYMLINK_FOLLOW), false)?;
        let folder = OpenDir::new(place.folder.into_std_file(), dir.perms, dir.open_mode, true);
        let held = self.view.table.push(Descriptor::Dir(folder))?;
        Ok((Held(held.rep()), place.name))
    }

    fn release(&mut self, held: &Held) -> FsResult<()> {
        self.view.table.delete(Resource::<Descriptor>::new_own(held.0))?;
        Ok(())
    }

    fn open(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: bool,
        create: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Descriptor> {
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
        let dir = self.dir(fd)?;
        let place = self.place(&dir, path, follow, write)?;
        let read = flags.contains(DescriptorFlags::READ) || !write;
        let mode = if write { OpenMode::WRITE } else { OpenMode::empty() };
        let mode = if read { mode | OpenMode::READ } else { mode };
        let file = place.folder.open_with(&place.name, &options(read, write, create))?.into_std();
        let about = file.metadata()?;
        if about.is_dir() {
            Ok(Descriptor::Dir(OpenDir::new(file, dir.perms, mode, true)))
        } else if create.contains(OpenFlags::DIRECTORY) {
            Err(ErrorCode::NotDirectory.into())
        } else if about.is_file() {
            Ok(Descriptor::File(OpenFile::new(file, dir.perms, mode, true)))
        } else {
            // A pipe or a device could keep the call waiting, or do what no file does.
            Err(ErrorCode::NotPermitted.into())
        }
    }
}

/// A resource that stands for a folder while something is done in it.
struct Held(u32);

impl Held {
    fn fd(&self) -> Resource<Descriptor> {
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
    // A pipe without a writer would be waited for.
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(
        &mut options,
        i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0),
    );
    options
}

impl Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.view.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.view.filesystem_error_code(error)
    }
}

impl HostDescriptor for Guarded<'_> {
    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
        let opened = self.open(&fd, &path, follow, open_flags, flags)?;
        Ok(self.view.table.push(opened)?)
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let (held, name, _) = self.changed(&fd, &path)?;
        let made = self.view.create_directory_at(held.fd(), name).await;
        self.release(&held)?;
        made
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let (held, name, _) = self.changed(&fd, &path)?;
        let removed = self.view.remove_directory_at(held.fd(), name).await;
        self.release(&held)?;
        removed
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let (held, name, _) = self.changed(&fd, &path)?;
        let removed = self.view.unlink_file_at(held.fd(), name).await;
        self.release(&held)?;
        removed
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (old, old_name, real) = self.changed(&fd, &old_path)?;
        let moved = match self.changed(&new_fd, &new_path) {
            Ok((new, new_name, _)) => {
                let is_folder = real.symlink_metadata().is_ok_and(|about| about.is_dir());
                let moved = if is_folder && !self.guard.allows_all_below(&real) {
                    Err(ErrorCode::NotPermitted.into())
                } else {
                    self.view.rename_at(old.fd(), old_name, new.fd(), new_name).await
                };
                self.release(&new)?;
                moved
            }
            Err(error) => Err(error),
        };
        self.release(&old)?;
        moved
    }

    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        _path_flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let (old, old_name, _) = self.changed(&fd, &old_path)?;
        let linked = match self.changed(&new_fd, &new_path) {
            Ok((new, new_name, _)) => {
                let none = PathFlags::empty();
                let linked = self.view.link_at(old.fd(), none, old_name, new.fd(), new_name).await;
                self.release(&new)?;
                linked
            }
            Err(error) => Err(error),
        };
        self.release(&old)?;
        linked
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, target: String, path: String) -> FsResult<()> {
        let (held, name, _) = self.changed(&fd, &path)?;
        let linked = self.view.symlink_at(held.fd(), target, name).await;
        self.release(&held)?;
        linked
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        _path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let (held, name, _) = self.changed(&fd, &path)?;
        let set = self.view.set_times_at(held.fd(), PathFlags::empty(), name, accessed, modified).await;
        self.release(&held)?;
        set
    }

    async fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let (held, name) = self.seen(&fd, &path, path_flags)?;
        let stat = self.view.stat_at(held.fd(), PathFlags::empty(), name).await;
        self.release(&held)?;
        stat
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let (held, name) = self.seen(&fd, &path, path_flags)?;
        let hash = self.view.metadata_hash_at(held.fd(), PathFlags::empty(), name).await;
        self.release(&held)?;
        hash
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        let (held, name) = self.seen(&fd, &path, PathFlags::empty())?;
        let target = self.view.readlink_at(held.fd(), name).await;
        self.release(&held)?;
        target
    }

    // What follows works with what is open already.

    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        self.view.read_via_stream(fd, offset)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.view.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.view.append_via_stream(fd)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.view.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.view.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.view.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.view.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        self.view.get_type(fd).await
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        self.view.set_size(fd, size).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.view.set_times(fd, accessed, modified).await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.view.read(fd, length, offset).await
    }

    async fn write(
        &mut self,
        fd: Resource<Descriptor>,
        buffer: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
        self.view.write(fd, buffer, offset).await
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        if *self.listings >= MAX_LISTINGS {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let listing = self.view.read_directory(fd).await?;
        *self.listings += 1;
        Ok(listing)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.view.stat(fd).await
    }

    async fn is_same_object(
        &mut self,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        self.view.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.view.metadata_hash(fd).await
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.view, fd)
    }
}

impl HostDirectoryEntryStream for Guarded<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.view.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        *self.listings = self.listings.saturating_sub(1);
        HostDirectoryEntryStream::drop(&mut self.view, stream)
    }
}
