//! Detects names outside a repository that give access to files that git obeys in it, and changes of these
//! files.
//!
//! The location of a name in a git directory protects it. A symbolic link or a hard link is another way to
//! the same content, which nothing protects: a command that is already running can use it after the
//! repository was checked. A process that opened the file for writing before it came there can do the same.
//! It can also write, close the file and remove the link while the repository is checked. [`Marks`] are
//! therefore compared before and after.
//!
//! Git creates such links only for objects.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use scorpiox_fs::{FINE_STEP, Stamp};

use crate::read::{self, is_absent};

/// Maximum number of entries to check in a repository and in those that it leads to; git creates a few
/// hundred. A repository with more counts as shared.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of entries of content to check for links.
const MAX_CONTENT: usize = 200_000;
/// Folders with content and its names, which start no programs no matter who writes them. Clones share them
/// by hard links. Git also writes through symbolic links in them, wherever these lead, and creates none.
const CONTENTS: [&str; 4] = ["objects", "refs", "logs", "lfs"];
/// Exception: files that lead to further repositories. Clones share the others beside them, such as `packs`.
const OBJECTS: &str = "objects";
const LEAD_ON: [&str; 2] = ["info/alternates", "info/http-alternates"];
/// File systems take timestamps from a clock that lags by up to one tick, so a second change within a tick
/// leaves no trace.
pub(crate) const CLOCK_TICK: Duration = Duration::from_millis(10);
/// Maximum number of attempts to find files that did not change within the last tick. File systems with
/// coarse timestamps need more.
const TRIES: u32 = 3;

/// Metadata of the files and folders that git obeys in some repositories. A path without metadata is absent.
///
/// No file among them can be changed from elsewhere. If two of them are equal, nothing was changed between
/// them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(BTreeMap<PathBuf, Option<Stamp>>);

impl Marks {
    /// Collects the marks of a file named `.git`, and of everything in git directories except for content.
    /// Returns `None` if something can be changed from elsewhere, or cannot be inspected.
    pub(crate) fn of(file: &Path, folders: &[PathBuf]) -> Option<Self> {
        let (mut marks, mut left) = (Self::default(), MAX_ENTRIES);
        let mut content = MAX_CONTENT;
        marks.add_file(file)?;
        for folder in folders {
            marks.add_folder(folder, &mut left, &mut content)?;
        }
        Some(marks)
    }

    /// Like [`of`](Self::of), but waits until any later change leaves a trace. Returns `None` if the files
    /// keep changing.
    pub(crate) fn settled(file: &Path, folders: &[PathBuf]) -> Option<Self> {
        for _ in 0..TRIES {
            let now = SystemTime::now();
            let marks = Self::of(file, folders)?;
            if marks.are_settled(now) {
                return Some(marks);
            }
            thread::sleep(CLOCK_TICK);
        }
        None
    }

    /// Returns `true` if any change after `now` alters a mark. On systems without a time of the last status
    /// change, no supervisor of commands names repositories.
    fn are_settled(&self, now: SystemTime) -> bool {
        // The step of a stamp has a margin for other systems.
        let now = now + FINE_STEP.saturating_sub(CLOCK_TICK);
        cfg!(not(unix)) || self.0.values().flatten().all(|stamp| stamp.is_settled(now))
    }

    fn add_folder(&mut self, folder: &Path, left: &mut usize, content: &mut usize) -> Option<()> {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let Some(before) = stamp(&folder)? else {
                self.0.insert(folder, None);
                continue;
            };
            let entries = match fs::read_dir(&folder) {
                Ok(entries) if !read::is_link(&folder) => entries,
                Err(error) if is_absent(&error) && !read::is_link(&folder) => {
                    self.keep(folder, before)?;
                    continue;
                }
                _ => return None,
            };
            for entry in entries {
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                *left = left.checked_sub(1)?;
                let (name, path) = (entry.file_name(), entry.path());
                if !kind.is_dir() {
                    self.add_file(&path)?;
                } else if CONTENTS.iter().any(|contents| name.eq_ignore_ascii_case(contents)) {
                    check_content(&path, content)?;
                    if name.eq_ignore_ascii_case(OBJECTS) {
                        LEAD_ON.iter().try_for_each(|name| self.add_file(&path.join(name)))?;
                    }
                } else {
                    open.push(path);
                }
            }
            self.keep(folder, before)?;
        }
        Some(())
    }

    /// Adds a file. A folder is only marked, and an absent file counts as such. Returns `None` if the file
    /// can be changed under another name: it is a symbolic link or a pipe, has several hard links, or is open for
    /// writing.
    fn add_file(&mut self, path: &Path) -> Option<()> {
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) => {
                self.0.insert(path.to_owned(), None);
                return is_absent(&error).then_some(());
            }
        };
        if leads_away(&found) || is_shared(path, &found) {
            None
        } else {
            self.keep(path.to_owned(), Stamp::of(&found))
        }
    }

    /// Adds a mark that was taken before the file was inspected, if it still holds: nothing wrote to the file
    /// before its writers were checked, or after.
    fn keep(&mut self, path: PathBuf, before: Stamp) -> Option<()> {
        let holds = stamp(&path)? == Some(before);
        self.0.insert(path, Some(before));
        holds.then_some(())
    }
}

