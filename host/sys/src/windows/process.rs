//! Processes of this machine.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt as _;
use std::path::PathBuf;

use windows_sys::Win32::Foundation::{CloseHandle, ERROR_INVALID_PARAMETER, GetLastError, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    QueryFullProcessImageNameW, WaitForSingleObject,
};

/// Returns `true` if a process with this ID is running, or if it cannot be queried.
#[allow(unsafe_code)]
pub fn is_running(number: u32) -> bool {
    // SAFETY: a returned handle is closed below.
    let process = unsafe { OpenProcess(PROCESS_SYNCHRONIZE, 0, number) };
    if process.is_null() {
        // SAFETY: it reports the error of the call above.
        return unsafe { GetLastError() } != ERROR_INVALID_PARAMETER;
    }
    // SAFETY: the handle is open until it is closed here, and is not used afterwards.
    let (waited, _) = unsafe { (WaitForSingleObject(process, 0), CloseHandle(process)) };
    waited == WAIT_TIMEOUT
}

/// Returns the executable file of a process.
#[allow(unsafe_code)]
pub fn image(number: u32) -> io::Result<PathBuf> {
    // SAFETY: a returned handle is closed below.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, number) };
    if process.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut path = [0_u16; 1024];
    let mut length = u32::try_from(path.len()).unwrap_or_default();
    // SAFETY: the handle is open until it is closed here, and the buffer has the given number of writable
    // units.
    let (asked, error) = unsafe {
        let asked =
            QueryFullProcessImageNameW(process, PROCESS_NAME_WIN32, path.as_mut_ptr(), &raw mut length);
        let error = io::Error::last_os_error();
        CloseHandle(process);
        (asked, error)
    };
    if asked == 0 {
        return Err(error);
    }
    Ok(OsString::from_wide(&path[..length as usize]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_another_number_does_not() {
        assert!(is_running(std::process::id()));
        assert!(!is_running(0x7fff_fff0));
        assert!(image(0x7fff_fff0).is_err());
        let own = std::env::current_exe().expect("a path");
        assert_eq!(image(std::process::id()).expect("a path").file_name(), own.file_name());
    }
}
