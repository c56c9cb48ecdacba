//! The console that this process reads from.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::sync::OnceLock;
use std::time::Duration;

use windows_sys::Win32::Foundation::{WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Console::{FlushConsoleInputBuffer, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// What is done when the console says to end.
static AT_END: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Calls this, in a thread of the system's, when Ctrl-C or Ctrl-Break is typed, the console is closed, or its user logs
/// off. Once for a process.
#[allow(unsafe_code)]
pub fn at_end(act: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    if AT_END.set(Box::new(act)).is_err() {
        return Err(io::Error::other("it is said already what is done at the end"));
    }
    // SAFETY: the function is there for as long as the process is.
    if unsafe { SetConsoleCtrlHandler(Some(end), 1) } == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[allow(unsafe_code)]
unsafe extern "system" fn end(_: u32) -> i32 {
    if let Some(act) = AT_END.get() {
        act();
    }
    1
}

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
