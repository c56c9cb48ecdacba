//! Reads small untrusted files.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The start of a file.
pub(crate) struct Text {
    pub bytes: Vec<u8>,
    /// `true` if the file is longer.
    pub is_cut: bool,
}

impl Text {
    /// A file of which nothing is known, although git may read it.
    const UNKNOWN: Self = Self { bytes: Vec::new(), is_cut: true };

    /// Returns `true` if nothing is known of the file.
    pub(crate) fn is_unknown(&self) -> bool {
        self.is_cut && self.bytes.is_empty()
    }
}

/// Returns the first bytes of a regular file; `None` if it does not exist, is not a regular file, or may not be
/// read. After any other error, such as too many open files, nothing is known of it.
pub(crate) fn text(path: &Path, most: u64) -> Option<Text> {
    match try_text(path, most) {
        Ok(text) => text,
        Err(error) if is_absent(&error) || is_closed_to_all(&error) => None,
        Err(_) => Some(Text::UNKNOWN),
    }
}

/// Returns `true` for the error by which [`open_itself`] refuses a link.
fn is_of_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    let is_of_link = rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP);
    #[cfg(not(unix))]
    let is_of_link = error.kind() == ErrorKind::InvalidInput;
    is_of_link
}

/// Returns `true` if git cannot read a file either.
fn is_closed_to_all(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        if matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::NAMETOOLONG)) {
            return true;
        }
    }
    error.kind() == ErrorKind::PermissionDenied
}

/// Returns the first bytes of a regular file; `None` if it does not exist, is not a regular file, or is a link: the
/// content of its target would say something about a file elsewhere. Fails if it may not be read, which its owner can
/// change.
pub(crate) fn text_itself(path: &Path, most: u64) -> io::Result<Option<Text>> {
    match open_itself(path) {
        Ok(file) => first_bytes(file, most),
        Err(error) if is_absent(&error) || is_of_link(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn try_text(path: &Path, most: u64) -> io::Result<Option<Text>> {
    if path.metadata()?.is_file() { first_bytes(open(path)?, most) } else { Ok(None) }
}

/// Returns the first bytes of an open file; `None` if it is not a regular file.
fn first_bytes(file: File, most: u64) -> io::Result<Option<Text>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Some(Text { bytes, is_cut }))
}

/// Converts a path as written by git.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere not every text is a path")]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// Converts a path as written by git: always UTF-8, regardless of the system's encoding.
#[cfg(not(unix))]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Returns `true` if a path does not exist or is a file that [`text`] can read.
pub(crate) fn is_read_if_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        // A dangling link may get a target later.
        Ok(_) => path.metadata().is_ok_and(|found| found.is_file()) && open(path).is_ok(),
        Err(error) => is_absent(&error),
    }
}

/// Returns `true` if something exists at a path that the user currently has no permission to read.
pub(crate) fn is_closed(path: &Path) -> bool {
    let is_refused = |error: io::Error| error.kind() == ErrorKind::PermissionDenied;
    match path.metadata() {
        Ok(found) => found.is_file() && open(path).is_err_and(is_refused),
        Err(error) => is_refused(error),
    }
}

/// Returns `true` if a path is a link, even a dangling one.
pub(crate) fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Returns `true` if anybody may execute a file.
#[cfg(unix)]
pub(crate) fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

/// Returns `true`: on this system, the name decides if a file is executable.
#[cfg(not(unix))]
pub(crate) fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// Returns `true` if an error means that nothing exists. A file that cannot be accessed does count as
/// existing, because its owner may restore the access.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Opens a file without blocking if it is a pipe.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::NONBLOCK)
}

/// Opens a file like [`open`], but no link.
#[cfg(unix)]
fn open_itself(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    open_with(path, OFlags::NONBLOCK | OFlags::NOFOLLOW)
}

#[cfg(unix)]
fn open_with(path: &Path, flags: rustix::fs::OFlags) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a file.
#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file like [`open`], but no link and no folder, which cannot be opened here.
#[cfg(not(unix))]
fn open_itself(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_file() { open(path) } else { Err(ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_at_the_moment_is_not_absent() {
        // Linux opens it like any file, and fails to read from its beginning.
        let failing = text(Path::new("/proc/self/mem"), 100).unwrap();
        assert!(failing.is_unknown());
        assert!(text(Path::new("/proc/self/none"), 100).is_none() && text(Path::new("/proc"), 100).is_none());
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
        assert!(text(&folder.path().join("loop"), 100).is_none());
    }
}
