//! Reading small files that may be anything.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest file that is read, in bytes. Git's own files of this kind have a few hundred.
const MAX_BYTES: u64 = 1 << 20;

/// The first bytes of a regular file; none of what is no such file, or cannot be read.
pub(crate) fn text(path: &Path) -> Option<Vec<u8>> {
    // A pipe in its place must not be waited for.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
