//! Recognizes git directories by their content.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;

use crate::read;

/// Maximum size of a configuration to search, in bytes. A longer one counts as a match.
const MAX_BYTES: u64 = 1 << 20;

/// Start of a section that git writes into each repository's configuration.
const SECTION: &[u8] = b"[core";

/// Names seen in one folder.
///
/// A command could remove names, so that git does not recognize the folder and nothing protects it, and
/// restore them later. This check therefore accepts fewer names than git requires. A configuration is
/// recognized by its content, which cannot be removed once it is protected.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // a set of names
pub struct Signs {
    head: bool,
    objects: bool,
    refs: bool,
    hooks: bool,
    config: bool,
    commondir: bool,
}

/// Names that [`Signs::note`] recognizes.
pub const SIGNS: [&str; 6] = ["HEAD", "objects", "refs", "hooks", "config", "commondir"];

impl Signs {
    /// Records an entry of the folder; a link counts as any kind that it may lead to. `objects` and `refs`
    /// may be of any kind: git only checks for execute permission, which a program also has.
    pub fn note(&mut self, name: &OsStr, is_folder: bool, is_file: bool) {
        if !(4..=9).contains(&name.len()) {
            return;
        }
        // Some file systems ignore case.
        let is = |text: &str| name.eq_ignore_ascii_case(text);
        self.head |= !is_folder && is("HEAD");
        self.objects |= is("objects");
        self.refs |= is("refs");
        self.hooks |= !is_file && is("hooks");
        self.config |= !is_folder && is("config");
        self.commondir |= !is_folder && is("commondir");
    }

    /// Returns `true` if git accepts the folder as a git directory: it has all required names.
    pub fn are_complete(&self) -> bool {
        self.head && (self.commondir || (self.objects && self.refs))
    }

    /// Returns `true` if git uses the folder as it is: as a git directory, or as the common directory of
    /// others (`commondir`).
    pub fn are_used(&self) -> bool {
        self.are_complete() || (self.objects && self.refs)
    }

    /// Returns `true` if any of the names exists that git requires and creates in each repository.
    pub fn are_begun(&self) -> bool {
        self.head || self.objects || self.refs || self.commondir
    }

    /// Returns `true` if the folder at `path`, which contains the recorded names, is a git directory.
    pub fn are_of_git(&self, path: &Path) -> bool {
        let Self { head, objects, refs, hooks, config, commondir } = *self;
        commondir
            || (objects && refs)
            || (head && (objects || hooks || config))
            || (config && is_of_repository(&path.join("config")))
    }
}

/// Returns `true` if a folder is a git directory, judged by its content.
pub(crate) fn is_of_git(folder: &Path) -> bool {
    signs_in(folder).is_some_and(|signs| signs.are_of_git(folder))
}

/// Returns `true` if a folder has no name that git requires and creates in each repository: it is no repository, and
/// nobody has begun to make one.
pub(crate) fn is_without_signs(folder: &Path) -> bool {
    signs_in(folder).is_some_and(|signs| !signs.are_begun())
}

/// Returns the names in a folder. `None` if it cannot be inspected.
fn signs_in(folder: &Path) -> Option<Signs> {
    let mut signs = Signs::default();
    for name in SIGNS {
        match folder.join(name).symlink_metadata() {
            Ok(found) => signs.note(name.as_ref(), found.is_dir(), found.is_file()),
            Err(error) if read::is_absent(&error) => {}
            Err(_) => return None,
        }
    }
    Some(signs)
}

/// Returns `true` if a file is the configuration of a repository: it contains the section that git writes. A link does
/// not count: a command could make one, and the answer would tell it what a file elsewhere contains.
fn is_of_repository(path: &Path) -> bool {
    match read::text_itself(path, MAX_BYTES) {
        Ok(text) => text.is_some_and(|text| text.is_cut || has_core(&text.bytes)),
        // Folders of all kinds have a configuration that only another user may read.
        Err(error) => error.kind() != ErrorKind::PermissionDenied,
    }
}

/// Returns `true` if a configuration contains the section that git writes, possibly after others on the same line.
pub(crate) fn has_core(text: &[u8]) -> bool {
    text.to_ascii_lowercase().windows(SECTION.len()).any(|found| found == SECTION)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn are_of_git(names: &[(&str, bool)], config: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config"), config).unwrap();
        let mut signs = Signs::default();
        for (name, is_folder) in names {
            signs.note(OsStr::new(name), *is_folder, !is_folder);
        }
        signs.are_of_git(folder.path())
    }

    #[test]
    fn a_repository_is_known_without_the_names_that_can_be_taken_away() {
        for names in [
            &[("HEAD", false), ("objects", true), ("refs", true)][..],
            &[("objects", true), ("refs", true)],
            &[("HEAD", false), ("objects", true)],
            &[("HEAD", false), ("config", false)],
            &[("commondir", false)],
            &[("Objects", true), ("REFS", true)],
            // Git only checks for execute permission, which these files have.
            &[("objects", false), ("refs", false)],
        ] {
            assert!(are_of_git(names, ""), "{names:?}");
        }
        for config in [
            "# mine\n  [Core]\n\tbare = false\n",
            "\u{feff}[core]\n",
            "[a] [core] fsmonitor = x\n",
            &"#\n".repeat(600_000),
        ] {
            assert!(are_of_git(&[("config", false)], config), "{}", &config[..4]);
        }
    }

    #[test]
    fn a_repository_is_complete_with_what_git_asks_for() {
        let complete = |names: &[(&str, bool)]| {
            let mut signs = Signs::default();
            for (name, is_folder) in names {
                signs.note(OsStr::new(name), *is_folder, !is_folder);
            }
            signs.are_complete()
        };
        assert!(complete(&[("HEAD", false), ("objects", true), ("refs", true)]));
        assert!(complete(&[("HEAD", false), ("objects", false), ("refs", false)]));
        assert!(complete(&[("HEAD", false), ("commondir", false)]));
        assert!(!complete(&[("HEAD", false), ("objects", true), ("config", false), ("hooks", true)]));
        assert!(!complete(&[("objects", true), ("refs", true), ("commondir", false)]));
    }

    /// Otherwise a command could ask for the content of each file on the machine.
    #[cfg(unix)]
    #[test]
    fn a_configuration_behind_a_link_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "[core]\n").unwrap();
        std::os::unix::fs::symlink("secret", folder.path().join("config")).unwrap();
        let mut signs = Signs::default();
        signs.note(OsStr::new("config"), false, false);
        assert!(!signs.are_of_git(folder.path()));
    }

    #[test]
    fn folders_of_projects_are_none() {
        for names in [
            &[("config", false), ("hooks", true)][..],
            &[("config", true), ("hooks", true), ("refs", true)],
            &[("HEAD", false), ("refs", true)],
            &[("objects", true)],
        ] {
            assert!(!are_of_git(names, "[database]\nname = core\n"), "{names:?}");
        }
    }
}
