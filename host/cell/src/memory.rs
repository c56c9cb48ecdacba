//! Files in memory, which have no name that others could exchange.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

/// One that nobody can change any more after this has been written to it.
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

/// The kernel may be moving pages of the file: it waits for that, some tenths of a second at most, and then says so.
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

/// An empty one.
pub(crate) fn new(name: &str, flags: MemfdFlags) -> io::Result<File> {
    let executable = MemfdFlags::EXEC | MemfdFlags::NOEXEC_SEAL;
    let made = memfd_create(name, flags | MemfdFlags::CLOEXEC);
    // Kernels before 6.3 know neither word, and make every such file executable.
    let made = match made {
        Err(Errno::INVAL) if flags.intersects(executable) => {
            memfd_create(name, flags.difference(executable) | MemfdFlags::CLOEXEC)
        }
        other => other,
    };
    Ok(File::from(made?))
}

/// How this process names what it has open, also when it becomes another program.
pub(crate) fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
