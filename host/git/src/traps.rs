//! Finds files in a git directory by which git would write to places that it never writes to by itself, or start
//! programs, although its configuration and its hooks are harmless.
//!
//! These files are no settings: git writes them while it works, so commands may, too. It trusts them more than it trusts
//! a commit. It writes each path of the index, and each name that a symbolic reference leads to. An unfinished rebase
//! starts the programs of its list.
//!
//! Paths that git refuses when it reads a tree are not looked for elsewhere, such as in commits.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use scorpiox_fs::{FINE_STEP, Stamp};

use crate::index::judge::{self, Judged, judge};
use crate::index::stripped;
use crate::object_hash::ObjectHash;
use crate::operations::{Judge, OPERATIONS};
use crate::read;
use crate::shared::CLOCK_TICK;
use crate::work_trees::linked_tree;

/// Maximum number of files to report for a git directory.
const MAX_FOUND: usize = 8;
/// Maximum number of entries to look at in a git directory, and below `refs`.
const MAX_ENTRIES: usize = 50_000;
/// Maximum number of bytes to read of a reference, as git creates them.
const MAX_REFERENCE_BYTES: u64 = 4096;
/// Maximum number of bytes to read of the state of an operation. A longer list can name programs further down.
const MAX_STATE_BYTES: u64 = 4 << 20;

/// References at the top of a git directory that git replaces as it does those below `refs`, folded. It writes `FETCH_HEAD`
/// and `MERGE_HEAD` in place, and follows neither.
const ROOTS: [&str; 8] = [
    "bisect_head",
    "cherry_pick_head",
    "head",
    "notes_merge_partial",
    "notes_merge_ref",
    "orig_head",
    "rebase_head",
    "revert_head",
];
/// Beginning of the name of a part of a split index.
const SHARED_INDEX: &str = "sharedindex.";
/// Maximum size of the indexes to read in a git directory, in bytes.
const MAX_INDEX_BYTES: u64 = 128 << 20;
/// Files beside the index that git leaves when its work is finished or a conflict waits, in which it trusts nothing but
/// names of commits and references, and texts.
const FINISHED: [&str; 29] = [
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "EDIT_DESCRIPTION",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "NOTES_EDITMSG",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "description",
    "gc.log",
    "gc.pid",
    "locked",
    "packed-refs",
    "shallow",
];
/// Folders in a git directory in which git, git-annex, Git LFS, git-svn and GitHub's tools trust nothing but objects,
/// names of references, and texts, or of which the rules for older repositories say more.
const FOLDERS: [&str; 17] = [
    "annex",
    "branches",
    "filter-repo",
    "fsmonitor--daemon",
    "hooks",
    "hub",
    "info",
    "lfs",
    "logs",
    "lost-found",
    "modules",
    "objects",
    "reftable",
    "remotes",
    "rr-cache",
    "svn",
    "worktrees",
];
/// Maximum size of packed references to search, in bytes.
const MAX_PACKED_BYTES: u64 = 64 << 20;
/// Beginning of the names of references that replace objects, with the blank before it in packed references.
const REPLACE: &[u8] = b" refs/replace/";
/// Files in a git directory that are judged otherwise, or by their links.
const FILES: [&str; 6] = ["index", "config", "config.worktree", "commondir", "gitdir", "MERGE_RR"];

/// A file by which git would write elsewhere or start a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// Location of the file.
    pub path: PathBuf,
    /// Kind of file.
    pub kind: TrapKind,
    /// Text in it that matters: a path, the name of a reference, or a line. Empty if it cannot be read.
    pub text: String,
}

/// Kind of a [`Trap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrapKind {
    /// List of tracked files, with a path that git refuses in commits: one in a git directory, or outside of the work
    /// tree. Git creates that file when its user restores files.
    Index,
    /// Reference that leads to a name outside of `refs`: git writes to the file of that name.
    Reference,
    /// List of files that `git rerere` reads and writes at the next commit.
    Resolutions,
    /// Name of a linked work tree that does not name the repository: `git worktree repair` would write its file `.git`.
    WorkTree,
    /// State of an unfinished operation, which starts a program or writes elsewhere when its user continues it; or a file
    /// that git leaves in no other case.
    Operation,
    /// Folder or link that git does not create: a program may obey it.
    Unknown,
    /// Reference or list by which git shows other objects in the place of some: changes can be hidden.
    Replacement,
}

