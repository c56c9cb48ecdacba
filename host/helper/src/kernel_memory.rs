//! Memory that the kernel holds for a command and that no process shows: its locks on files, and what it has open.
//!
//! The kernel says how much it holds for the whole machine, and not for whom. So a command is over its limit when
//! that grew by more than the limit since the command began, and the command has much of what such memory is
//! made of. Asking costs one small file, as long as nothing grew.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use crate::tree::Tree;

/// Locks, or descriptors, that no ordinary command comes near. Beyond it the kernel takes seconds to list locks.
const MANY: u32 = 50_000;

/// What the kernel held when a command began.
#[derive(Debug)]
pub(super) struct KernelMemory {
    before: Option<u64>,
}

impl KernelMemory {
    pub(super) fn new() -> Self {
        Self { before: held() }
    }

    /// Whether the kernel holds more than `limit` bytes for the processes of a command.
    pub(super) fn exceeds(&self, limit: u64, tree: Tree) -> bool {
        let (Some(before), Some(now)) = (self.before, held()) else { return false };
        now.saturating_sub(before) > limit && (has_many_locks(tree) || tree.all_descriptors() > MANY)
    }
}

/// Bytes that the kernel holds for the machine and cannot give back.
fn held() -> Option<u64> {
    // One read has all of it; `read_to_string` would need eight, of a file whose length is 0.
    let mut text = [0; 4096];
    let length = File::open("/proc/meminfo").and_then(|mut file| file.read(&mut text)).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("SUnreclaim:"))?;
    Some(value.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

fn has_many_locks(tree: Tree) -> bool {
    let Ok(file) = File::open("/proc/locks") else { return false };
    let own = tree.numbers();
    let mut many = BufReader::new(file).split(b'\n').map_while(Result::ok).filter(|line| {
        // `12: POSIX  ADVISORY  WRITE 1234 08:01:77 0 EOF`; locks of open files have -1 for a process.
        let line = String::from_utf8_lossy(line);
        let number = line.split_ascii_whitespace().filter(|word| *word != "->").nth(4);
        number
            .is_some_and(|number| number == "-1" || number.parse().is_ok_and(|number| own.contains(&number)))
    });
    many.nth(MANY as usize).is_some()
}
