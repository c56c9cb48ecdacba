//! Finds the other locations of protected files: a file with two names (`ln a b`) is protected under both,
//! and so is the target of a link in a protected folder.
//!
//! The file identities of each folder are cached with it. Only changed folders are read for this, so there is
//! no limit on the number of compared files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_fs::Identity;

use super::folder::names_of;
use super::{Memory, Survey};

/// Other names of files.
#[derive(Debug, Default)]
pub(crate) struct OtherNames {
    /// Other names, each with the index of the path that the file has or lies below.
    pub names: Vec<(PathBuf, usize)>,
    /// Folders with such names that could not be read again.
    pub unseen: Vec<PathBuf>,
}

impl Survey {
    /// Returns the links at any depth below a folder, according to the last survey. Returns none if `path` is
    /// not a folder.
    pub(crate) fn links_below(&self, path: &Path) -> Vec<PathBuf> {
        let memory = self.memory.lock();
        let (mut links, mut open) = (Vec::new(), vec![path]);
        while let Some(folder) = open.pop().map(|path| memory.folders.get(path)) {
            let Some(folder) = folder else { continue };
            links.extend_from_slice(&folder.links);
            open.extend(folder.below().map(|(path, _)| path));
        }
        links
    }

    /// Finds all names in the trees of the files at and below `paths`, according to the last survey. A file
    /// found below several paths belongs to the first.
    ///
    /// The first `hidden` paths are hidden, and the rest are only frozen. Files of a hidden path are
    /// therefore also searched for in frozen folders, where they could be read.
    pub(crate) fn other_names(&self, paths: &[&Path], hidden: usize) -> OtherNames {
        let memory = self.memory.lock();
        let wanted = Wanted::of(paths, &memory);
        if wanted.files.is_empty() {
            return OtherNames::default();
        }
        let mut other = OtherNames::default();
        for (path, folder) in &memory.folders {
            let most = match wanted.folders.get(path.as_path()) {
                Some(at) if *at < hidden => continue,
                Some(_) => hidden,
                None => paths.len(),
            };
            let is_wanted = |file| wanted.at(file).is_some_and(|at| at < most);
            if !folder.files().any(is_wanted) {
                continue;
            }
            match names_of(path, is_wanted) {
                Ok(found) => {
                    let named = found.into_iter().filter_map(|(path, file)| Some((path, wanted.at(file)?)));
                    other.names.extend(named);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => other.unseen.push(path.clone()),
            }
        }
        other
    }
}

/// Files to search for.
struct Wanted<'a> {
    files: HashMap<Identity, usize>,
    /// Folders in which every file has a rule, with the index of the path that gives it.
    folders: HashMap<&'a Path, usize>,
    /// Bitmap over the low bits of the inode numbers, which rejects most files quickly.
    likely: Vec<u64>,
}

impl<'a> Wanted<'a> {
    fn of(paths: &[&Path], memory: &'a Memory) -> Self {
        let mut wanted = Self { files: HashMap::new(), folders: HashMap::new(), likely: vec![0; 1024] };
        for (at, path) in paths.iter().enumerate() {
            match memory.folders.get_key_value(*path) {
                Some((path, _)) => wanted.add_below(path, at, memory),
                None => wanted.add_file(path, at, memory),
            }
        }
        wanted
    }

    fn add_below(&mut self, path: &'a Path, at: usize, memory: &'a Memory) {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let Some(folder) = memory.folders.get(path) else { continue };
            let Entry::Vacant(entry) = self.folders.entry(path) else { continue };
            entry.insert(at);
            for file in folder.files() {
                self.add(file, at);
            }
            open.extend(folder.below().map(|(path, _)| path));
        }
    }

    fn add_file(&mut self, path: &Path, at: usize, memory: &Memory) {
        if let Some((device, number)) = shared(path) {
            // Use the device of the folder, because some file systems report a different one for files.
            let folder = path.parent().and_then(|folder| memory.folders.get(folder));
            let device = folder.map_or(device, |folder| folder.identity().0);
            self.add((device, number), at);
        }
    }

    fn add(&mut self, file: Identity, at: usize) {
        let (word, bit) = place(file);
        if let Some(word) = self.likely.get_mut(word) {
            *word |= bit;
        }
        self.files.entry(file).or_insert(at);
    }

    /// Returns the index of the path that the file has or lies below, if the file is wanted.
    fn at(&self, file: Identity) -> Option<usize> {
        let (word, bit) = place(file);
        let is_likely = self.likely.get(word).is_some_and(|word| word & bit != 0);
        is_likely.then(|| self.files.get(&file).copied()).flatten()
    }
}

/// Returns the identity of a regular file with more than one name.
#[cfg(unix)]
fn shared(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = path.symlink_metadata().ok().filter(|found| found.is_file() && found.nlink() > 1)?;
    Some((found.dev(), found.ino()))
}

/// Returns `None`: directory listings contain no file IDs on this system, so other names are not found.
#[cfg(not(unix))]
fn shared(_: &Path) -> Option<Identity> {
    None
}

/// Returns the position of a file's bit in the bitmap.
fn place((_, number): Identity) -> (usize, u64) {
    let end = number & 0xffff;
    (usize::try_from(end >> 6).unwrap_or(0), 1 << (end & 63))
}
