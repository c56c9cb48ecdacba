//! `wasi:filesystem` 0.3, with the access checks of [`Guarded`].
//!
//! As in [`crate::files`], each function that takes a path checks it first, holds the checked folder open,
//! and operates there without following links.

use std::sync::Arc;

use wasmtime::AsContextMut as _;
use wasmtime::component::{Access, Accessor, FutureReader, Lift, Lower, Resource, StreamReader};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystem};
use wasmtime_wasi::p3::bindings::filesystem::preopens;
use wasmtime_wasi::p3::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize, Host,
    HostDescriptor, HostDescriptorWithStore, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p3::filesystem::{FilesystemError, FilesystemResult};

use super::reading::Reading;
use super::{decided, shapes};
use crate::HasWasi;
use crate::guarded::{Guarded, GuardedFiles, Held, Opened, Seen};

type Files<U> = Accessor<U, GuardedFiles>;
type Ended = FutureReader<Result<(), ErrorCode>>;

impl Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<ErrorCode> {
        error.downcast().inspect(|code: &ErrorCode| self.guard.failed(format_args!("{code:?}")))
    }
}

impl preopens::Host for Guarded<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        self.preopened()
    }
}

impl HostDescriptor for Guarded<'_> {
    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.close(fd)
    }
}

/// Returns access to wasmtime's implementation, for checked operations.
fn inner<U: HasWasi>(files: &Files<U>) -> Accessor<U, WasiFilesystem> {
    files.with_getter::<WasiFilesystem>(decided::<U>)
}

/// Checks write access to a path, and returns its folder and its name there.
fn changed<U: HasWasi>(
    files: &Files<U>,
    fd: &Resource<Descriptor>,
    path: &str,
) -> FilesystemResult<(Held, String)> {
    let (held, name, _) = files.with(|mut store| store.get().changed(fd, path)).map_err(shapes::error)?;
    Ok((held, name))
}

/// Checks read access to a path. Returns its folder and its name there, or a virtual parent directory.
fn seen<U: HasWasi>(
    files: &Files<U>,
    fd: &Resource<Descriptor>,
    path: &str,
    flags: PathFlags,
) -> FilesystemResult<Seen> {
    let flags = shapes::path_flags(flags);
    files.with(|mut store| store.get().seen(fd, path, flags)).map_err(shapes::error)
}

/// Like [`seen`], for the metadata of a path.
fn described<U: HasWasi>(
    files: &Files<U>,
    fd: &Resource<Descriptor>,
    path: &str,
    flags: PathFlags,
) -> FilesystemResult<Seen> {
    let flags = shapes::path_flags(flags);
    files.with(|mut store| store.get().described(fd, path, flags)).map_err(shapes::error)
}

fn release<U: HasWasi>(files: &Files<U>, held: &Held) -> FilesystemResult<()> {
    files.with(|mut store| store.get().release(held)).map_err(shapes::error)
}

fn is_way<U: HasWasi>(files: &Files<U>, fd: &Resource<Descriptor>) -> bool {
    files.with(|mut store| store.get().way(fd).is_some())
}

/// Fails for a virtual parent directory, which does not support the operation.
fn real<U: HasWasi>(files: &Files<U>, fd: &Resource<Descriptor>) -> FilesystemResult<()> {
    files.with(|mut store| store.get().real(fd)).map_err(shapes::error)
}

/// Returns an empty stream that ends with `code`.
fn unread<U: HasWasi, T>(
    mut store: Access<'_, U, GuardedFiles>,
    code: ErrorCode,
) -> wasmtime::Result<(StreamReader<T>, Ended)>
where
    T: Lift + Lower + Send + Sync + 'static,
{
    let nothing = StreamReader::new(&mut store, std::iter::empty())?;
    Ok((nothing, FutureReader::new(&mut store, async move { wasmtime::error::Ok(Err(code)) })?))
}

impl<U: HasWasi + Send> HostDescriptorWithStore<U> for GuardedFiles {
    async fn open_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FilesystemResult<Resource<Descriptor>> {
        let (create, flags) = (shapes::open_flags(open_flags), shapes::descriptor_flags(flags));
        files
            .with(|mut store| {
                let mut guarded = store.get();
                match guarded.open(&fd, &path, shapes::follows(path_flags), create, flags)? {
                    Opened::Real(opened) => Ok(guarded.view.table.push(opened)?),
                    Opened::Way(way) => guarded.push_way(way),
                }
            })
            .map_err(shapes::error)
    }

    async fn create_directory_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FilesystemResult<()> {
        let (held, name) = changed(files, &fd, &path)?;
        let made = WasiFilesystem::create_directory_at(&inner(files), held.fd(), name).await;
        release(files, &held)?;
        made
    }

