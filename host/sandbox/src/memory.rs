//! Memory files, which have no name at which they could be replaced.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

/// Creates a memory file that is immutable after `write`.
pub(crate) fn sealed(
    name: &str,
    executable: MemfdFlags,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let mut file = new(name, executable | MemfdFlags::ALLOW_SEALING)?;
    write(&mut file)?;
    file.rewind()?;
    seal(&file)?;
    Ok(file)
}

/// Seals a file. The kernel fails with `EBUSY`, after a wait of a few tenths of a second, if it is moving
/// pages of the file.
fn seal(file: &File) -> rustix::io::Result<()> {
    const TRIES: usize = 10;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    let mut sealed = Err(Errno::BUSY);
    for _ in 0..TRIES {
        sealed = fcntl_add_seals(file, seals);
        if sealed != Err(Errno::BUSY) {
            break;
        }
    }
    sealed
}

/// Creates an empty memory file.
pub(crate) fn new(name: &str, flags: MemfdFlags) -> io::Result<File> {
    let executable = MemfdFlags::EXEC | MemfdFlags::NOEXEC_SEAL;
    let made = memfd_create(name, flags | MemfdFlags::CLOEXEC);
    // Kernels before 6.3 know neither flag, and make every memory file executable.
    let made = match made {
        Err(Errno::INVAL) if flags.intersects(executable) => {
            memfd_create(name, flags.difference(executable) | MemfdFlags::CLOEXEC)
        }
        other => other,
    };
    Ok(File::from(made?))
}

/// Returns the path of an open file for this process, valid even after `exec`.
pub(crate) fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
