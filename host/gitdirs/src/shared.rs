//! Finds out if a name outside of a repository can change something that git obeys in it.
//!
//! A name in a folder of git's is protected by where it lies. A link, or a second name of a file, is another way to the
//! same content, which nobody looks at: a command that began before can take it when the repository has been judged.
//! So can who has a file open since before it came there.
//!
//! Git makes no such names but of objects.

use std::fs::{self, File, Metadata};
use std::path::Path;

use crate::read::{self, is_absent};

/// Most entries that are looked at in one repository: those that git makes are some hundreds. One with more counts.
const MAX_ENTRIES: usize = 20_000;
/// Folders of contents and of their names, which start nothing whoever writes them. Clones share them by links.
const CONTENTS: [&str; 4] = ["objects", "refs", "logs", "lfs"];
/// The folder among them that leads to further repositories, and where it lies.
const LEADS_ON: (&str, &str) = ("objects", "info");

/// Reports whether anything in a folder of git's, but contents, can be changed from elsewhere. What cannot be looked at can.
pub(crate) fn is_shared_below(folder: &Path) -> bool {
    let (mut open, mut left) = (vec![folder.to_owned()], MAX_ENTRIES);
    while let Some(folder) = open.pop() {
        if read::is_link(&folder) {
            return true;
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(_) => return true,
        };
        for entry in entries {
            let Ok(entry) = entry else { return true };
            let Ok(kind) = entry.file_type() else { return true };
            let Some(rest) = left.checked_sub(1) else { return true };
            left = rest;
            let (name, path) = (entry.file_name(), entry.path());
            if !kind.is_dir() {
                if is_shared(&path) {
                    return true;
                }
            } else if name.eq_ignore_ascii_case(LEADS_ON.0) {
                open.push(path.join(LEADS_ON.1));
            } else if !CONTENTS.iter().any(|contents| name.eq_ignore_ascii_case(contents)) {
                open.push(path);
            }
        }
    }
    false
}

/// Reports whether something can be changed by another name than this: a link, a file with several names, or one that
/// somebody may write to who has it open.
pub(crate) fn is_shared(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => true,
        Ok(found) if found.is_file() => {
            has_names(&found) || !read::open(path).is_ok_and(|file| is_alone(&file))
        }
        Ok(_) => false,
        Err(error) => !is_absent(&error),
    }
}

#[cfg(unix)]
fn has_names(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) > 1
}

/// Returns no: no command's supervisor names repositories here.
#[cfg(not(unix))]
fn has_names(_: &Metadata) -> bool {
    false
}

/// Reports whether nobody can write to a file who opened it before.
#[cfg(target_os = "linux")]
fn is_alone(file: &File) -> bool {
    use std::os::fd::AsFd;
    scorpiox_kernel::sys::has_writer(file.as_fd()).is_ok_and(|has_writer| !has_writer)
}

/// Returns yes: no command's supervisor names repositories here.
#[cfg(not(target_os = "linux"))]
fn is_alone(_: &File) -> bool {
    true
}
