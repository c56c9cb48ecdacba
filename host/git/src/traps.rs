//! Finds files in a git directory by which git would write to places that it never writes to by itself, or start
//! programs, although its configuration and its hooks are harmless.
//!
//! These files are no settings: git writes them while it works, so commands may, too. It trusts them more than it trusts
//! a commit. It writes each path of the index, and each name that a symbolic reference leads to. An unfinished rebase
//! starts the programs of its list.
//!
//! Paths that git refuses when it reads a tree are not looked for elsewhere, such as in commits.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use scorpiox_fs::Stamp;

use crate::index_paths::{Judged, judge};
use crate::operations::{Judge, OPERATIONS};
use crate::read;

/// Maximum number of files to report for a git directory.
const MAX_FOUND: usize = 8;
/// Maximum number of entries to look at in a git directory, and below `refs`.
const MAX_ENTRIES: usize = 50_000;
/// Maximum number of bytes to read of a reference, as git creates them.
const MAX_REFERENCE_BYTES: u64 = 4096;
/// Maximum number of bytes to read of the state of an operation. A longer list can name programs further down.
const MAX_STATE_BYTES: u64 = 4 << 20;

/// Maximum size of the indexes to read in a git directory, in bytes.
const MAX_INDEX_BYTES: u64 = 128 << 20;
/// Files beside the index that git leaves when its work is finished or a conflict waits, in which it trusts nothing but
/// names of commits and references, and texts.
const FINISHED: [&str; 35] = [
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
    "HEAD.lock",
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
    "gc.pid.lock",
    "index.lock",
    "locked",
    "next-index.lock",
    "packed-refs",
    "packed-refs.lock",
    "packed-refs.new",
    "shallow",
];

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
    /// State of an unfinished operation, which starts a program or writes elsewhere when its user continues it; or a file
    /// that git leaves in no other case.
    Operation,
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
    let mut search =
        Search { since, until, left: MAX_ENTRIES, bytes_left: MAX_INDEX_BYTES, traps: Traps::default() };
    if search.folder(folder).is_err() {
        search.traps.is_cut = true;
    }
    search.traps
}

