//! Who can change a file or a folder, or read a file, as its access-control list says.

use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_SUCCESS, GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, LocalFree};
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, INHERIT_ONLY_ACE,
    OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
};

use crate::sid;

/// The system itself, its administrators, and what installs its updates: they can change everything anyway. An owner's
/// own entry is for whoever owns the file, which is looked at first.
const SYSTEM: [&str; 4] =
    ["S-1-5-18", "S-1-5-32-544", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", "S-1-3-4"];
/// Rights by which a file's content, a folder's entries, or these rights can be changed: data, appending, extended
/// attributes, entries of a folder, attributes, deleting, rights, owner.
const CHANGES: u32 = 0x2 | 0x4 | 0x10 | 0x100 | GENERIC_WRITE | EXCHANGES;
/// Rights by which something can be put in the place of what a folder holds: deleting in it, deleting or renaming it,
/// its rights, its owner. Adding something new is none of them, which every user may in `C:\`.
const EXCHANGES: u32 = 0x40 | 0x1_0000 | 0x4_0000 | 0x8_0000 | GENERIC_ALL;

/// Rights by which a file's content can be read, now or after a change of these rights.
const READS: u32 = 0x1 | 0x4_0000 | 0x8_0000 | GENERIC_READ | GENERIC_ALL;

/// Entries that allow something.
const ALLOWED: u8 = 0;
/// Entries that deny something, or are about what is recorded.
const NO_RIGHTS: [u8; 8] = [1, 2, 3, 6, 7, 10, 13, 17];

/// Whether others than this process's user and the system can change it: why, as a clause. The handle must have the
/// right to read the list, which every handle for reading has.
pub fn others_can_change(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    let own = sid::own()?;
    untrusted(file, CHANGES, |who| who == own || SYSTEM.contains(&who))
}

/// Whether others than this process's user and the system can read it: why, as a clause.
pub fn others_can_read(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    let own = sid::own()?;
    untrusted(file, READS, |who| who == own || SYSTEM.contains(&who))
}

/// The same, where this process's user is one of the others: whether anybody but the system can change it.
pub fn users_can_change(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    // An owner's own entry is the system's where the owner is.
    untrusted(file, CHANGES, |who| SYSTEM.contains(&who))
}

/// Whether anybody but the system can put something in the place of what a folder holds.
pub fn users_can_exchange(folder: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    untrusted(folder, EXCHANGES, |who| SYSTEM.contains(&who))
}

/// Why somebody can change it who is not trusted.
#[allow(unsafe_code)]
fn untrusted(
    file: BorrowedHandle<'_>,
    rights: u32,
    is_trusted: impl Fn(&str) -> bool,
) -> io::Result<Option<String>> {
    let (mut owner, mut list): (PSID, *mut ACL) = (ptr::null_mut(), ptr::null_mut());
    let mut whole: PSECURITY_DESCRIPTOR = ptr::null_mut();
    // SAFETY: the handle is borrowed for this call; what is found is written where these three are.
    let error = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            &raw mut list,
            ptr::null_mut(),
            &raw mut whole,
        )
    };
    if error != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(error.cast_signed()));
    }
    // SAFETY: both lie in `whole`, which is freed after they were read.
    let judged = unsafe { judge(rights, is_trusted, owner, list) };
    // SAFETY: it was allocated for the call above, and nothing points to it any more.
    unsafe { LocalFree(whole) };
    judged
}

