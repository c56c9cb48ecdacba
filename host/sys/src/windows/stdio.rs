//! Standard input and output.

use std::fs::File;
use std::io;
use std::os::windows::io::{
    AsHandle as _, AsRawHandle as _, BorrowedHandle, IntoRawHandle as _, OwnedHandle,
};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_PIPE_NOT_CONNECTED, HANDLE};
use windows_sys::Win32::System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

/// Takes standard input and output away from the rest of the process. Other readers get no data, and
/// accidental output goes to standard error. The returned handles cannot be inherited.
pub fn take() -> io::Result<(OwnedHandle, OwnedHandle)> {
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    // The handle stays open for the lifetime of the process.
    let nothing = File::open("NUL")?.into_raw_handle();
    set(STD_INPUT_HANDLE, nothing)?;
    set(STD_OUTPUT_HANDLE, io::stderr().as_raw_handle())?;
    Ok((input, output))
}

#[allow(unsafe_code)]
fn set(which: STD_HANDLE, handle: HANDLE) -> io::Result<()> {
    // SAFETY: the handle is open for the lifetime of the process.
    if unsafe { SetStdHandle(which, handle) } == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns `true` if the other end of a pipe is closed. Does not read from it.
#[allow(unsafe_code)]
pub fn has_hung_up(input: BorrowedHandle<'_>) -> bool {
    // SAFETY: the handle is borrowed for this call, which neither reads data nor writes to memory.
    let peeked = unsafe {
        PeekNamedPipe(
            input.as_raw_handle(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    let error = io::Error::last_os_error().raw_os_error().map(i32::cast_unsigned);
    peeked == 0 && matches!(error, Some(ERROR_BROKEN_PIPE | ERROR_PIPE_NOT_CONNECTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_hung_up_when_its_other_end_is_closed() {
        let (reader, writer) = io::pipe().expect("a pipe");
        assert!(!has_hung_up(reader.as_handle()));
        drop(writer);
        assert!(has_hung_up(reader.as_handle()));
    }
}
