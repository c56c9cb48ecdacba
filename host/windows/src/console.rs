//! The console that this process reads from.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::time::Duration;

use windows_sys::Win32::Foundation::{WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Console::FlushConsoleInputBuffer;
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// Forgets what was typed and not read yet. Fails where standard input is no console.
#[allow(unsafe_code)]
pub fn forget_typed() -> io::Result<()> {
    // SAFETY: the handle is the process's own, and stays open.
    match unsafe { FlushConsoleInputBuffer(io::stdin().as_raw_handle()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Waits until something is typed, and whether that was so before `time` was over.
#[allow(unsafe_code)]
pub fn is_typed_within(time: Duration) -> io::Result<bool> {
    // The largest number means to wait for ever.
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
    // SAFETY: the handle is the process's own, and stays open.
    match unsafe { WaitForSingleObject(io::stdin().as_raw_handle(), millis) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        _ => Err(io::Error::last_os_error()),
    }
}
