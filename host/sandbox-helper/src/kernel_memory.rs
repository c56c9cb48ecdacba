//! Memory that the kernel uses on behalf of a command and that no process shows: file locks and open files.
//!
//! The kernel reports this memory only for the whole machine. A command therefore exceeds its limit if the
//! total has grown by more than the limit since its start, and the command has many of the objects that use
//! such memory. The check reads one small file while the total has not grown.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};

use crate::tree::Tree;

/// Number of locks or descriptors that ordinary commands never reach. With more of them, the kernel takes
/// seconds to list the locks.
const MANY: u32 = 50_000;

/// Kernel memory at the start of a command.
#[derive(Debug)]
pub(super) struct KernelMemory {
    before: Option<u64>,
}

impl KernelMemory {
    pub(super) fn new() -> Self {
        Self { before: held() }
    }

    /// Returns `true` if the kernel uses more than `limit` bytes for the processes of a command.
    pub(super) fn exceeds(&self, limit: u64, tree: Tree) -> bool {
        let (Some(before), Some(now)) = (self.before, held()) else { return false };
        now.saturating_sub(before) > limit && (has_many_locks(tree) || tree.all_descriptors() > MANY)
    }
}

/// Returns the unreclaimable kernel memory of the machine in bytes.
fn held() -> Option<u64> {
    // A single read suffices; `read_to_string` would need eight, because the file reports a length of 0.
    let mut text = [0; 4096];
    let length = File::open("/proc/meminfo").and_then(|mut file| file.read(&mut text)).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("SUnreclaim:"))?;
    Some(value.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Returns `true` if processes have many locks on their open files, or if one of them denies access. The list
/// of all locks of the machine is not read: the kernel blocks lock operations meanwhile.
fn has_many_locks(tree: Tree) -> bool {
    let mut left = MANY as usize;
    for number in tree.numbers() {
        let Ok(entries) = fs::read_dir(format!("/proc/{number}/fdinfo")) else {
            // The process has ended, or denies access.
            if fs::exists(format!("/proc/{number}")).unwrap_or(true) {
                return true;
            }
            continue;
        };
        for entry in entries.flatten() {
            let Ok(file) = File::open(entry.path()) else { continue };
            let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
            let locks = lines.filter(|line| line.starts_with(b"lock:")).take(left + 1).count();
            let Some(rest) = left.checked_sub(locks) else { return true };
            left = rest;
        }
    }
    false
}
