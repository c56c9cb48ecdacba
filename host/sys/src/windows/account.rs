//! The account of this process.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, MAX_PATH};
use windows_sys::Win32::Security::TOKEN_QUERY;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows_sys::Win32::System::WindowsProgramming::GetUserNameW;
use windows_sys::Win32::UI::Shell::GetUserProfileDirectoryW;

/// Maximum length of an account name in UTF-16 units, including the terminator: `UNLEN` + 1.
const MOST_UNITS: usize = 257;

/// Returns the account's SID: `S-1-5-21-…`.
pub fn identifier() -> std::io::Result<String> {
    crate::windows::sid::own()
}

/// Returns the account's name, independent of the environment.
#[allow(unsafe_code)]
pub fn name() -> std::io::Result<OsString> {
    let mut name = [0_u16; MOST_UNITS];
    let mut units = u32::try_from(MOST_UNITS).unwrap_or_default();
    // SAFETY: the buffer has the given number of writable units.
    if unsafe { GetUserNameW(name.as_mut_ptr(), &raw mut units) } == 0 {
        return Err(std::io::Error::last_os_error());
    }
    let length = usize::try_from(units).unwrap_or_default().saturating_sub(1);
    Ok(OsString::from_wide(name.get(..length).unwrap_or_default()))
}

/// Returns the account's profile folder, independent of the environment: `C:\Users\ana`.
#[allow(unsafe_code)]
pub fn profile() -> std::io::Result<PathBuf> {
    let mut token = ptr::null_mut();
    // SAFETY: the pseudo-handle of the process needs no closing. The token is written to `token`.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut path = [0_u16; MAX_PATH as usize];
    let mut units = MAX_PATH;
    // SAFETY: the buffer has the given number of writable units.
    let got = unsafe { GetUserProfileDirectoryW(token, path.as_mut_ptr(), &raw mut units) };
    let error = std::io::Error::last_os_error();
    // SAFETY: it was opened above and is not used afterwards.
    unsafe { CloseHandle(token) };
    if got == 0 {
        return Err(error);
    }
    let length = path.iter().position(|unit| *unit == 0).unwrap_or(path.len());
    Ok(OsString::from_wide(&path[..length]).into())
}
