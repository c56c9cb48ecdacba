//! Security identifiers: who somebody is.

use std::io;
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, LocalFree};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::Win32::Security::{GetTokenInformation, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Longest text of an identifier, in UTF-16: `S-1-` and fifteen numbers.
const MOST_UNITS: usize = 256;

/// The identifier as Windows writes it: `S-1-5-18`.
///
/// # Safety
///
/// `sid` must point to a valid identifier.
#[allow(unsafe_code)]
pub(crate) unsafe fn text(sid: PSID) -> io::Result<String> {
    let mut text: *mut u16 = ptr::null_mut();
    // SAFETY: the caller vouches for `sid`; the text is written where `text` is.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut text) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a text that ends with a zero, which lies before `MOST_UNITS`.
    let units = (0..MOST_UNITS).map(|index| unsafe { text.add(index).read() }).take_while(|unit| *unit != 0);
    let owned = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    // SAFETY: it was allocated for this call, and nothing points to it any more.
    unsafe { LocalFree(text.cast()) };
    Ok(owned)
}

/// Who this process runs as.
#[allow(unsafe_code)]
pub(crate) fn own() -> io::Result<String> {
    let mut token = ptr::null_mut();
    // SAFETY: the process's own handle needs no closing; the token is written where `token` is.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // Room for the structure and the longest identifier behind it, aligned as both need it.
    let mut room = [0_u64; 32];
    let mut used = 0;
    let bytes = u32::try_from(size_of_val(&room)).unwrap_or(u32::MAX);
    // SAFETY: as many bytes are writable as are said to be.
    let got =
        unsafe { GetTokenInformation(token, TokenUser, room.as_mut_ptr().cast(), bytes, &raw mut used) };
    let error = io::Error::last_os_error();
    // SAFETY: it was opened above, and is used no more.
    unsafe { CloseHandle(token) };
    if got == 0 {
        return Err(error);
    }
    // SAFETY: the call has written this structure; the identifier that it points to lies in `room`, too.
    unsafe { text((*room.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}
