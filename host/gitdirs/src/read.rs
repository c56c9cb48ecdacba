//! Reading small files that may be anything.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The beginning of a file.
pub(crate) struct Text {
    pub bytes: Vec<u8>,
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// The first bytes of a regular file; none of what is no such file, or cannot be read.
pub(crate) fn text(path: &Path, most: u64) -> Option<Text> {
    // A pipe in its place must not be waited for.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    Some(Text { bytes, is_cut })
}
