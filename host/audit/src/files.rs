//! Names of the audit files, and opening them so that no other user can read them.
//!
//! `audit.jsonl` is the current file. `audit-TIME.jsonl` files are full; TIME is when they filled up. The
//! lexical order of names is the order of lines.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use crate::system::{Identity, make_folder};
use crate::system::{identity, private};

/// Current file.
pub(crate) const CURRENT: &str = "audit.jsonl";
/// Head of the chain. Its lock is held while lines are written and files are renamed or removed.
pub(crate) const HEAD: &str = "audit.head";
const PREFIX: &str = "audit-";
const SUFFIX: &str = ".jsonl";

/// Returns the name of a file that filled up at `millis`: `audit-20261122T020836.123Z.jsonl`.
pub(crate) fn full_name(millis: u64) -> String {
    let time: String = crate::time::rfc3339(millis).chars().filter(|c| !"-:".contains(*c)).collect();
    format!("{PREFIX}{time}{SUFFIX}")
}

/// Parses the time at which a file with this name filled up.
pub(crate) fn full_since(name: &str) -> Option<u64> {
    let time = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (day, rest) = (time.get(..8)?, time.get(9..)?);
    let day = format!("{}-{}-{}", day.get(..4)?, day.get(4..6)?, day.get(6..)?);
    let time = format!("{}:{}:{}", rest.get(..2)?, rest.get(2..4)?, rest.get(4..)?);
    let millis = crate::time::parse(&format!("{day}T{time}"))?;
    (full_name(millis) == name).then_some(millis)
}

/// Lists the full files, oldest first.
pub(crate) fn full(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(since) = entry.file_name().to_str().and_then(full_since) {
            found.push((since, entry.path()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Open audit file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub name: String,
    pub file: File,
    pub known: Identity,
    pub bytes: u64,
}

/// Opens all files in the order of their lines. Returns none if the directory does not exist.
pub(crate) fn open_all(folder: &Path) -> io::Result<Vec<Opened>> {
    // Opened before listing the full files: if it is renamed meanwhile, it appears among them with the same
    // identity.
    let current = (CURRENT.to_owned(), File::open(folder.join(CURRENT)));
    let full = match full(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let full = full.into_iter().map(|(since, path)| (full_name(since), File::open(path)));
    let mut found: Vec<Opened> = Vec::new();
    for (name, file) in full.chain([current]) {
        match file {
            Ok(file) => {
                let about = file.metadata()?;
                let known = identity(&file, &about)?;
                if !found.iter().any(|other| other.known == known) {
                    found.push(Opened { name, file, known, bytes: about.len() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Opens a file for reading and appending, or creates it: a regular file, not a link, accessible only to its
/// owner.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    private(path, OpenOptions::new().read(true).append(true))
}

/// Like [`open_private`], but for writing at any offset; in append mode, writes go to the end only.
pub(crate) fn open_to_replace(path: &Path) -> io::Result<File> {
    private(path, OpenOptions::new().read(true).write(true))
}

/// Moves an open file, or a directory of open files, out of the way, as another program could. The name is
/// free immediately, whereas a file deleted on Windows keeps its name until it is closed.
#[cfg(test)]
pub(crate) fn take_away(path: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let into = |path: &Path| elsewhere.path().join(path.file_name().unwrap());
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            fs::rename(&path, into(&path)).unwrap();
        }
        fs::remove_dir(path).unwrap();
    } else {
        fs::rename(path, into(path)).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_known_by_their_names_alone() {
        let name = full_name(1_795_313_316_123);
        assert_eq!(name, "audit-20261122T020836.123Z.jsonl");
        assert_eq!(full_since(&name), Some(1_795_313_316_123));
        for other in
            ["audit.jsonl", "audit-.jsonl", "audit-20261122T020836.12Z.jsonl", "audit-é0261122T.jsonl", "x"]
        {
            assert_eq!(full_since(other), None, "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folders_are_made_private() {
        use std::os::unix::fs::PermissionsExt as _;

        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/audit");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        make_folder(&folder).unwrap();
        let path = folder.join("x");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        open_private(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_written_to() {
        let root = tempfile::tempdir().unwrap();
        let (target, link) = (root.path().join("target"), root.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(open_private(&link).is_err() && !target.exists());
        assert!(make_folder(&link).is_err());
        #[cfg(target_os = "linux")] // macOS creates FIFOs with another call
        {
            let pipe = root.path().join("pipe");
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            assert!(open_private(&pipe).is_err());
        }
    }
}