    async fn remove_directory_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FilesystemResult<()> {
        let (held, name) = changed(files, &fd, &path)?;
        let removed = WasiFilesystem::remove_directory_at(&inner(files), held.fd(), name).await;
        release(files, &held)?;
        removed
    }

    async fn unlink_file_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FilesystemResult<()> {
        let (held, name) = changed(files, &fd, &path)?;
        let removed = WasiFilesystem::unlink_file_at(&inner(files), held.fd(), name).await;
        release(files, &held)?;
        removed
    }

    async fn rename_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FilesystemResult<()> {
        let place = |fd: &Resource<Descriptor>, path: &str| {
            files.with(|mut store| store.get().changed(fd, path)).map_err(shapes::error)
        };
        let (old, old_name, real) = place(&fd, &old_path)?;
        let moved = match place(&new_fd, &new_path) {
            Ok((new, new_name, to)) => {
                let moved = if files.with(|mut store| store.get().may_move(&real, &to)) {
                    WasiFilesystem::rename_at(&inner(files), old.fd(), old_name, new.fd(), new_name).await
                } else {
                    Err(FilesystemError::from(ErrorCode::NotPermitted))
                };
                release(files, &new)?;
                moved
            }
            Err(error) => Err(error),
        };
        release(files, &old)?;
        moved
    }

    async fn link_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        _path_flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FilesystemResult<()> {
        let (old, old_name) = changed(files, &fd, &old_path)?;
        let linked = match changed(files, &new_fd, &new_path) {
            Ok((new, new_name)) => {
                let (from, to, none) = (old.fd(), new.fd(), PathFlags::empty());
                let linked = WasiFilesystem::link_at(&inner(files), from, none, old_name, to, new_name).await;
                release(files, &new)?;
                linked
            }
            Err(error) => Err(error),
        };
        release(files, &old)?;
        linked
    }