/// Returns `true` if a file is there that can be changed under another name, or by a process that has it open for writing.
/// A file that cannot be inspected counts.
pub(crate) fn changes_elsewhere(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => is_shared(path, &found),
        Err(error) => !is_absent(&error),
    }
}

/// Returns `true` for a file that has several hard links, or is open for writing.
fn is_shared(path: &Path, found: &Metadata) -> bool {
    found.is_file() && (has_names(found) || !read::open(path).is_ok_and(|file| is_alone(&file)))
}

/// Returns `true` for a link or a pipe.
fn leads_away(found: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if found.file_type().is_fifo() {
            return true;
        }
    }
    found.is_symlink()
}

/// Returns `None` if a folder contains anything but files and folders, or cannot be inspected.
fn check_content(folder: &Path, left: &mut usize) -> Option<()> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(_) => return None,
        };
        for entry in entries {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            *left = left.checked_sub(1)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if !kind.is_file() {
                return None;
            }
        }
    }
    Some(())
}

/// Returns the stamp of a file or folder, or `Some(None)` if it is absent. `None` if that is unknown.
#[allow(clippy::option_option)] // an unknown file is not an absent one
fn stamp(path: &Path) -> Option<Option<Stamp>> {
    match path.symlink_metadata() {
        Ok(found) => Some(Some(Stamp::of(&found))),
        Err(error) => is_absent(&error).then_some(None),
    }
}

#[cfg(unix)]
fn has_names(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) > 1
}

/// Returns `false`: on this system, no supervisor of commands names repositories.
#[cfg(not(unix))]
fn has_names(_: &Metadata) -> bool {
    false
}

/// Returns `true` if no process has the file open for writing.
#[cfg(target_os = "linux")]
fn is_alone(file: &File) -> bool {
    use std::os::fd::AsFd;
    scorpiox_sys::linux::sys::has_writer(file.as_fd()).is_ok_and(|has_writer| !has_writer)
}

/// Returns `true`: on this system, no supervisor of commands names repositories.
#[cfg(not(target_os = "linux"))]
fn is_alone(_: &File) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;
    use crate::STARTS;

    #[test]
    fn every_change_of_what_git_obeys_leaves_a_mark() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["a/.git/objects/pack", "a/.git/info", "a/.git/branches"]);
        for path in ["a/.git/config", "a/.git/hooks/x.sample", "a/.git/info/attributes"] {
            bed.put(path, "# one\n");
        }
        let folders = [bed.at("a/.git")];
        let marks = || Marks::settled(&folders[0], &folders).unwrap();
        let overwrite = |path: &str| fs::write(bed.at(path), "# two\n").unwrap();
        let mut before = marks();
        assert!(marks() == before);
        bed.put("a/.git/objects/pack/a.pack", "");
        assert!(marks() == before, "content is none of it");
        let changes: [&dyn Fn(); 8] = [
            &|| overwrite("a/.git/config"),
            &|| overwrite("a/.git/info/attributes"),
            &|| overwrite("a/.git/hooks/pre-commit"),
            &|| fs::remove_file(bed.at("a/.git/hooks/pre-commit")).unwrap(),
            &|| fs::remove_dir(bed.at("a/.git/branches")).unwrap(),
            &|| bed.put("a/.git/objects/info/alternates", ""),
            &|| overwrite("a/.git/objects/info/alternates"),
            &|| bed.put("a/.git/commondir", "."),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            change();
            let after = marks();
            assert!(after != before, "change {number}");
            before = after;
        }
    }

    /// Git writes names of branches and users into its logs, also through links.
    #[test]
    fn links_and_pipes_among_content_can_be_changed_from_elsewhere() {
        let _none_starts = STARTS.read().unwrap();
        for name in ["logs/HEAD", "logs/refs/heads/x", "objects/pack", "refs/heads/x", "lfs/tmp", "MERGE_MSG"]
        {
            let bed = Bed::with(&["a/.git/objects/00", "a/.git/refs/heads", "a/.git/logs/refs/heads"]);
            bed.put("a/.git/objects/00/x", "");
            let folders = [bed.at("a/.git")];
            assert!(Marks::of(&folders[0], &folders).is_some(), "{name}");
            let path = folders[0].join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("../../../x", &path).unwrap();
            assert!(Marks::of(&folders[0], &folders).is_none(), "{name}");
            fs::remove_file(&path).unwrap();
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            assert!(Marks::of(&folders[0], &folders).is_none(), "{name}");
        }
    }
}
