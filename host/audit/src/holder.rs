//! Finds the process that holds a lock, where the system reveals it.

#[cfg(target_os = "linux")]
pub(crate) use self::locks::holder;

/// Returns `None`: this system does not reveal lock holders.
#[cfg(not(target_os = "linux"))]
pub(crate) fn holder(_: &std::fs::File) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
mod locks {
    use std::fs::File;
    use std::io::Read as _;

    use rustix::fs::{major, minor};
    use scorpiox_text::line::clean;

    use crate::system::identity;

    /// Maximum length of the process name, in bytes.
    const MAX_NAME_BYTES: usize = 32;

    /// Describes the holder of a lock on a file, such as "process 1234 (flock)", if known.
    pub(crate) fn holder(file: &File) -> Option<String> {
        const MAX_LOCKS_BYTES: u64 = 1 << 20;
        let (device, inode) = identity(file, &file.metadata().ok()?).ok()?;
        // Overlay file systems report a different device number here. Then no holder is found, rather than
        // the wrong one.
        let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
        let mut locks = String::new();
        File::open("/proc/locks").ok()?.take(MAX_LOCKS_BYTES).read_to_string(&mut locks).ok()?;
        let pid = locks.lines().find_map(|lock| {
            // "7: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF"; lines of waiting processes contain an arrow.
            let words: Vec<_> = lock.split_whitespace().collect();
            let [_, "FLOCK", _, _, pid, locked, ..] = words.as_slice() else { return None };
            pid.parse::<u32>().ok().filter(|pid| *pid > 0 && *locked == place)
        })?;
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = clean(name.trim(), MAX_NAME_BYTES);
        Some(if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") })
    }
}
