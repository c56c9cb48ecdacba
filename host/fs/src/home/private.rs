//! Files in the program's directory that only this user can access.
//!
//! Invariant: only this user can have written the files opened here, and readers see a file written here
//! completely or not at all.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::home::instance;
use crate::home::system::{check, check_folder, unfollowed};

pub use crate::home::system::{check_use, folder, name_new, open_unfollowed, options, replace, sync_folder};

/// Extension of unfinished files.
const DRAFT: &str = "new";
/// Age at which an unfinished file counts as abandoned.
const DRAFT_TIME: Duration = Duration::from_hours(24);

/// Opens a file for reading. Fails if another user could have written or placed it.
pub fn open(path: &Path) -> io::Result<File> {
    check_folder(parent(path)?)?;
    let file = unfollowed().read(true).open(path)?;
    check(&file)?;
    Ok(file)
}

/// Opens a file for reading and writing. Fails if another user could have written or placed it.
pub fn open_to_change(path: &Path) -> io::Result<File> {
    check_folder(parent(path)?)?;
    let file = unfollowed().read(true).write(true).open(path)?;
    check(&file)?;
    Ok(file)
}

/// Writes a file atomically, and creates its directory if it is missing. Of concurrent writes, one wins.
pub fn write(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = parent(path)?;
    self::folder(folder)?;
    check_folder(folder)?;
    let draft = path.with_extension(format!("{}.{DRAFT}", instance::name()));
    let mut file = options().write(true).create_new(true).open(&draft)?;
    let written = content(&mut file).and_then(|()| replace(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Deletes the unfinished files of killed writers.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let modified = entry.metadata().and_then(|about| about.modified());
        let age = modified.map(|modified| SystemTime::now().duration_since(modified));
        if is_draft(&path) && age.is_ok_and(|age| age.is_ok_and(|age| age > DRAFT_TIME)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns `true` if the file is unfinished.
pub fn is_draft(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == DRAFT)
}

fn parent(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other("no folder"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_replaced_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("cache/a");
        for text in ["one", "another"] {
            write(&path, |file| file.write_all(text.as_bytes())).expect("written");
            let mut read = String::new();
            open(&path).and_then(|mut file| file.read_to_string(&mut read)).expect("a file");
            assert_eq!(read, text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_have_written_is_not_opened() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("cache/a");
        let put = || write(&path, |file| file.write_all(b"mine"));
        let read = || {
            let mut text = String::new();
            open(&path)?.read_to_string(&mut text).map(|_| text)
        };
        put().expect("written");
        put().expect("written again");
        assert_eq!(read().expect("a file"), "mine");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        };
        set(&path, 0o620);
        assert!(read().is_err());
        set(&path, 0o600);
        set(&home.path().join("cache"), 0o770);
        assert!(read().is_err() && put().is_err());
        set(&home.path().join("cache"), 0o700);
        fs::rename(&path, home.path().join("b")).expect("moved");
        symlink(home.path().join("b"), &path).expect("a link");
        assert!(read().is_err());
    }

    #[test]
    fn what_a_killed_writer_left_goes_after_a_day() {
        let home = tempfile::tempdir().expect("a folder");
        let hours_ago = |name: &str, hours| {
            let file = File::create(home.path().join(name)).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_hours(hours)).expect("a time");
        };
        hours_ago("a.0-1.new", 25);
        hours_ago("b.0-2.new", 1);
        hours_ago("c.cwasm", 1000);
        sweep(home.path());
        let left = fs::read_dir(home.path()).expect("a folder").flatten().map(|entry| entry.file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["b.0-2.new", "c.cwasm"]);
    }

    #[test]
    fn nothing_stays_of_what_cannot_be_written() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("cache/a");
        assert!(write(&path, |_| Err(io::Error::other("full"))).is_err());
        assert_eq!(fs::read_dir(home.path().join("cache")).expect("a folder").count(), 0);
    }
}
