//! Staging and replacement of skills.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use scorpiox_fs::home::{instance, private};

use crate::install::{Removed, remove_leftovers, replace};
use crate::skills::files::{SkillFiles, is_folder_name};
use crate::skills::origin::{ORIGIN, SkillOrigin};

/// A folder next to the user's skills. Its name is hidden, so that nothing in it is a skill yet. Dropping it
/// removes it.
pub struct Staging {
    root: PathBuf,
    folder: Removed,
}

impl Staging {
    /// Creates the folder in the user's folder of skills.
    pub fn new(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            private::folder(root).with_context(|| root.display().to_string())?;
        }
        let root = dunce::canonicalize(root).with_context(|| root.display().to_string())?;
        remove_leftovers(&root);
        let folder = root.join(format!(".new-{}", instance::name()));
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self { root, folder: Removed(folder) })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    /// Returns the future path of a skill.
    pub fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a skill to the folder.
    pub fn put(&self, name: &str, files: &SkillFiles) -> Result<()> {
        ensure!(is_folder_name(name), "{name:?} cannot be a folder's name; change `name` in its SKILL.md");
        let folder = self.path().join(name);
        let shown = || folder.display().to_string();
        fs::create_dir(&folder).with_context(shown)?;
        for (inside, mode, bytes) in files.entries() {
            let path = folder.join(inside);
            let parent = path.parent().context("no folder")?;
            fs::create_dir_all(parent).with_context(shown)?;
            write(&path, mode, bytes).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Moves a staged skill into place, with its source.
    pub fn install(&self, name: &str, origin: &SkillOrigin) -> Result<()> {
        let (staged, place) = (self.path().join(name), self.place(name));
        let is_link = place.symlink_metadata().is_ok_and(|about| about.is_symlink());
        ensure!(!is_link, "{} is a link; change the skill where the link leads", place.display());
        write(&staged.join(ORIGIN), 0o600, origin.text()?.as_bytes())?;
        replace(&staged, &place)
    }
}

fn write(path: &Path, mode: u32, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_moved_into_place_whole_and_its_source_is_no_part_of_it() {
        let home = tempfile::tempdir().expect("a folder");
        let source = home.path().join("source");
        fs::create_dir_all(source.join("scripts")).expect("a folder");
        fs::write(source.join("SKILL.md"), "one").expect("writes");
        fs::write(source.join("scripts/a.sh"), "#!/bin/sh").expect("writes");
        let (files, _) = SkillFiles::read(&source).expect("reads");
        let root = home.path().join("home/skills");
        let staging = Staging::new(&root).expect("a folder");
        staging.put("a", &files).expect("written");
        let origin = SkillOrigin { source, content: files.fingerprint() };
        staging.install("a", &origin).expect("moved");
        drop(staging);
        let names: Vec<_> = fs::read_dir(&root).expect("reads").flatten().map(|it| it.file_name()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(SkillOrigin::read(&root.join("a")).expect("reads"), Some(origin));
        let (installed, left) = SkillFiles::read(&root.join("a")).expect("reads");
        assert_eq!((installed, left), (files, vec![ORIGIN.to_owned()]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |file: &str| root.join(file).metadata().expect("a file").permissions().mode() & 0o711;
            assert_eq!((mode("a/scripts/a.sh"), mode("a/SKILL.md")), (0o711, 0o600));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_skill_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let source = home.path().join("source");
        fs::create_dir_all(&source).expect("a folder");
        fs::write(source.join("SKILL.md"), "one").expect("writes");
        let (files, _) = SkillFiles::read(&source).expect("reads");
        let staging = Staging::new(&home.path().join("skills")).expect("a folder");
        std::os::unix::fs::symlink(&source, staging.place("a")).expect("a link");
        staging.put("a", &files).expect("written");
        let origin = SkillOrigin { source, content: files.fingerprint() };
        let error = staging.install("a", &origin).expect_err("an error").to_string();
        assert!(error.contains("is a link; change the skill where the link leads"), "{error}");
        assert!(staging.place("a").is_symlink());
    }
}
