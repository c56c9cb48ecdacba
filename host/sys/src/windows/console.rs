//! The console of this process.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::sync::OnceLock;
use std::time::Duration;

use windows_sys::Win32::Foundation::{WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Console::{FlushConsoleInputBuffer, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// Callback for the end of the console.
static AT_END: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Registers a callback for Ctrl-C, Ctrl-Break, the closing of the console, and logoff. It runs on a system
/// thread. Only one callback per process can be registered.
#[allow(unsafe_code)]
pub fn at_end(act: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    if AT_END.set(Box::new(act)).is_err() {
        return Err(io::Error::other("it is said already what is done at the end"));
    }
    // SAFETY: the function exists for the lifetime of the process.
    if unsafe { SetConsoleCtrlHandler(Some(end), 1) } == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[allow(unsafe_code)]
unsafe extern "system" fn end(_: u32) -> i32 {
    if let Some(act) = AT_END.get() {
        act();
    }
    1
}

/// Discards input that was typed but not read yet. Fails if standard input is not a console.
#[allow(unsafe_code)]
pub fn forget_typed() -> io::Result<()> {
    // SAFETY: the handle belongs to the process and stays open.
    match unsafe { FlushConsoleInputBuffer(io::stdin().as_raw_handle()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Waits for typed input for at most `time`. Returns `true` if there is any.
#[allow(unsafe_code)]
pub fn is_typed_within(time: Duration) -> io::Result<bool> {
    // The largest value means an infinite wait.
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
    // SAFETY: the handle belongs to the process and stays open.
    match unsafe { WaitForSingleObject(io::stdin().as_raw_handle(), millis) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        _ => Err(io::Error::last_os_error()),
    }
}
