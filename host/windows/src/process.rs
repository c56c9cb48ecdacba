//! Processes of this machine.

use windows_sys::Win32::Foundation::{CloseHandle, ERROR_INVALID_PARAMETER, GetLastError, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject};

/// Whether a process of this number runs. One that nobody may ask about does.
#[allow(unsafe_code)]
pub fn is_running(number: u32) -> bool {
    // SAFETY: a handle that is given is closed below.
    let process = unsafe { OpenProcess(PROCESS_SYNCHRONIZE, 0, number) };
    if process.is_null() {
        // SAFETY: it asks about the call above.
        return unsafe { GetLastError() } != ERROR_INVALID_PARAMETER;
    }
    // SAFETY: the handle is open until it is closed here, and used no more.
    let (waited, _) = unsafe { (WaitForSingleObject(process, 0), CloseHandle(process)) };
    waited == WAIT_TIMEOUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_another_number_does_not() {
        assert!(is_running(std::process::id()));
        assert!(!is_running(0x7fff_fff0));
    }
}
