//! Finds the folders of a cell whose limited memory is used up.

use std::path::Path;

use scorpiox_sandbox::wire::{CellSpec, RawPath, Tier};

/// Part of a folder that is free at least, unless it counts as full.
const FREE_PART: u64 = 64;

/// Returns the folders in memory of a cell that have no room. A program that fails because of that only prints that a
/// device is full.
pub(super) fn full(cell: &CellSpec) -> Vec<RawPath> {
    let home = cell.home.as_path();
    let (tmp, shared) = (Path::new("/tmp"), Path::new("/dev/shm"));
    let folders: &[&Path] = match cell.tier {
        Tier::T1 => &[tmp, home, shared],
        Tier::T1b => &[home, shared],
        _ => &[],
    };
    folders.iter().filter(|folder| is_full(folder)).map(|folder| (*folder).into()).collect()
}

fn is_full(folder: &Path) -> bool {
    let Ok(about) = rustix::fs::statvfs(folder) else { return false };
    has_no_room((about.f_blocks, about.f_bavail), (about.f_files, about.f_favail))
}

/// Judges the blocks and the files of a file system, each as their total and the free ones.
fn has_no_room((blocks, free): (u64, u64), (files, free_files): (u64, u64)) -> bool {
    free < (blocks / FREE_PART).max(1) || files > 0 && free_files == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_room_is_full() {
        for (blocks, files) in [
            ((262_144, 0), (1000, 900)),
            ((262_144, 4095), (1000, 1)),
            ((262_144, 200_000), (1000, 0)),
            ((16, 0), (0, 0)),
        ] {
            assert!(has_no_room(blocks, files), "{blocks:?} {files:?}");
        }
        for (blocks, files) in [((262_144, 4096), (1000, 1)), ((16, 1), (0, 0))] {
            assert!(!has_no_room(blocks, files), "{blocks:?} {files:?}");
        }
    }
}
