//! Reads the managed policy file. Only root may be able to write the file or redirect its path.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::document::Problem;
use scorpiox_fs::{Trail, open_file};

#[cfg(unix)]
use crate::load::quoted;
use crate::load::{may_pass, read_whole};

/// Returns the text of the file; `None` if it does not exist. Failing to inspect the path is an error,
/// because the file may exist.
pub(crate) fn text(path: &Path) -> Result<Option<String>, Problem> {
    let mend = "ask who manages this machine";
    let unreadable = |error: &std::io::Error| Problem {
        may_pass: may_pass(error),
        ..problem(path, format!("cannot be read ({error})"), mend)
    };
    let trail =
        Trail::follow(path).map_err(|lost| problem(path, format!("cannot be read ({lost})"), mend))?;
    if let Some(blocked) = &trail.blocked {
        return Err(problem(path, format!("cannot be there: {} is not a folder", blocked.display()), mend));
    }
    if !trail.exists {
        // A dangling link does not count as an absent file: somebody intended a file to be there.
        return match trail.links.last() {
            None => Ok(None),
            Some(link) => Err(problem(
                path,
                format!("is not there: the symbolic link {} leads to nothing", link.display()),
                mend,
            )),
        };
    }
    for folder in trail.links.iter().chain([&trail.end]).flat_map(|path| path.ancestors().skip(1)) {
        if let Some(why) = system::not_roots_at(folder).map_err(|error| unreadable(&error))? {
            let what = format!("cannot be trusted: the folder {} {why}", folder.display());
            return Err(problem(path, what, system::mend_folder(folder)));
        }
    }
    let file = open_file(&trail.end).map_err(|error| unreadable(&error))?;
    // Checks the opened file; the path may refer to another file by this time.
    if let Some(why) = system::not_roots(&file).map_err(|error| unreadable(&error))? {
        return Err(problem(path, why, system::mend_file(path)));
    }
    read_whole(path, file).map(Some)
}

/// Returns the reasons why users other than root cannot read the file, and therefore have every tool refused.
/// Each file or folder gives a sentence with its mode and the command that fixes it.
#[cfg(unix)]
pub fn kept_from_others(path: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    // Loading the policy reports a path that cannot be inspected.
    let Ok(trail) = Trail::follow(path) else { return Vec::new() };
    let ways = trail.links.iter().chain([&trail.end]).flat_map(|path| path.ancestors().skip(1));
    let ways: BTreeSet<&Path> = ways.collect();
    let shut = |path: &Path, bit: u32, what: &str, opens: &str| {
        let mode = path.symlink_metadata().ok()?.mode() & 0o7777;
        (mode & bit == 0).then(|| {
            format!(
                "{} cannot be {what} by all users (mode {mode:04o}), and whoever cannot is refused every tool; run \
                 `chmod {opens} {}` as root",
                path.display(),
                quoted(path)
            )
        })
    };
    let folders = ways.iter().filter_map(|folder| shut(folder, 0o001, "entered", "a+x"));
    folders.chain(shut(&trail.end, 0o004, "read", "a+r")).collect()
}

/// Returns the reasons why other users cannot read the file; always empty on this system.
#[cfg(not(unix))]
pub fn kept_from_others(_: &Path) -> Vec<String> {
    Vec::new()
}

/// Checks that only root can change a file, and suggests fixes.
#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    const WRITABLE_BY_OTHERS: u32 = 0o022;

    /// Returns why users other than root can change an open file.
    pub(super) fn not_roots(file: &File) -> io::Result<Option<String>> {
        Ok(by_mode(&file.metadata()?))
    }

    /// Returns why other users can change a folder.
    pub(super) fn not_roots_at(folder: &Path) -> io::Result<Option<String>> {
        Ok(by_mode(&folder.symlink_metadata()?))
    }

    fn by_mode(about: &Metadata) -> Option<String> {
        if about.uid() != 0 {
            return Some(format!("is owned by user {}, not by root", about.uid()));
        }
        let mode = about.mode() & 0o7777;
        let others_write = mode & WRITABLE_BY_OTHERS != 0;
        others_write.then(|| format!("can be written by others than root (mode {mode:04o})"))
    }

    pub(super) fn mend_folder(folder: &Path) -> String {
        format!("make it root's, and run `chmod go-w {}`", folder.display())
    }

    pub(super) fn mend_file(path: &Path) -> String {
        format!("run `chown root {0}` and `chmod go-w {0}` as root, if it is the policy", path.display())
    }
}