    async fn symlink_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        target: String,
        path: String,
    ) -> FilesystemResult<()> {
        let (held, name) = changed(files, &fd, &path)?;
        let linked = WasiFilesystem::symlink_at(&inner(files), held.fd(), target, name).await;
        release(files, &held)?;
        linked
    }

    async fn set_times_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        _path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        let (held, name) = changed(files, &fd, &path)?;
        let none = PathFlags::empty();
        let set =
            WasiFilesystem::set_times_at(&inner(files), held.fd(), none, name, accessed, modified).await;
        release(files, &held)?;
        set
    }

    async fn stat_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FilesystemResult<DescriptorStat> {
        let (held, name) = match described(files, &fd, &path, path_flags)? {
            Seen::In(held, name) => (held, name),
            Seen::Way(_) => return Ok(shapes::way_stat()),
            Seen::Closed(closed) => return Ok(shapes::closed_stat(&closed)),
        };
        let stat = WasiFilesystem::stat_at(&inner(files), held.fd(), PathFlags::empty(), name).await;
        release(files, &held)?;
        stat
    }

    async fn metadata_hash_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FilesystemResult<MetadataHashValue> {
        let (held, name) = match described(files, &fd, &path, path_flags)? {
            Seen::In(held, name) => (held, name),
            Seen::Way(way) => return Ok(shapes::hash(&way.hash())),
            Seen::Closed(closed) => return Ok(shapes::hash(&closed.hash())),
        };
        let none = PathFlags::empty();
        let hash = WasiFilesystem::metadata_hash_at(&inner(files), held.fd(), none, name).await;
        release(files, &held)?;
        hash
    }

    async fn readlink_at(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FilesystemResult<String> {
        let Seen::In(held, name) = seen(files, &fd, &path, PathFlags::empty())? else {
            return Err(ErrorCode::Invalid.into());
        };
        let target = WasiFilesystem::readlink_at(&inner(files), held.fd(), name).await;
        release(files, &held)?;
        target
    }

    // The remaining functions operate on open descriptors.

    fn read_via_stream(
        mut store: Access<'_, U, Self>,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, Ended)> {
        if store.get().way(&fd).is_some() {
            return unread(store, ErrorCode::NotPermitted);
        }
        let file = match store.get().view.table.get(&fd)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(_) => return unread(store, ErrorCode::IsDirectory),
        };
        let (reading, how) = Reading::new(file, offset);
        let stream = StreamReader::new(&mut store, reading)?;
        Ok((stream, FutureReader::new(&mut store, how)?))
    }

    fn write_via_stream(
        store: Access<'_, U, Self>,
        fd: Resource<Descriptor>,
        data: StreamReader<u8>,
        offset: Filesize,
    ) -> wasmtime::Result<Ended> {
        written(store, &fd, data, |store, fd, data| WasiFilesystem::write_via_stream(store, fd, data, offset))
    }

    fn append_via_stream(
        store: Access<'_, U, Self>,
        fd: Resource<Descriptor>,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<Ended> {
        written(store, &fd, data, WasiFilesystem::append_via_stream)
    }

    fn read_directory(
        mut store: Access<'_, U, Self>,
        fd: Resource<Descriptor>,
    ) -> wasmtime::Result<(StreamReader<DirectoryEntry>, Ended)> {
        let guarded = store.get();
        let Some(mut listing) = guarded.way(&fd).map(|way| way.listing(guarded.guard.roots())) else {
            let plain = Access::<U, WasiFilesystem>::new(store.as_context_mut(), decided::<U>);
            return WasiFilesystem::read_directory(plain, fd);
        };
        let names = std::iter::from_fn(|| listing.next());
        let entries: Vec<_> = names
            .map(|entry| DirectoryEntry { type_: DescriptorType::Directory, name: entry.name })
            .collect();
        let entries = StreamReader::new(&mut store, entries)?;
        Ok((entries, FutureReader::new(&mut store, async { wasmtime::error::Ok(Ok(())) })?))
    }

    async fn advise(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FilesystemResult<()> {
        real(files, &fd)?;
        WasiFilesystem::advise(&inner(files), fd, offset, length, advice).await
    }

    async fn sync_data(files: &Files<U>, fd: Resource<Descriptor>) -> FilesystemResult<()> {
        real(files, &fd)?;
        WasiFilesystem::sync_data(&inner(files), fd).await
    }

    async fn sync(files: &Files<U>, fd: Resource<Descriptor>) -> FilesystemResult<()> {
        real(files, &fd)?;
        WasiFilesystem::sync(&inner(files), fd).await
    }

    async fn get_flags(files: &Files<U>, fd: Resource<Descriptor>) -> FilesystemResult<DescriptorFlags> {
        if is_way(files, &fd) {
            return Ok(DescriptorFlags::READ);
        }
        WasiFilesystem::get_flags(&inner(files), fd).await
    }

    async fn get_type(files: &Files<U>, fd: Resource<Descriptor>) -> FilesystemResult<DescriptorType> {
        if is_way(files, &fd) {
            return Ok(DescriptorType::Directory);
        }
        WasiFilesystem::get_type(&inner(files), fd).await
    }

    async fn set_size(files: &Files<U>, fd: Resource<Descriptor>, size: Filesize) -> FilesystemResult<()> {
        real(files, &fd)?;
        WasiFilesystem::set_size(&inner(files), fd, size).await
    }

    async fn set_times(
        files: &Files<U>,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        real(files, &fd)?;
        WasiFilesystem::set_times(&inner(files), fd, accessed, modified).await
    }

    async fn stat(files: &Files<U>, fd: Resource<Descriptor>) -> FilesystemResult<DescriptorStat> {
        if is_way(files, &fd) {
            return Ok(shapes::way_stat());
        }
        WasiFilesystem::stat(&inner(files), fd).await
    }

    async fn is_same_object(
        files: &Files<U>,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        let same = files.with(|mut store| {
            let guarded = store.get();
            match (guarded.way(&a), guarded.way(&b)) {
                (None, None) => None,
                (one, other) => Some(one == other),
            }
        });
        match same {
            Some(same) => Ok(same),
            None => WasiFilesystem::is_same_object(&inner(files), a, b).await,
        }
    }

    async fn metadata_hash(
        files: &Files<U>,
        fd: Resource<Descriptor>,
    ) -> FilesystemResult<MetadataHashValue> {
        let hash = files.with(|mut store| store.get().way(&fd).map(|way| shapes::hash(&way.hash())));
        match hash {
            Some(hash) => Ok(hash),
            None => WasiFilesystem::metadata_hash(&inner(files), fd).await,
        }
    }
}

/// Writes a stream to a file. Fails for a virtual parent directory.
fn written<U: HasWasi>(
    mut store: Access<'_, U, GuardedFiles>,
    fd: &Resource<Descriptor>,
    mut data: StreamReader<u8>,
    write: impl FnOnce(
        Access<'_, U, WasiFilesystem>,
        Resource<Descriptor>,
        StreamReader<u8>,
    ) -> wasmtime::Result<Ended>,
) -> wasmtime::Result<Ended> {
    if store.get().way(fd).is_some() {
        data.close(&mut store)?;
        let refused = async { wasmtime::error::Ok(Err(ErrorCode::NotPermitted)) };
        return FutureReader::new(&mut store, refused);
    }
    let plain = Access::<U, WasiFilesystem>::new(store.as_context_mut(), decided::<U>);
    write(plain, Resource::new_borrow(fd.rep()), data)
}
