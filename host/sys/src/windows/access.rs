//! Access checks of files and folders, based on their access-control lists.

use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_SUCCESS, GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, LocalFree};
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, INHERIT_ONLY_ACE,
    OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
};

use crate::windows::sid;

/// SIDs of the system, its administrators, and the update installer, which can change everything anyway. The
/// last one is OWNER RIGHTS, which applies to the owner, who is checked first.
const SYSTEM: [&str; 4] =
    ["S-1-5-18", "S-1-5-32-544", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", "S-1-3-4"];
/// Access rights that allow changes to a file's content, a folder's entries, or the rights themselves: data,
/// appending, extended attributes, child entries, attributes, deletion, permissions, owner.
const CHANGES: u32 = 0x2 | 0x4 | 0x10 | 0x100 | GENERIC_WRITE | EXCHANGES;
/// Access rights that allow replacing the content of a folder: deleting children, deleting or renaming the
/// folder, changing its permissions or owner. Adding entries is not included, because every user may do that
/// in `C:\`.
const EXCHANGES: u32 = 0x40 | 0x1_0000 | 0x4_0000 | 0x8_0000 | GENERIC_ALL;

/// Access rights that allow reading a file's content, either directly or after a change of the rights.
const READS: u32 = 0x1 | 0x4_0000 | 0x8_0000 | GENERIC_READ | GENERIC_ALL;

/// ACE type that allows access.
const ALLOWED: u8 = 0;
/// ACE types that deny access or configure auditing.
const NO_RIGHTS: [u8; 8] = [1, 2, 3, 6, 7, 10, 13, 17];

/// Returns why anyone except this process's user and the system can change the file, as a clause, or `None`
/// if nobody can. The handle needs the right to read the list, which every handle for reading has.
pub fn others_can_change(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    let own = sid::own()?;
    untrusted(file, CHANGES, |who| who == own || SYSTEM.contains(&who))
}

/// Returns why anyone except this process's user and the system can read the file, as a clause, or `None` if
/// nobody can.
pub fn others_can_read(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    let own = sid::own()?;
    untrusted(file, READS, |who| who == own || SYSTEM.contains(&who))
}

/// Returns why anyone except the system can change the file, as a clause. Unlike [`others_can_change`], this
/// includes the user of this process.
pub fn users_can_change(file: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    // OWNER RIGHTS is trusted, because the owner must be trusted as well.
    untrusted(file, CHANGES, |who| SYSTEM.contains(&who))
}

/// Returns why anyone except the system can replace the content of the folder, as a clause.
pub fn users_can_exchange(folder: BorrowedHandle<'_>) -> io::Result<Option<String>> {
    untrusted(folder, EXCHANGES, |who| SYSTEM.contains(&who))
}

/// Returns why an untrusted account has any of these rights.
#[allow(unsafe_code)]
fn untrusted(
    file: BorrowedHandle<'_>,
    rights: u32,
    is_trusted: impl Fn(&str) -> bool,
) -> io::Result<Option<String>> {
    let (mut owner, mut list): (PSID, *mut ACL) = (ptr::null_mut(), ptr::null_mut());
    let mut whole: PSECURITY_DESCRIPTOR = ptr::null_mut();
    // SAFETY: the handle is borrowed for this call. The results are written to these three variables.
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
    // SAFETY: both point into `whole`, which is freed after this call.
    let judged = unsafe { judge(rights, is_trusted, owner, list) };
    // SAFETY: it was allocated by the call above, and nothing points to it anymore.
    unsafe { LocalFree(whole) };
    judged
}

/// Returns why an untrusted account has any of the wanted rights.
///
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
        // SAFETY: the list is valid and has this number of entries.
        if unsafe { GetAce(list, index, &raw mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with a header.
        let ACE_HEADER { AceType: kind, AceFlags: flags, .. } = unsafe { *entry.cast::<ACE_HEADER>() };
        if NO_RIGHTS.contains(&kind) || u32::from(flags) & INHERIT_ONLY_ACE != 0 {
            continue;
        }
        if kind != ALLOWED {
            // Conditional and object entries are not evaluated, so they count as allowing access.
            return Ok(Some(format!("its access-control list has an entry of the kind {kind}")));
        }
        let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
        // SAFETY: an entry of this type is this structure, and the identifier starts at its end.
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

    /// Gives a file an access-control list with one entry, for a well-known group.
    #[allow(unsafe_code)]
    fn open_to(file: &File, group: i32, rights: u32) {
        let mut sid = [0_u8; 68];
        let mut bytes = 68;
        // SAFETY: the buffer has the given number of writable bytes.
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
        // SAFETY: there is one entry, and its targets outlive the call.
        let made = unsafe { SetEntriesInAclW(1, &raw const entry, ptr::null(), &raw mut list) };
        assert_eq!(made, 0);
        let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
        // SAFETY: the handle is open, and the list was created above.
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
