//! Reading small files that may be anything.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The beginning of a file.
pub(crate) struct Text {
    pub bytes: Vec<u8>,
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// The first bytes of a regular file; none of what is no such file, or cannot be read.
pub(crate) fn text(path: &Path, most: u64) -> Option<Text> {
    let file = open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    Some(Text { bytes, is_cut })
}

/// A path as git writes it.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere not every text is a path")]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// A path as git writes it: as UTF-8, whatever the system uses.
#[cfg(not(unix))]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Reports whether what is at a path, if anything is, is a file that [`text`] reads.
pub(crate) fn is_read_if_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        // A link that leads nowhere may lead somewhere later.
        Ok(_) => path.metadata().is_ok_and(|found| found.is_file()) && open(path).is_ok(),
        Err(error) => is_absent(&error),
    }
}

/// Reports whether there is something at a path that the user may not look at now.
pub(crate) fn is_closed(path: &Path) -> bool {
    let is_refused = |error: io::Error| error.kind() == ErrorKind::PermissionDenied;
    match path.metadata() {
        Ok(found) => found.is_file() && open(path).is_err_and(is_refused),
        Err(error) => is_refused(error),
    }
}

/// Reports whether a path is a link, wherever it leads.
pub(crate) fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Reports whether somebody may start a file.
#[cfg(unix)]
pub(crate) fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

/// Reports whether somebody may start a file: any may be, by its name.
#[cfg(not(unix))]
pub(crate) fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// Reports whether there is nothing, rather than something that cannot be looked at: whoever closed that can open it again.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Opens a file. A pipe in its place is not waited for.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

/// Opens a file.
#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
