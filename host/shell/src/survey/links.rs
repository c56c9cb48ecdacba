//! Where else protected files are: a file with two names (`ln a b`) is protected under both, and so is what a
//! link in a protected folder leads to.
//!
//! Which files lie in a folder is remembered with it, so nothing is read for this but what has changed,
//! and there is no bound on how much may be compared.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_paths::Identity;

use super::folder::names_of;
use super::{Memory, Survey};

/// Other names of files.
#[derive(Debug, Default)]
pub(crate) struct OtherNames {
    /// Each with the number of the path that the file has, or lies below.
    pub names: Vec<(PathBuf, usize)>,
    /// Folders with such names that could not be looked at again.
    pub unseen: Vec<PathBuf>,
}

impl Survey {
    /// Links in a folder, at any depth, by what the last look found; none in what is not a folder.
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

    /// Under what names the files at and below these paths lie in the trees; the first path that
    /// has a file counts. By what the last look found.
    ///
    /// The first `hidden` paths are hidden, all others only frozen: a file of a hidden path is found in frozen
    /// folders too, where it could be read.
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

/// Files that are looked for.
struct Wanted<'a> {
    files: HashMap<Identity, usize>,
    /// Folders in which every file has a rule, with the number of the path that gives it.
    folders: HashMap<&'a Path, usize>,
    /// A bit for what the number of a file ends in, since most files are none of these.
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
            // As its folder says it, which some file systems do not say of files.
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

    /// The number of the path that a file has or lies below, if it is wanted.
    fn at(&self, file: Identity) -> Option<usize> {
        let (word, bit) = place(file);
        let is_likely = self.likely.get(word).is_some_and(|word| word & bit != 0);
        is_likely.then(|| self.files.get(&file).copied()).flatten()
    }
}

/// A file that has more names than one.
#[cfg(unix)]
fn shared(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = path.symlink_metadata().ok().filter(|found| found.is_file() && found.nlink() > 1)?;
    Some((found.dev(), found.ino()))
}

/// Listings give no numbers here, so that other names are not found.
#[cfg(not(unix))]
fn shared(_: &Path) -> Option<Identity> {
    None
}

/// Where the bit of a file is.
fn place((_, number): Identity) -> (usize, u64) {
    let end = number & 0xffff;
    (usize::try_from(end >> 6).unwrap_or(0), 1 << (end & 63))
}
