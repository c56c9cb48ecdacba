//! File identity, and file locks that do not block readers.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};

use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{ERROR_LOCK_VIOLATION, HANDLE};
/// Allows opening folders.
pub use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_BACKUP_SEMANTICS;
/// Deletes the file when its last handle is closed.
pub use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_DELETE_ON_CLOSE;
/// Opens a link itself, not its target.
pub use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_NAME_NORMALIZED, GetFileInformationByHandle, GetFinalPathNameByHandleW,
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, MoveFileExW, UnlockFileEx,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

/// Returns the volume serial number and the file index, which identify a file while it is open.
#[allow(unsafe_code)]
pub fn identity(file: BorrowedHandle<'_>) -> io::Result<(u64, u64)> {
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is borrowed for this call. The result is written to `about`.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut about) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let number = u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow);
    Ok((about.dwVolumeSerialNumber.into(), number))
}

/// Returns the current path of an open file: `C:\\Users\\ana\\file`.
#[allow(unsafe_code)]
pub fn path(file: BorrowedHandle<'_>) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 512];
    loop {
        let room = u32::try_from(path.len()).unwrap_or(u32::MAX);
        // SAFETY: the handle is borrowed for this call, and the buffer has the given number of writable
        // units.
        let units = unsafe {
            GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), room, FILE_NAME_NORMALIZED)
        };
        match usize::try_from(units).unwrap_or_default() {
            0 => return Err(io::Error::last_os_error()),
            units if units < path.len() => return Ok(plain(OsString::from_wide(&path[..units]))),
            // The result is the required length.
            units => path.resize(units + 1, 0),
        }
    }
}

/// Removes the verbatim prefix, which means nothing to users.
fn plain(path: OsString) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_prefix(r"\\?\")) {
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            Some(share) => format!(r"\\{share}").into(),
            None => rest.into(),
        },
        None => path.into(),
    }
}

/// Renames a file to a name that must not exist.
#[allow(unsafe_code)]
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let wide = |path: &Path| path.as_os_str().encode_wide().chain([0]).collect::<Vec<u16>>();
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both strings end with a zero and outlive the call.
    if unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns the byte range that stands for the complete file. It lies far behind the end of any file, because
/// a lock on actual content would block readers and writers on Windows.
fn far() -> OVERLAPPED {
    const FAR: u32 = 0x7fff_ffff;
    let offset = OVERLAPPED_0_0 { Offset: u32::MAX, OffsetHigh: FAR };
    OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: offset }, ..OVERLAPPED::default() }
}

/// Tries to lock a file without waiting. Returns `false` if another handle holds a conflicting lock.
#[allow(unsafe_code)]
pub fn try_lock(file: BorrowedHandle<'_>, is_exclusive: bool) -> io::Result<bool> {
    let kind = if is_exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let mut place = far();
    let handle: HANDLE = file.as_raw_handle();
    // SAFETY: the handle is borrowed for this call, which does not wait. `place` outlives it.
    if unsafe { LockFileEx(handle, kind | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &raw mut place) } != 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(ERROR_LOCK_VIOLATION.cast_signed()) { Ok(false) } else { Err(error) }
}

/// Releases a lock.
#[allow(unsafe_code)]
pub fn unlock(file: BorrowedHandle<'_>) -> io::Result<()> {
    let mut place = far();
    // SAFETY: the handle is borrowed for this call, and `place` outlives it.
    if unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::windows::io::AsHandle as _;

    use super::*;

    #[test]
    fn a_lock_is_one_handles_and_keeps_nobody_from_reading() {
        let path = std::env::temp_dir().join(format!("lock-{}", std::process::id()));
        fs::write(&path, "text").expect("a file");
        let open = || File::options().read(true).write(true).open(&path).expect("the file");
        let (one, other) = (open(), open());
        let lock = |file: &File, is_exclusive| try_lock(file.as_handle(), is_exclusive).expect("an answer");
        assert!(lock(&one, true));
        assert!(!lock(&other, true) && !lock(&other, false));
        assert_eq!(fs::read_to_string(&path).expect("the file"), "text");
        unlock(one.as_handle()).expect("unlocked");
        assert!(lock(&other, false) && lock(&one, false) && !lock(&open(), true));
        // Closing the handles releases the locks, like the end of a process.
        drop((one, other));
        assert!(lock(&open(), true));
        fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn a_file_is_the_same_under_each_handle_and_another_one_is_not() {
        let path = std::env::temp_dir().join(format!("identity-{}", std::process::id()));
        let known = || {
            let file = File::options().create(true).append(true).open(&path).expect("a file");
            identity(file.as_handle()).expect("an identity")
        };
        let first = known();
        assert_eq!(known(), first);
        let moved = path.with_extension("old");
        fs::rename(&path, &moved).expect("moved");
        assert_ne!(known(), first);
        fs::remove_file(&path).and_then(|()| fs::remove_file(&moved)).expect("removed");
    }
}
