//! Reads, backs up and replaces a single file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::WriteError;

/// Maximum size of a file to read. Configurations have a few kilobytes.
pub(super) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of backups, and of leftovers of killed processes, per file.
const MAX_NUMBERED: u32 = 9999;

/// A file's original content.
pub(super) struct Original {
    /// Path with links resolved.
    pub(super) path: PathBuf,
    pub(super) text: String,
    metadata: Metadata,
}

/// Reads the file at `path`. Returns `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Original>, WriteError> {
    if let Err(error) = fs::symlink_metadata(path)
        && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    {
        return Ok(None);
    }
    let target = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(WriteError::DanglingLink { path: path.to_owned() });
        }
        other => other.map_err(failed("find", path))?,
    };
    let metadata = fs::metadata(&target).map_err(failed("look at", path))?;
    if !metadata.is_file() {
        return Err(WriteError::NotAFile { path: target });
    }
    let bytes = read_bytes(&target).map_err(failed("read", path))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(WriteError::TooLarge { path: target, limit: MAX_FILE_BYTES });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Original { path: target, text, metadata })),
        Err(error) => Err(WriteError::NotUtf8 { path: target, at: error.utf8_error().valid_up_to() }),
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a file that does not exist, and its folders.
pub(super) fn create(path: &Path, text: &str) -> Result<(), WriteError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    }
    match write_new(path, text.as_bytes(), None) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(WriteError::ChangedMeanwhile { path: path.to_owned() })
        }
        other => other.map_err(failed("create", path)),
    }
}

/// Atomically replaces the original with `text`. Returns the path of the backup.
pub(super) fn replace(original: &Original, text: &str) -> Result<PathBuf, WriteError> {
    let path = &original.path;
    let next = write_numbered(path, "new", text, &original.metadata).map_err(failed("write beside", path))?;
    let swapped = swap(original, &next);
    if swapped.is_err() {
        let _ = fs::remove_file(&next);
    }
    sync_folder(path);
    swapped
}

/// Deletes the original, unless it changed.
pub(super) fn delete(original: &Original) -> Result<(), WriteError> {
    let Original { path, text, .. } = original;
    if !read_bytes(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Err(WriteError::ChangedMeanwhile { path: path.clone() });
    }
    fs::remove_file(path).map_err(failed("remove", path))?;
    sync_folder(path);
    Ok(())
}

fn swap(original: &Original, next: &Path) -> Result<PathBuf, WriteError> {
    let Original { path, text, metadata } = original;
    let backup = write_numbered(path, "backup", text, metadata).map_err(failed("back up", path))?;
    let swapped = if read_bytes(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        fs::rename(next, path).map_err(failed("replace", path))
    } else {
        Err(WriteError::ChangedMeanwhile { path: path.clone() })
    };
    if swapped.is_err() {
        let _ = fs::remove_file(&backup);
    }
    swapped.map(|()| backup)
}

/// Writes `<path>.scorpiox-<role>-<n>` with the first free `n`.
fn write_numbered(path: &Path, role: &str, text: &str, like: &Metadata) -> io::Result<PathBuf> {
    for n in 1..=MAX_NUMBERED {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".scorpiox-{role}-{n}"));
        let numbered = PathBuf::from(name);
        match write_new(&numbered, text.as_bytes(), Some(like)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| numbered),
        }
    }
    Err(io::Error::other(format!("{MAX_NUMBERED} of .scorpiox-{role} exist already; remove some")))
}

/// Creates a file that must not exist, with the owner and permissions of another, and flushes it to disk.
fn write_new(path: &Path, bytes: &[u8], like: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if like.is_some() {
        // The file is private until it has the final permissions, because it may contain keys.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| like.map_or(Ok(()), |like| take_after(&file, like)))
        .and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn take_after(file: &File, like: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        // Only root can change the owner, and only root needs to.
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            let _ = fchown(file, Some(like.uid()), Some(like.gid()));
        }
    }
    file.set_permissions(like.permissions())
}

/// Makes the new name survive a power failure, on systems where folders can be synced.
fn sync_folder(path: &Path) {
    if let Some(Ok(folder)) = path.parent().map(File::open) {
        let _ = folder.sync_all();
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    move |source| WriteError::Io { action, path: path.to_owned(), source }
}
