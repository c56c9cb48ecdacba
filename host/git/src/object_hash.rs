//! Finds the hash function of a repository's object names.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::parse::{Entry, before_zero, parse};
use crate::read;

/// Maximum size of a configuration to read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a file `commondir`, in bytes.
const MAX_LINK_BYTES: u64 = 4096;

/// Hash function of object names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectHash {
    Sha1,
    Sha256,
}

impl ObjectHash {
    /// All hash functions that git knows.
    pub(crate) const ALL: [Self; 2] = [Self::Sha1, Self::Sha256];

    /// Returns the hash function of the repository with this git directory, as its configuration says. Returns `None` if
    /// that cannot be read as git does.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let config = common(folder)?.join("config");
        match config.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Some(Self::Sha1),
            _ => {}
        }
        let text = read::text(&config, MAX_BYTES).filter(|text| !text.is_cut)?;
        let parsed = parse(&text.bytes);
        if parsed.is_broken {
            return None;
        }
        // Git follows no `include` here.
        let last = |name: &[u8]| {
            let entry = parsed.entries.iter().rfind(|entry| entry.name.eq_ignore_ascii_case(name));
            entry.map(Entry::value)
        };
        match (last(b"extensions.objectformat"), last(b"core.repositoryformatversion")) {
            (None | Some(b"sha1"), _) => Some(Self::Sha1),
            // Without that version, git ignores the extension, or refuses the repository.
            (Some(b"sha256"), Some(b"1")) => Some(Self::Sha256),
            (Some(_), _) => None,
        }
    }

    /// Returns the size of an object name in bytes.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Returns the folder with the configuration of a git directory: that of a linked work tree names it.
fn common(folder: &Path) -> Option<PathBuf> {
    let link = folder.join("commondir");
    match link.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(folder.to_owned()),
        _ => {}
    }
    let text = read::text(&link, MAX_LINK_BYTES).filter(|text| !text.is_cut)?;
    let end = text.bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    let named = before_zero(text.bytes.get(..end)?);
    (!named.is_empty()).then(|| read::path(named).map(|path| folder.join(path)))?
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    #[test]
    fn the_configuration_decides() {
        let bed = Bed::with(&["main/worktrees/tree"]);
        bed.put("main/worktrees/tree/commondir", "../..\n\r\n");
        for (config, expected) in [
            ("", Some(ObjectHash::Sha1)),
            ("[core]\n\trepositoryformatversion = 0\n", Some(ObjectHash::Sha1)),
            (
                "[core]repositoryformatversion=1\n[extensions]\n\tobjectFormat = sha256\n",
                Some(ObjectHash::Sha256),
            ),
            (
                "[Extensions] ObjectFormat = \"sha\"256 # x\n[Core] RepositoryFormatVersion = 1\n",
                Some(ObjectHash::Sha256),
            ),
            // Git reads SHA-1.
            ("[extensions]\n\tobjectformat = sha256\n", None),
            ("[core]\n\trepositoryformatversion = 0\n[extensions]\n\tobjectformat = sha256\n", None),
            (
                "[core]repositoryformatversion=1\nrepositoryformatversion\n[extensions]objectformat=sha256\n",
                None,
            ),
            ("[extensions]\n\tobjectformat = sha256\n\tobjectformat = sha1\n", Some(ObjectHash::Sha1)),
            ("[extensions \"x\"]\n\tobjectformat = sha256\n", Some(ObjectHash::Sha1)),
            ("[extensions]\n\tobjectformat\n", None),
            ("[extensions]\n\tobjectformat = SHA256\n", None),
            ("[extensions\n", None),
        ] {
            bed.put("main/config", config);
            assert_eq!(ObjectHash::of(&bed.at("main")), expected, "{config}");
            assert_eq!(ObjectHash::of(&bed.at("main/worktrees/tree")), expected, "{config}");
        }
        std::fs::remove_file(bed.at("main/config")).unwrap();
        assert_eq!(ObjectHash::of(&bed.at("main")), Some(ObjectHash::Sha1));
        std::fs::create_dir(bed.at("main/config")).unwrap();
        assert_eq!(ObjectHash::of(&bed.at("main")), None);
        bed.put("main/worktrees/tree/commondir", "\n");
        assert_eq!(ObjectHash::of(&bed.at("main/worktrees/tree")), None);
    }
}