struct Search {
    since: Option<SystemTime>,
    until: Instant,
    /// Number of entries left to look at.
    left: usize,
    /// Number of bytes of indexes left to read.
    bytes_left: u64,
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
            } else if kind.is_dir() {
                self.operation(&path, name)?;
            }
        }
        Ok(())
    }

    /// Counts an entry to look at. Fails if it is one too many, or too late.
    fn count(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or(ErrorKind::QuotaExceeded)?;
        if Instant::now() >= self.until { Err(ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn file(&mut self, path: PathBuf, name: &[u8]) -> io::Result<()> {
        // Some file systems ignore case.
        let name = name.to_ascii_lowercase();
        if name == b"index" || name.starts_with(b"sharedindex.") {
            let size = path.symlink_metadata().map_or(0, |found| found.len());
            self.bytes_left = self.bytes_left.checked_sub(size).ok_or(ErrorKind::QuotaExceeded)?;
            match judge(&path) {
                Judged::Plain => {}
                Judged::Names(refused) => self.add(path, TrapKind::Index, &refused),
                Judged::Unreadable => self.add(path, TrapKind::Index, b""),
            }
        } else if name == b"merge_rr" {
            self.resolutions(path);
        } else if self.is_judged_elsewhere(&name) {
            return Ok(());
        } else if FINISHED.iter().any(|finished| finished.as_bytes().eq_ignore_ascii_case(&name)) {
            self.reference(path);
        } else {
            let text = String::from_utf8_lossy(&name).into_owned();
            self.add(path, TrapKind::Operation, text.as_bytes());
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
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in entries(&folder)? {
                self.count()?;
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() && self.is_changed(&entry.path()) {
                    self.reference(entry.path());
                }
            }
        }
        Ok(())
    }

    fn is_changed(&self, path: &Path) -> bool {
        match path.symlink_metadata() {
            Ok(found) => {
                found.is_file() && self.since.is_none_or(|since| !Stamp::of(&found).is_settled(since))
            }
            Err(error) => !read::is_absent(&error),
        }
    }

    fn reference(&mut self, path: PathBuf) {
        let Ok(Some(text)) = read::text_itself(&path, MAX_REFERENCE_BYTES) else { return };
        let Some(target) = text.bytes.strip_prefix(b"ref:") else { return };
        let target = target.trim_ascii();
        if !target.starts_with(b"refs/") {
            self.add(path, TrapKind::Reference, target);
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

    fn add(&mut self, path: PathBuf, kind: TrapKind, text: &[u8]) {
        if self.traps.found.len() < MAX_FOUND {
            let text = String::from_utf8_lossy(text).into_owned();
            self.traps.found.push(Trap { path, kind, text });
        } else {
            self.traps.is_cut = true;
        }
    }
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
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::index_paths::is_refused;

    fn git(folder: &Path, words: &[&str]) {
        let _alone = crate::STARTS.write().unwrap();
        let mut git = Command::new("git");
        let own = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgSign=false"];
        let ran = git.current_dir(folder).args(own).args(words).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn repository(words: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &[&["init", "-q"], words].concat());
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for name in ["a/b/one", "a/two", "three", ".gitignore", "git~2", ".github"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        git(folder.path(), &["add", "-A"]);
        git(folder.path(), &["commit", "-qm", "x"]);
        folder
    }

    fn found(folder: &Path) -> Vec<(String, TrapKind, String)> {
        let traps = traps(&folder.join(".git"), None, Instant::now() + Duration::from_mins(1));
        assert!(!traps.is_cut);
        let name = |path: &Path| path.strip_prefix(folder.join(".git")).unwrap().display().to_string();
        traps.found.into_iter().map(|trap| (name(&trap.path), trap.kind, trap.text)).collect()
    }

    #[test]
    fn repositories_as_git_makes_them_have_none() {
        for words in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
            let folder = repository(words);
            let at = folder.path();
            for version in ["2", "3", "4"] {
                git(at, &["update-index", "--index-version", version]);
                fs::write(at.join("later"), version).unwrap();
                git(at, &["add", "--intent-to-add", "later"]);
                assert_eq!(found(at), [], "{words:?} {version}");
            }
            git(at, &["branch", "other"]);
            git(at, &["symbolic-ref", "refs/heads/alias", "refs/heads/other"]);
            git(at, &["tag", "-am", "x", "v1"]);
            git(at, &["update-index", "--split-index"]);
            fs::write(at.join("three"), "changed").unwrap();
            git(at, &["add", "three"]);
            git(at, &["commit", "-qm", "y"]);
            assert_eq!(found(at), [], "{words:?}");
        }
        let folder = repository(&[]);
        git(folder.path(), &["sparse-checkout", "init", "--cone", "--sparse-index"]);
        assert_eq!(found(folder.path()), []);
    }

    /// So many entries that git reads them with several threads.
    #[test]
    fn a_large_index_as_git_writes_it_is_no_trap() {
        use std::fmt::Write as _;
        let folder = repository(&[]);
        let hash = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let mut list = String::new();
        for number in 0..25_000 {
            let _ = writeln!(list, "100644 {hash}\tfolder/{:02}/file{number}", number / 300);
        }
        fs::write(folder.path().join("list"), list).unwrap();
        let _alone = crate::STARTS.write().unwrap();
        for version in ["2", "4"] {
            let script = format!(
                "git update-index --index-version {version} && git -c index.threads=4 update-index --index-info < list"
            );
            let ran = Command::new("sh").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let index = fs::read(folder.path().join(".git/index")).unwrap();
            assert!(index.windows(4).any(|part| part == b"IEOT"), "git wrote no blocks");
            assert_eq!(found(folder.path()), [], "{version}");
        }
    }

    /// Git creates the file although it would refuse the path in a commit.
    #[test]
    fn an_index_with_a_path_that_git_refuses_elsewhere_is_a_trap() {
        let folder = repository(&[]);
        let index = folder.path().join(".git/index");
        let plain = fs::read(&index).unwrap();
        for (from, to) in [
            (&b"a/b/one"[..], &b"../aone"[..]),
            (b"a/b/one", b".git/ab"),
            (b"a/b/one", b"/tmp/ab"),
            (b"a/b/one", b"a//bone"),
            (b"a/b/one", b"GIT~1/b"),
            (b"a/b/one", b".giT ./"),
            (b"a/b/one", b"a/./bon"),
        ] {
            let at = plain.windows(from.len()).position(|part| part == from).unwrap();
            let mut changed = plain.clone();
            changed[at..at + to.len()].copy_from_slice(to);
            fs::write(&index, changed).unwrap();
            let text = String::from_utf8_lossy(to).into_owned();
            assert_eq!(found(folder.path()), [("index".into(), TrapKind::Index, text)]);
        }
        for cut in [3, 11, 40, plain.len() - 21] {
            fs::write(&index, &plain[..cut]).unwrap();
            assert_eq!(found(folder.path()), [("index".into(), TrapKind::Index, String::new())], "{cut}");
        }
        fs::write(&index, &plain).unwrap();
        assert_eq!(found(folder.path()), []);
    }

    /// Damaged in some bytes, as git reads it: with lengths and positions that do not fit together.
    #[test]
    fn no_index_that_git_reads_hides_a_path_that_it_refuses() {
        const ROUNDS: usize = 400;
        let folder = repository(&[]);
        let index = folder.path().join(".git/index");
        let mut plain = Vec::new();
        for version in ["2", "3", "4"] {
            git(folder.path(), &["update-index", "--index-version", version]);
            plain.push(fs::read(&index).unwrap());
        }
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |limit: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random % limit as u64).unwrap()
        };
        let (mut read, mut refused) = (0, 0);
        for round in 0..ROUNDS {
            let mut bytes = plain[round % plain.len()].clone();
            for name in [&b".gitignore"[..], b".github", b"git~2", b"three"] {
                let evil = [&b".git/x/abc"[..], b".git/ab", b"git~1", b"../ab"];
                let evil = evil.into_iter().find(|evil| evil.len() == name.len()).unwrap();
                if let (0, Some(at)) = (below(3), bytes.windows(name.len()).position(|part| part == name)) {
                    bytes[at..at + name.len()].copy_from_slice(evil);
                }
            }
            for _ in 0..below(4) {
                let at = below(bytes.len());
                bytes[at] ^= 1 << below(8);
            }
            fs::write(&index, &bytes).unwrap();
            let _alone = crate::STARTS.write().unwrap();
            let mut git = Command::new("git");
            let ran = git.current_dir(folder.path()).args(["ls-files", "-z", "-c"]).output().unwrap();
            if !ran.status.success() {
                continue;
            }
            read += 1;
            if ran.stdout.split(|byte| *byte == 0).any(|path| !path.is_empty() && is_refused(path)) {
                refused += 1;
                assert_ne!(judge(&index), Judged::Plain, "round {round}");
            }
        }
        assert!(read > ROUNDS / 4 && refused > ROUNDS / 10, "{read} {refused}");
    }

    #[test]
    fn a_reference_to_a_name_elsewhere_is_a_trap() {
        let folder = repository(&[]);
        let put = |name: &str, text: &str| {
            let path = folder.path().join(".git").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("refs/remotes/origin/main", "ref: commondir\n");
        put("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n");
        put("ORIG_HEAD", "ref:\thooks/post-checkout");
        let mut found = found(folder.path());
        found.sort();
        let trap = |name: &str, text: &str| (name.to_owned(), TrapKind::Reference, text.to_owned());
        assert_eq!(
            found,
            [trap("ORIG_HEAD", "hooks/post-checkout"), trap("refs/remotes/origin/main", "commondir")]
        );
    }

    #[test]
    fn an_operation_that_starts_a_program_is_a_trap() {
        for (name, harmless, text, part) in [
            (
                "rebase-merge/git-rebase-todo",
                "pick 1 exec\n# exec x\n",
                "pick 1 x\n  exec touch x\n",
                "exec touch x",
            ),
            ("rebase-merge/git-rebase-todo", "update-ref refs/heads/x\nb\n", "u hooks/x\n", "u hooks/x"),
            ("rebase-merge/git-rebase-todo", "", "x\ttouch x", "x\ttouch x"),
            ("rebase-merge/head-name", "refs/heads/main\n", "commondir\n", "commondir"),
            ("rebase-apply/apply-opt", " ", " '--build-fake-ancestor=/x'", "'--build-fake-ancestor=/x'"),
            ("rebase-merge/onto", "0123abc\n", "../x", "../x"),
            ("rebase-merge/strategy", "resolve\n", "file", "file"),
            ("rebase-apply/head-name", "detached HEAD\n", "commondir\n", "commondir"),
            ("rebase-merge/strategy", "ort\n", "x/evil\n", "x/evil"),
            (
                "rebase-merge/update-refs",
                "refs/heads/a\n0\n1\n",
                "refs/heads/a\n0\n1\nhooks/x\n0\n1\n",
                "hooks/x",
            ),
            ("sequencer/todo", "pick 1 x\n", "exec y\n", "exec y"),
            ("sequencer/opts", "[options]\n\tstrategy = ort\n", "[options]\n\tstrategy = ../x\n", "../x"),
        ] {
            let folder = repository(&[]);
            let path = folder.path().join(".git").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, harmless).unwrap();
            assert_eq!(found(folder.path()), [], "{name}");
            fs::write(&path, text).unwrap();
            assert_eq!(found(folder.path()), [(name.into(), TrapKind::Operation, part.to_owned())]);
        }
    }

    /// As git leaves them when there is a conflict.
    #[test]
    fn operations_as_git_writes_them_are_none() {
        let commit = |folder: &Path, text: &str| {
            fs::write(folder.join("three"), text).unwrap();
            git(folder, &["commit", "-qam", text]);
        };
        for (kept, words) in [
            ("rebase-merge", &["rebase", "other"][..]),
            ("rebase-merge", &["rebase", "-X", "ours", "-s", "resolve", "--signoff", "other"]),
            (
                "rebase-merge",
                &["rebase", "--rebase-merges", "--update-refs", "--no-rerere-autoupdate", "other"],
            ),
            ("rebase-apply", &["rebase", "--apply", "--quiet", "other"]),
            ("rebase-apply", &["am", "--3way", "--keep-cr", "--signoff", "mail"]),
            (
                "sequencer",
                &["cherry-pick", "-x", "-X", "ignore-all-space", "--allow-empty", "other~2..other"],
            ),
            ("sequencer", &["revert", "--no-edit", "HEAD~2", "HEAD~1"]),
        ] {
            let folder = repository(&[]);
            let at = folder.path();
            git(at, &["branch", "other"]);
            (0..3).for_each(|number| commit(at, &format!("main {number}")));
            git(at, &["checkout", "-q", "other"]);
            (0..3).for_each(|number| commit(at, &format!("other {number}")));
            let mail = {
                let _alone = crate::STARTS.write().unwrap();
                Command::new("git").current_dir(at).args(["format-patch", "--stdout", "-2"]).output().unwrap()
            };
            git(at, &["checkout", "-q", "-"]);
            fs::write(at.join("mail"), mail.stdout).unwrap();
            let own = ["-c", "user.name=O'Hara <x>", "-c", "user.email=n@example.com"];
            {
                let _alone = crate::STARTS.write().unwrap();
                Command::new("git").current_dir(at).args(own).args(words).output().unwrap();
            }
            assert!(at.join(".git").join(kept).is_dir(), "{words:?} ended without a conflict");
            assert_eq!(found(at), [], "{words:?}");
        }
    }

    #[test]
    fn conflicts_that_git_resolves_by_itself_are_a_trap() {
        let folder = repository(&[]);
        let path = folder.path().join(".git/MERGE_RR");
        fs::write(&path, "").unwrap();
        assert_eq!(found(folder.path()), []);
        fs::write(&path, "12.-1\ta/two\x0034\tx\0").unwrap();
        assert_eq!(found(folder.path()), [("MERGE_RR".into(), TrapKind::Resolutions, "a/two".into())]);
    }

    #[test]
    fn files_that_finished_work_does_not_leave_are_a_trap() {
        let folder = repository(&[]);
        fs::write(folder.path().join(".git/MERGE_AUTOSTASH"), "0123").unwrap();
        let named = |name: &str| (name.into(), TrapKind::Operation, name.to_ascii_lowercase());
        assert_eq!(found(folder.path()), [named("MERGE_AUTOSTASH")]);
        for name in FINISHED {
            fs::write(folder.path().join(".git").join(name), "0123").unwrap();
        }
        assert_eq!(found(folder.path()), [named("MERGE_AUTOSTASH")]);
    }

    /// Files with holes take no space, and would be read for hours.
    #[test]
    fn the_search_has_a_limit_of_bytes_and_of_time() {
        let folder = repository(&[]);
        let at = folder.path().join(".git");
        let later = Instant::now() + Duration::from_mins(1);
        assert!(traps(&at, None, Instant::now()).is_cut);
        for number in 0..20 {
            let file = fs::File::create(at.join(format!("sharedindex.{number}"))).unwrap();
            file.set_len(1 << 30).unwrap();
        }
        let begun = Instant::now();
        assert!(traps(&at, None, later).is_cut);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[test]
    fn only_files_that_changed_since_count() {
        let folder = repository(&[]);
        let path = folder.path().join(".git/refs/heads/x");
        fs::write(&path, "ref: commondir").unwrap();
        let changed = path.symlink_metadata().unwrap().modified().unwrap();
        let later = Instant::now() + Duration::from_mins(1);
        let count = |since| traps(&folder.path().join(".git"), Some(since), later).found.len();
        assert_eq!(count(changed - Duration::from_millis(1)), 1);
        assert_eq!(count(changed + Duration::from_secs(5)), 0);
    }
}