/// Checks that only administrators can change a file, and suggests fixes.
#[cfg(windows)]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use scorpiox_fs::{users_can_change, users_can_exchange_in};

    /// Returns why users other than administrators can change an open file.
    pub(super) fn not_roots(file: &File) -> io::Result<Option<String>> {
        Ok(users_can_change(file)?.map(|why| format!("can be changed by others than administrators: {why}")))
    }

    /// Returns why other users can change a folder.
    pub(super) fn not_roots_at(folder: &Path) -> io::Result<Option<String>> {
        Ok(users_can_exchange_in(folder)?
            .map(|why| format!("can be changed by others than administrators: {why}")))
    }

    pub(super) fn mend_folder(_: &Path) -> String {
        "let nobody but administrators change the folder: its properties, Security".to_owned()
    }

    pub(super) fn mend_file(_: &Path) -> String {
        "let nobody but administrators change the file, if it is the policy: its properties, Security"
            .to_owned()
    }
}

fn problem(path: &Path, what: String, fix: impl Into<String>) -> Problem {
    Problem { path: PathBuf::from(path), line: None, what, fix: fix.into(), may_pass: false }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_file_below_a_folder_that_others_can_write_is_not_trusted() {
        // The directory for temporary files is writable by everyone.
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let path = dir.path().join("policy.toml");
        assert_eq!(text(&path), Ok(None));
        fs::write(&path, "version = 1").unwrap();
        let said = text(&path).unwrap_err().to_string();
        assert!(said.contains("the folder /tmp can be written by others than root (mode 1777)"), "{said}");
    }

    #[test]
    fn what_others_cannot_read_is_named_with_its_mode_and_what_opens_it() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, path) = (dir.path().join("scorpiox"), dir.path().join("scorpiox/policy.toml"));
        fs::create_dir(&folder).unwrap();
        fs::write(&path, "version = 1").unwrap();
        let told = |folder_mode: u32, mode: u32| -> Vec<String> {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(folder_mode)).unwrap();
            let own = folder.display().to_string();
            kept_from_others(&path).into_iter().filter(|said| said.contains(&own)).collect()
        };
        assert!(told(0o755, 0o644).is_empty() && told(0o711, 0o644).is_empty());
        let said = told(0o755, 0o600).concat();
        assert!(said.contains("policy.toml cannot be read by all users (mode 0600)"), "{said}");
        assert!(said.contains(&format!("`chmod a+r {}`", path.display())), "{said}");
        let said = told(0o700, 0o640);
        assert!(said[0].contains("scorpiox cannot be entered by all users (mode 0700)"), "{said:?}");
        assert!(said[0].contains(&format!("`chmod a+x {}`", folder.display())), "{said:?}");
        assert!(said[1].contains("(mode 0640)"), "{said:?}");
    }

    #[test]
    fn what_may_be_there_is_not_taken_for_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scorpiox/policy.toml");
        symlink("nowhere", dir.path().join("scorpiox")).unwrap();
        assert!(text(&path).unwrap_err().what.contains("leads to nothing"));
        fs::remove_file(dir.path().join("scorpiox")).unwrap();
        fs::write(dir.path().join("scorpiox"), "").unwrap();
        assert!(text(&path).unwrap_err().what.contains("is not a folder"));
    }

    #[test]
    fn only_what_is_roots_and_closed_to_others_is_roots() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "").unwrap();
        let why = |mode: u32, user: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(user), None).ok()?;
            Some(system::not_roots_at(&path).unwrap())
        };
        // Only root can change the owner of a file; other users cannot run this part of the test.
        let Some(root) = why(0o644, 0) else { return };
        assert_eq!(root, None);
        assert!(why(0o664, 0).unwrap().unwrap().contains("mode 0664"));
        assert!(why(0o644, 12345).unwrap().unwrap().contains("owned by user 12345"));
    }
}
