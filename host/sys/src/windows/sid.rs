//! Security identifiers (SIDs) of accounts.

use std::io;
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, LocalFree};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::Win32::Security::{GetTokenInformation, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Maximum length of a textual SID in UTF-16 units: `S-1-` and fifteen numbers.
const MOST_UNITS: usize = 256;

/// Returns the textual form of a SID: `S-1-5-18`.
///
/// # Safety
///
/// `sid` must point to a valid identifier.
#[allow(unsafe_code)]
pub(crate) unsafe fn text(sid: PSID) -> io::Result<String> {
    let mut text: *mut u16 = ptr::null_mut();
    // SAFETY: the caller guarantees that `sid` is valid. The text is written to `text`.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut text) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the text ends with a zero before `MOST_UNITS`.
    let units = (0..MOST_UNITS).map(|index| unsafe { text.add(index).read() }).take_while(|unit| *unit != 0);
    let owned = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    // SAFETY: it was allocated by the call above, and nothing points to it anymore.
    unsafe { LocalFree(text.cast()) };
    Ok(owned)
}

/// Returns the SID of this process's user.
#[allow(unsafe_code)]
pub(crate) fn own() -> io::Result<String> {
    let mut token = ptr::null_mut();
    // SAFETY: the pseudo-handle of the process needs no closing. The token is written to `token`.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // Space for the structure and the longest identifier after it, with sufficient alignment for both.
    let mut room = [0_u64; 32];
    let mut used = 0;
    let bytes = u32::try_from(size_of_val(&room)).unwrap_or(u32::MAX);
    // SAFETY: the buffer has the given number of writable bytes.
    let got =
        unsafe { GetTokenInformation(token, TokenUser, room.as_mut_ptr().cast(), bytes, &raw mut used) };
    let error = io::Error::last_os_error();
    // SAFETY: it was opened above and is not used afterwards.
    unsafe { CloseHandle(token) };
    if got == 0 {
        return Err(error);
    }
    // SAFETY: the call has written this structure, and its identifier also lies in `room`.
    unsafe { text((*room.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}