/// Traps in a git directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traps {
    /// The first few.
    pub found: Vec<Trap>,
    /// `true` if not everything was looked at, or more was found.
    pub is_cut: bool,
}

/// Finds the traps in a git directory, in files that changed `since`, or in all of them. Links are not followed.
/// Whatever is not looked at `until` then is left out.
pub fn traps(folder: &Path, since: Option<SystemTime>, until: Instant) -> Traps {
    let mut search = Search {
        since,
        until,
        hash: ObjectHash::of(folder),
        left: MAX_ENTRIES,
        bytes_left: MAX_INDEX_BYTES,
        unknown: Vec::new(),
        traps: Traps::default(),
    };
    if search.folder(folder).is_err() {
        search.traps.is_cut = true;
    }
    // Names that say nothing must not displace those that do.
    for Trap { path, kind, text } in mem::take(&mut search.unknown) {
        search.add(path, kind, text.as_bytes());
    }
    search.traps
}

/// File that git trusts and replaces as a whole: it writes another one, with the name of a lock file, and renames it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// List of tracked files.
    Index,
    /// Part of the list that does not change often, and that another part names.
    SharedIndex,
    /// Reference.
    Reference,
}

impl Replaced {
    /// Maximum size of such a file in bytes.
    pub const fn max_bytes(self) -> u64 {
        match self {
            Self::Index | Self::SharedIndex => judge::MAX_BYTES,
            Self::Reference => MAX_REFERENCE_BYTES,
        }
    }

    /// Returns the kind of a file at the top of a git directory, from its folded name. References below `refs` have any
    /// name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "index" => Some(Self::Index),
            name if ROOTS.contains(&name) => Some(Self::Reference),
            name => name.starts_with(SHARED_INDEX).then_some(Self::SharedIndex),
        }
    }

    /// Returns the content with which git can replace such a file in the git directory `folder`: that of the new file, for an
    /// index without its caches.
    ///
    /// # Errors
    ///
    /// Returns the text in the file by which git would write elsewhere. It is empty for a file that git would not write, and
    /// for one that is not judged `until` then.
    pub fn content<'a>(
        self,
        bytes: &'a [u8],
        folder: &Path,
        until: Instant,
    ) -> Result<Cow<'a, [u8]>, String> {
        let judged = match self {
            Self::Reference => {
                leads_away(bytes).map_or(Judged::Plain, |target| Judged::Names(target.to_owned()))
            }
            Self::Index | Self::SharedIndex => match ObjectHash::of(folder) {
                None => Judged::Unreadable,
                // Its name contains its checksum.
                hash if self == Self::SharedIndex => judge::judge_bytes(bytes, hash, until),
                Some(hash) => match stripped(bytes, hash, until) {
                    Ok(content) => return Ok(content),
                    Err(judged) => judged,
                },
            },
        };
        let refused = match judged {
            Judged::Plain => return Ok(bytes.into()),
            Judged::Names(refused) => refused,
            Judged::Unreadable => Vec::new(),
        };
        Err(String::from_utf8_lossy(&refused).into_owned())
    }
}

/// Returns the name that a symbolic reference leads to, if it is none of a reference.
fn leads_away(reference: &[u8]) -> Option<&[u8]> {
    let target = reference.strip_prefix(b"ref:")?.trim_ascii();
    (!target.starts_with(b"refs/")).then_some(target)
}

struct Search {
    since: Option<SystemTime>,
    until: Instant,
    /// Hash function of the repository, unless that cannot be found out.
    hash: Option<ObjectHash>,
    /// Number of entries left to look at.
    left: usize,
    /// Number of bytes of indexes left to read.
    bytes_left: u64,
    /// Entries with unknown names.
    unknown: Vec<Trap>,
    traps: Traps,
}

