//! Where else protected files are: a file with two names (`ln a b`) is protected under both, and so is what a
//! link in a protected folder leads to.
//!
//! Which files lie in a folder is remembered with it, so nothing is read for this but what has changed,
//! and there is no bound on how much may be compared.

use std::collections::{HashMap, HashSet};
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
        let memory = self.memory();
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
    pub(crate) fn other_names(&self, paths: &[&Path]) -> OtherNames {
        let memory = self.memory();
        let wanted = Wanted::of(paths, &memory);
        if wanted.files.is_empty() {
            return OtherNames::default();
        }
        let mut other = OtherNames::default();
        for (path, folder) in &memory.folders {
            if wanted.folders.contains(path.as_path()) || !folder.files().any(|file| wanted.has(file)) {
                continue;
            }
            match names_of(path, |file| wanted.has(file)) {
                Ok(found) => {
                    let named =
                        found.into_iter().filter_map(|(path, file)| Some((path, *wanted.files.get(&file)?)));
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
    /// Folders that all of them have a rule in.
    folders: HashSet<&'a Path>,
    /// A bit for what the number of a file ends in, since most files are none of these.
    likely: Vec<u64>,
}

impl<'a> Wanted<'a> {
    fn of(paths: &[&Path], memory: &'a Memory) -> Self {
        let mut wanted = Self { files: HashMap::new(), folders: HashSet::new(), likely: vec![0; 1024] };
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
            let Some(folder) = memory.folders.get(path).filter(|_| self.folders.insert(path)) else {
                continue;
            };
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

    fn has(&self, file: Identity) -> bool {
        let (word, bit) = place(file);
        self.likely.get(word).is_some_and(|word| word & bit != 0) && self.files.contains_key(&file)
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