/// # Safety
///
/// `owner` must be null or a valid identifier, `list` null or a valid list.
#[allow(unsafe_code)]
unsafe fn judge(
    wanted: u32,
    is_trusted: impl Fn(&str) -> bool,
    owner: PSID,
    list: *const ACL,
) -> io::Result<Option<String>> {
    if owner.is_null() {
        return Ok(Some("it has no owner".to_owned()));
    }
    // SAFETY: it is not null.
    let owner = unsafe { sid::text(owner)? };
    if !is_trusted(&owner) {
        return Ok(Some(format!("it belongs to {owner}")));
    }
    if list.is_null() {
        return Ok(Some("everybody may read and write it: it has no access-control list".to_owned()));
    }
    // SAFETY: it is not null.
    let count = unsafe { (*list).AceCount };
    for index in 0..u32::from(count) {
        let mut entry = ptr::null_mut();
        // SAFETY: the list is valid, and has so many entries.
        if unsafe { GetAce(list, index, &raw mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with a header.
        let ACE_HEADER { AceType: kind, AceFlags: flags, .. } = unsafe { *entry.cast::<ACE_HEADER>() };
        if NO_RIGHTS.contains(&kind) || u32::from(flags) & INHERIT_ONLY_ACE != 0 {
            continue;
        }
        if kind != ALLOWED {
            // With a condition, or for an object: nobody here knows what it allows.
            return Ok(Some(format!("its access-control list has an entry of the kind {kind}")));
        }
        let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
        // SAFETY: an entry of this kind is this structure, at whose end the identifier begins.
        let (rights, who) = unsafe { ((*entry).Mask, sid::text((&raw mut (*entry).SidStart).cast())?) };
        if rights & wanted != 0 && !is_trusted(&who) {
            let what = if wanted == READS { "read" } else { "write" };
            return Ok(Some(format!("{who} may {what} it")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::windows::io::AsHandle as _;

    use windows_sys::Win32::Security::Authorization::{
        EXPLICIT_ACCESS_W, GRANT_ACCESS, SetEntriesInAclW, SetSecurityInfo, TRUSTEE_IS_SID, TRUSTEE_W,
    };
    use windows_sys::Win32::Security::{
        CreateWellKnownSid, PROTECTED_DACL_SECURITY_INFORMATION, WinWorldSid,
    };

    use super::*;

    /// `FILE_GENERIC_READ` and `FILE_GENERIC_WRITE`.
    const READ: u32 = 0x0012_0089;
    const WRITE: u32 = 0x0012_0116;
    /// `READ_CONTROL` and `WRITE_DAC`.
    const CONTROL: u32 = 0x0006_0000;

    /// Gives a file a list with one entry, for one of the groups that everybody knows.
    #[allow(unsafe_code)]
    fn open_to(file: &File, group: i32, rights: u32) {
        let mut sid = [0_u8; 68];
        let mut bytes = 68;
        // SAFETY: as many bytes are writable as are said to be.
        let made =
            unsafe { CreateWellKnownSid(group, ptr::null_mut(), sid.as_mut_ptr().cast(), &raw mut bytes) };
        assert_ne!(made, 0);
        let trustee = TRUSTEE_W {
            TrusteeForm: TRUSTEE_IS_SID,
            ptstrName: sid.as_mut_ptr().cast(),
            ..Default::default()
        };
        let entry = EXPLICIT_ACCESS_W {
            grfAccessPermissions: rights,
            grfAccessMode: GRANT_ACCESS,
            grfInheritance: 0,
            Trustee: trustee,
        };
        let mut list = ptr::null_mut();
        // SAFETY: one entry is there, and what it points to outlives the call.
        let made = unsafe { SetEntriesInAclW(1, &raw const entry, ptr::null(), &raw mut list) };
        assert_eq!(made, 0);
        let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
        // SAFETY: the handle is open, the list was made above.
        let set = unsafe {
            SetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                what,
                ptr::null_mut(),
                ptr::null_mut(),
                list,
                ptr::null(),
            )
        };
        assert_eq!(set, 0);
    }

    #[test]
    fn who_may_write_is_told_and_who_may_read_is_told_to_who_asks() {
        use std::os::windows::fs::OpenOptionsExt as _;
        let path = std::env::temp_dir().join(format!("access-{}", std::process::id()));
        File::create(&path).expect("a file");
        let file = File::options().access_mode(READ | CONTROL).open(&path).expect("the file");
        let others = || others_can_change(file.as_handle()).expect("an answer");
        open_to(&file, WinWorldSid, READ);
        assert_eq!(others(), None);
        let readers = others_can_read(file.as_handle()).expect("an answer");
        assert_eq!(readers.as_deref(), Some("S-1-1-0 may read it"));
        open_to(&file, WinWorldSid, READ | WRITE);
        assert_eq!(others().as_deref(), Some("S-1-1-0 may write it"));
        drop(file);
        std::fs::remove_file(&path).expect("removed");
    }
}