impl Search {
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        for entry in entries(folder)? {
            self.count()?;
            let entry = entry?;
            let (kind, name, path) = (entry.file_type()?, entry.file_name(), entry.path());
            let name = name.as_encoded_bytes();
            if kind.is_file() && self.is_changed(&path) {
                self.file(path, name)?;
            } else if name.eq_ignore_ascii_case(b"refs") {
                self.references(&path)?;
            } else if !kind.is_file() {
                if kind.is_dir() {
                    self.operation(&path, name)?;
                }
                let grafts = path.join("grafts");
                if name.eq_ignore_ascii_case(b"info") && grafts.is_file() && self.is_changed(&grafts) {
                    self.add_replacement(grafts);
                }
                self.unknown(path, name);
            }
        }
        Ok(())
    }

    /// Adds a folder or link that git and its usual companions do not create, unless it was there before.
    fn unknown(&mut self, path: PathBuf, name: &[u8]) {
        let operations = OPERATIONS.iter().map(|(name, _)| name);
        let mut known = FOLDERS.iter().chain(&FINISHED).chain(&FILES).chain(operations);
        if known.any(|known| known.as_bytes().eq_ignore_ascii_case(name)) || is_of_running_git(name) {
            return;
        }
        let created = path.symlink_metadata().and_then(|found| found.created());
        let is_old = |since: SystemTime| created.is_ok_and(|created| created + CLOCK_TICK < since);
        if !self.since.is_some_and(is_old) {
            self.add_unknown(path, TrapKind::Unknown, String::new());
        }
    }

    /// Counts an entry to look at. Fails if it is one too many, or too late.
    fn count(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or(ErrorKind::QuotaExceeded)?;
        if Instant::now() >= self.until { Err(ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn file(&mut self, path: PathBuf, name: &[u8]) -> io::Result<()> {
        // Some file systems ignore case.
        let name = name.to_ascii_lowercase();
        if name == b"index" || name.starts_with(SHARED_INDEX.as_bytes()) {
            let size = path.symlink_metadata().map_or(0, |found| found.len());
            self.bytes_left = self.bytes_left.checked_sub(size).ok_or(ErrorKind::QuotaExceeded)?;
            match judge(&path, self.hash, self.until) {
                Judged::Plain => {}
                Judged::Names(refused) => self.add(path, TrapKind::Index, &refused),
                Judged::Unreadable => self.add(path, TrapKind::Index, b""),
            }
        } else if name == b"merge_rr" {
            self.resolutions(path);
        } else if self.is_judged_elsewhere(&name) || is_of_running_git(&name) {
            return Ok(());
        } else if name == b"gitdir" {
            self.work_tree(path);
        } else if name == b"packed-refs" && has_replacements(&path) {
            self.add_replacement(path);
        } else if FINISHED.iter().any(|finished| finished.as_bytes().eq_ignore_ascii_case(&name)) {
            self.reference(path);
        } else {
            let text = String::from_utf8_lossy(&name).into_owned();
            self.add_unknown(path, TrapKind::Operation, text);
        }
        Ok(())
    }

    /// Returns `true` for settings: existing ones are protected, and those of new repositories are judged by themselves.
    fn is_judged_elsewhere(&self, name: &[u8]) -> bool {
        let is_new = self.since.is_none();
        matches!(name, b"config" | b"config.worktree" | b"commondir") || is_new && name == b"gitdir"
    }

    /// Adds a list of conflicts that `git rerere` works on: at the next commit, git copies the listed files to its folder,
    /// or writes its own resolutions to them, wherever links lead. That it lists nothing but files of the work tree helps
    /// little, since each can become a link.
    fn resolutions(&mut self, path: PathBuf) {
        match read::text_itself(&path, MAX_STATE_BYTES) {
            Ok(Some(text)) if !text.bytes.is_empty() => {
                // An identifier, a tab, and a path that ends with a zero byte.
                let first = text.bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                let listed = first.splitn(2, |byte| *byte == b'\t').nth(1).unwrap_or_default();
                self.add(path, TrapKind::Resolutions, listed);
            }
            Ok(_) => {}
            Err(_) => self.add(path, TrapKind::Resolutions, b""),
        }
    }

    /// Judges the file that names the work tree of an administrative folder. One that names it in turn is as git left it.
    fn work_tree(&mut self, path: PathBuf) {
        if path.parent().is_some_and(|own| linked_tree(own.to_owned()).is_some()) {
            return;
        }
        match read::text_itself(&path, MAX_REFERENCE_BYTES) {
            Ok(Some(text)) => self.add(path, TrapKind::WorkTree, text.bytes.trim_ascii()),
            Ok(None) => {}
            Err(_) => self.add(path, TrapKind::WorkTree, b""),
        }
    }

    /// Judges the state of an operation. A file that is unknown here counts: git may obey it.
    fn operation(&mut self, folder: &Path, name: &[u8]) -> io::Result<()> {
        let Some((_, judge)) =
            OPERATIONS.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name))
        else {
            return Ok(());
        };
        for entry in entries(folder)? {
            self.count()?;
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if !entry.file_type()?.is_file() {
                self.add(path, TrapKind::Operation, name.as_bytes());
            } else if self.is_changed(&path) {
                self.state(path, &name, *judge);
            }
        }
        Ok(())
    }

    fn references(&mut self, folder: &Path) -> io::Result<()> {
        let (mut open, replacements) = (vec![folder.to_owned()], folder.join("replace"));
        while let Some(folder) = open.pop() {
            for entry in entries(&folder)? {
                self.count()?;
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file()
                    && !is_of_running_git(entry.file_name().as_encoded_bytes())
                    && self.is_changed(&entry.path())
                {
                    if entry.path().starts_with(&replacements) {
                        self.add_replacement(entry.path());
                    }
                    self.reference(entry.path());
                }
            }
        }
        Ok(())
    }

    fn is_changed(&self, path: &Path) -> bool {
        match path.symlink_metadata() {
            Ok(found) => {
                // The step of a stamp has a margin for other systems.
                let margin = FINE_STEP.saturating_sub(CLOCK_TICK);
                found.is_file()
                    && self.since.is_none_or(|since| !Stamp::of(&found).is_settled(since + margin))
            }
            Err(error) => !read::is_absent(&error),
        }
    }

    fn reference(&mut self, path: PathBuf) {
        let Ok(Some(text)) = read::text_itself(&path, MAX_REFERENCE_BYTES) else { return };
        if let Some(target) = leads_away(&text.bytes) {
            self.add(path, TrapKind::Reference, target);
        }
    }

    /// Adds a file by which git shows other objects than there are. In a new repository, all objects are the command's.
    fn add_replacement(&mut self, path: PathBuf) {
        if self.since.is_some() {
            self.add(path, TrapKind::Replacement, b"");
        }
    }

    fn state(&mut self, path: PathBuf, name: &str, judge: Judge) {
        match read::text_itself(&path, MAX_STATE_BYTES) {
            Ok(Some(text)) if text.is_cut => self.add(path, TrapKind::Operation, b""),
            Ok(Some(text)) => {
                if let Some(found) = judge(name, &text.bytes) {
                    self.add(path, TrapKind::Operation, &found);
                }
            }
            Ok(None) => {}
            Err(_) => self.add(path, TrapKind::Operation, b""),
        }
    }

    /// Adds an entry with an unknown name. One more than fit shows that there are more.
    fn add_unknown(&mut self, path: PathBuf, kind: TrapKind, text: String) {
        if self.unknown.len() <= MAX_FOUND {
            self.unknown.push(Trap { path, kind, text });
        }
    }

    fn add(&mut self, path: PathBuf, kind: TrapKind, text: &[u8]) {
        if self.traps.found.len() < MAX_FOUND {
            let text = String::from_utf8_lossy(text).into_owned();
            self.traps.found.push(Trap { path, kind, text });
        } else {
            self.traps.is_cut = true;
        }
    }
}

/// Returns `true` if packed references may replace objects.
fn has_replacements(packed: &Path) -> bool {
    match read::text_itself(packed, MAX_PACKED_BYTES) {
        Ok(Some(text)) => text.is_cut || text.bytes.windows(REPLACE.len()).any(|part| part == REPLACE),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Returns `true` for a file that git keeps only while one of its commands runs.
fn is_of_running_git(name: &[u8]) -> bool {
    name.ends_with(b".lock") || name.starts_with(b"index.stash.") || name == b"packed-refs.new"
}

/// Returns the entries of a folder; none if it is absent.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    let entries = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => Some(fs::read_dir(folder)?),
        Ok(_) => None,
        Err(error) if read::is_absent(&error) => None,
        Err(error) => return Err(error),
    };
    Ok(entries.into_iter().flatten())
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::disallowed_methods, reason = "nothing but git writes its files as it does")]
mod tests;
