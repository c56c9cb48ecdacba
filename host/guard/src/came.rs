//! Names that came while a command ran, and where they are when it has ended.

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::caller::{Spot, path_of};

/// Most folders that are held to see where they are in the end.
const MAX_HELD: usize = 64;

/// The names, each by the folder that it came to: that may be moved.
#[derive(Debug, Default)]
pub(super) struct Came(RefCell<Places>);

#[derive(Debug, Default)]
struct Places {
    /// The folder, and the name in it.
    held: Vec<(OwnedFd, OsString)>,
    /// How many more, of which nothing else is known.
    others: u32,
}

impl Came {
    pub(super) fn add(&self, spot: &Spot) {
        let mut places = self.0.borrow_mut();
        let folder = (places.held.len() < MAX_HELD).then(|| spot.folder.try_clone());
        match folder {
            Some(Ok(folder)) => places.held.push((folder, spot.bare().to_owned())),
            _ => places.others = places.others.saturating_add(1),
        }
    }

    /// What is there of it now: all that is known, in order, and how many more came.
    pub(super) fn found(&self) -> (Vec<PathBuf>, u32) {
        let places = self.0.borrow();
        let place = |(folder, name): &(OwnedFd, OsString)| {
            match statat(folder, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => None,
                // Also in a folder that was closed, which the next command can open.
                _ => Some(path_of(folder).ok()?.join(name)),
            }
        };
        let mut paths: Vec<_> = places.held.iter().filter_map(place).collect();
        paths.sort();
        paths.dedup();
        (paths, places.others)
    }
}
