//! The account that this process runs as.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, MAX_PATH};
use windows_sys::Win32::Security::TOKEN_QUERY;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows_sys::Win32::System::WindowsProgramming::GetUserNameW;
use windows_sys::Win32::UI::Shell::GetUserProfileDirectoryW;

/// Longest name of an account, in UTF-16 with its end: `UNLEN` and one.
const MOST_UNITS: usize = 257;

/// The account's identifier: `S-1-5-21-…`.
pub fn identifier() -> std::io::Result<String> {
    crate::sid::own()
}

/// The account's name, whatever the environment says.
#[allow(unsafe_code)]
pub fn name() -> std::io::Result<OsString> {
    let mut name = [0_u16; MOST_UNITS];
    let mut units = u32::try_from(MOST_UNITS).unwrap_or_default();
    // SAFETY: as many units are writable as are said to be.
    if unsafe { GetUserNameW(name.as_mut_ptr(), &raw mut units) } == 0 {
        return Err(std::io::Error::last_os_error());
    }
    let length = usize::try_from(units).unwrap_or_default().saturating_sub(1);
    Ok(OsString::from_wide(name.get(..length).unwrap_or_default()))
}

/// The account's folder, whatever the environment says: `C:\Users\ana`.
#[allow(unsafe_code)]
pub fn profile() -> std::io::Result<PathBuf> {
    let mut token = ptr::null_mut();
    // SAFETY: the process's own handle needs no closing; the token is written where `token` is.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut path = [0_u16; MAX_PATH as usize];
    let mut units = MAX_PATH;
    // SAFETY: as many units are writable as are said to be.
    let got = unsafe { GetUserProfileDirectoryW(token, path.as_mut_ptr(), &raw mut units) };
    let error = std::io::Error::last_os_error();
    // SAFETY: it was opened above, and is used no more.
    unsafe { CloseHandle(token) };
    if got == 0 {
        return Err(error);
    }
    let length = path.iter().position(|unit| *unit == 0).unwrap_or(path.len());
    Ok(OsString::from_wide(&path[..length]).into())
}
