//! Resolves a path relative to a folder that is held open.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Maximum number of consecutive links.
const MAX_LINKS: u32 = 40;

/// Target of a path.
pub(super) struct Place {
    pub(super) folder: Dir,
    /// Name in the folder; `.` for the folder itself.
    pub(super) name: String,
    /// Complete path without links.
    pub(super) real: PathBuf,
}

impl Place {
    /// Resolves a path to the folder of its last component.
    pub(super) fn find(from: &Dir, path: &str, follow: bool) -> Result<Self, ErrorCode> {
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

/// Splits a path into its folder and its last component; `None` if the path ends in `.` or `..`.
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

/// Returns the current path of an open folder.
pub(super) fn real_path(folder: &Dir) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle as _;
        scorpiox_sys::windows::file::path(folder.as_handle())
    }
    #[cfg(not(any(target_os = "linux", windows)))]
    {
        use std::os::unix::ffi::OsStringExt as _;
        let path = rustix::fs::getpath(folder)?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
    }
}
