//! `wasi:filesystem/types`, with an access check before each operation on a path.
//!
//! `cap-std` resolves a path to the directory of its last component, without leaving the granted folders.
//! That directory is held open, the name in it is checked, and the operation is performed there without
//! following links. A file that is replaced after the check is therefore not reached. Operations on open
//! descriptors are wasmtime's own.
//!
//! A [`Way`] is a resource of a separate type in the place of a descriptor, so that wasmtime's code cannot
//! mistake it for a directory.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::guarded::{Guarded, Opened, Seen};
use super::way::{Way, WayListing};

/// Maximum number of open directory listings of a call.
const MAX_LISTINGS: u32 = 16;

impl Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.view.convert_error_code(error).inspect(|code| self.guard.failed(code.name()))
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.view.filesystem_error_code(error)
    }
}

impl preopens::Host for Guarded<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        self.preopened()
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
        match self.open(&fd, &path, follow, open_flags, flags)? {
            Opened::Real(opened) => Ok(self.view.table.push(opened)?),
            Opened::Way(way) => self.push_way(way),
        }
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
            Ok((new, new_name, to)) => {
                let moved = if self.may_move(&real, &to) {
                    self.view.rename_at(old.fd(), old_name, new.fd(), new_name).await
                } else {
                    Err(ErrorCode::NotPermitted.into())
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
        let (held, name) = match self.described(&fd, &path, path_flags)? {
            Seen::In(held, name) => (held, name),
            Seen::Way(_) => return Ok(Way::stat()),
            Seen::Closed(closed) => return Ok(closed.stat()),
        };
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
        let (held, name) = match self.described(&fd, &path, path_flags)? {
            Seen::In(held, name) => (held, name),
            Seen::Way(way) => return Ok(way.hash()),
            Seen::Closed(closed) => return Ok(closed.hash()),
        };
        let hash = self.view.metadata_hash_at(held.fd(), PathFlags::empty(), name).await;
        self.release(&held)?;
        hash
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        let Seen::In(held, name) = self.seen(&fd, &path, PathFlags::empty())? else {
            return Err(ErrorCode::Invalid.into());
        };
        let target = self.view.readlink_at(held.fd(), name).await;
        self.release(&held)?;
        target
    }

    // The remaining functions operate on open descriptors.

    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        self.real(&fd)?;
        self.view.read_via_stream(fd, offset)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.real(&fd)?;
        self.view.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.real(&fd)?;
        self.view.append_via_stream(fd)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.real(&fd)?;
        self.view.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.real(&fd)?;
        self.view.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.real(&fd)?;
        self.view.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        if self.way(&fd).is_some() {
            return Ok(Way::flags());
        }
        self.view.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        if self.way(&fd).is_some() {
            return Ok(DescriptorType::Directory);
        }
        self.view.get_type(fd).await
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        self.real(&fd)?;
        self.view.set_size(fd, size).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.real(&fd)?;
        self.view.set_times(fd, accessed, modified).await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.real(&fd)?;
        self.view.read(fd, length, offset).await
    }

    async fn write(
        &mut self,
        fd: Resource<Descriptor>,
        buffer: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
        self.real(&fd)?;
        self.view.write(fd, buffer, offset).await
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        if *self.listings >= MAX_LISTINGS {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let listing = match self.way(&fd).map(|way| way.listing(self.guard.roots())) {
            Some(listing) => Resource::new_own(self.view.table.push(listing)?.rep()),
            None => self.view.read_directory(fd).await?,
        };
        *self.listings += 1;
        Ok(listing)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        if self.way(&fd).is_some() {
            return Ok(Way::stat());
        }
        self.view.stat(fd).await
    }

    async fn is_same_object(
        &mut self,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        match (self.way(&a), self.way(&b)) {
            (None, None) => self.view.is_same_object(a, b).await,
            (one, other) => Ok(one == other),
        }
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        if let Some(way) = self.way(&fd) {
            return Ok(way.hash());
        }
        self.view.metadata_hash(fd).await
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.close(fd)
    }
}

impl HostDirectoryEntryStream for Guarded<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        if let Ok(listing) = self.view.table.get_mut(&Resource::<WayListing>::new_borrow(stream.rep())) {
            return Ok(listing.next());
        }
        self.view.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        *self.listings = self.listings.saturating_sub(1);
        if self.view.table.get(&Resource::<WayListing>::new_borrow(stream.rep())).is_ok() {
            self.view.table.delete(Resource::<WayListing>::new_own(stream.rep()))?;
            return Ok(());
        }
        HostDirectoryEntryStream::drop(&mut self.view, stream)
    }
}
