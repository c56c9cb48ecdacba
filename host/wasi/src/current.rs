//! Write-protected paths of a call, determined again when what decides them may have changed.
//!
//! Other programs make repositories and change configurations while a call runs. Each change of a file therefore
//! begins with a look at the names that git knows repositories by, in the folder of the file and in those around it.
//! Everything else that decides, such as a configuration elsewhere, is looked at again after a short time.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use parking_lot::Mutex;
use scorpiox_git::OBEYED;
use scorpiox_policy::FileDenial;

use super::folders::Unwritable;

/// Shortest and longest time for which the paths are valid, if no repository near the file changes. In between, it is
/// a multiple of the time that it takes to determine them.
const LASTS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(2)];
const LASTS_TIMES: u32 = 10;
/// Maximum number of repositories whose state is remembered.
const MAX_SEEN: usize = 4096;
/// Maximum number of written paths that are looked at again at the end of a call.
const MAX_WRITTEN: usize = 4096;

/// State of the names in a folder by which git knows a repository.
type Trace = (FolderId, u64);
/// Hash of the device and the number of a folder.
type FolderId = u64;

/// Write-protected paths, as of the last look.
#[derive(Default)]
pub(super) struct Current {
    known: Mutex<Option<Known>>,
    /// Paths that were changed, and `true` if there were more.
    written: Mutex<(BTreeSet<PathBuf>, bool)>,
}

struct Known {
    unwritable: Unwritable,
    at: Instant,
    lasts: Duration,
    /// Repositories, as they were before the look.
    seen: HashMap<FolderId, u64>,
}

impl Current {
    /// Forgets what was determined.
    pub(super) fn forget(&self) {
        *self.known.lock() = None;
    }

    /// Fails if a path is write-protected. `folder` is the folder of the path; `look` determines the paths.
    pub(super) fn check(
        &self,
        path: &Path,
        folder: Option<&Dir>,
        look: impl FnOnce() -> Unwritable,
    ) -> Result<(), FileDenial> {
        // Before the look: what changes during it is seen by the next one.
        let traces = folder.map_or_else(|| Some(Vec::new()), traces);
        let mut known = self.known.lock();
        let is_valid = |known: &Known| {
            let is_seen = |(folder, trace): &Trace| known.seen.get(folder) == Some(trace);
            known.at.elapsed() < known.lasts && traces.as_ref().is_some_and(|all| all.iter().all(is_seen))
        };
        if let Some(known) = known.as_ref().filter(|known| is_valid(known)) {
            return known.unwritable.check(path);
        }
        // A repository that is as it was before an earlier look is also as this one sees it.
        let mut seen =
            known.take().map(|known| known.seen).filter(|seen| seen.len() < MAX_SEEN).unwrap_or_default();
        let at = Instant::now();
        let unwritable = look();
        let lasts = (at.elapsed() * LASTS_TIMES).clamp(LASTS[0], LASTS[1]);
        seen.extend(traces.into_iter().flatten());
        known.insert(Known { unwritable, at, lasts, seen }).unwritable.check(path)
    }

    /// Records a path that is about to be changed.
    pub(super) fn writes(&self, path: &Path) {
        let (written, is_cut) = &mut *self.written.lock();
        if written.contains(path) {
            return;
        }
        if written.len() < MAX_WRITTEN {
            written.insert(path.to_owned());
        } else {
            *is_cut = true;
        }
    }

    /// Returns the paths that were changed before they became write-protected, each with the reason, and `true` if there
    /// are paths that were not looked at. Each is returned once.
    pub(super) fn protected_since(
        &self,
        look: impl FnOnce() -> Unwritable,
    ) -> (Vec<(PathBuf, String)>, bool) {
        let (mut written, is_cut) = std::mem::take(&mut *self.written.lock());
        if written.is_empty() {
            return (Vec::new(), false);
        }
        let now = look();
        let mut found = Vec::new();
        written.retain(|path| {
            let mut all = vec![path.clone()];
            if path.is_dir() {
                // It may have been moved there with its content.
                all.extend(OBEYED.map(|name| path.join(name)));
            }
            let before = found.len();
            all.retain(|path| path.symlink_metadata().is_ok_and(|about| !about.is_dir()));
            let denied = |path: PathBuf| now.check(&path).err().map(|denial| (path, denial.rule));
            found.extend(all.into_iter().filter_map(denied));
            found.len() == before
        });
        // Files that are open can still be written by a later call of the same instance.
        self.written.lock().0 = written;
        (found, is_cut)
    }
}

/// Returns the state of the repositories in a folder and in those around it. `None` if it cannot be determined.
#[cfg(unix)]
fn traces(folder: &Dir) -> Option<Vec<Trace>> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use rustix::fs::{Mode, OFlags, fstat, openat};

    /// Maximum number of folders around each other.
    const MAX_DEPTH: usize = 256;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    let mut all = Vec::new();
    let mut at = openat(folder, ".", flags, Mode::empty()).ok()?;
    let id = |about: &rustix::fs::Stat| {
        let mut hasher = DefaultHasher::new();
        (about.st_dev, about.st_ino).hash(&mut hasher);
        hasher.finish()
    };
    let mut here = id(&fstat(&at).ok()?);
    for _ in 0..MAX_DEPTH {
        all.extend(trace(&at).map(|trace| (here, trace)));
        // Nothing is known of what is above a folder that cannot be passed, and no survey sees it.
        let Ok(up) = openat(&at, "..", flags, Mode::empty()) else { return Some(all) };
        let above = id(&fstat(&up).ok()?);
        if above == here {
            return Some(all);
        }
        (at, here) = (up, above);
    }
    None
}

/// Returns the state of the names by which git knows a folder, if it is a repository or the work tree of one.
#[cfg(unix)]
fn trace(folder: &std::os::fd::OwnedFd) -> Option<u64> {
    use std::ffi::OsStr;
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use rustix::fs::{AtFlags, FileType, statat};
    use scorpiox_git::{SIGNS, Signs};

    let (mut signs, mut hasher) = (Signs::default(), DefaultHasher::new());
    let mut note = |name: &str, flags| {
        let about = statat(folder, name, flags).ok()?;
        let kind = FileType::from_raw_mode(about.st_mode);
        (name, about.st_dev, about.st_ino, kind.as_raw_mode()).hash(&mut hasher);
        if kind != FileType::Directory {
            (about.st_size, about.st_ctime, about.st_ctime_nsec).hash(&mut hasher);
        }
        Some(kind)
    };
    for name in SIGNS {
        if let Some(kind) = note(name, AtFlags::SYMLINK_NOFOLLOW) {
            signs.note(OsStr::new(name), kind == FileType::Directory, kind == FileType::RegularFile);
        }
    }
    let has_git = note(".git", AtFlags::SYMLINK_NOFOLLOW).is_some();
    if has_git {
        for name in [".git/config", ".git/config.worktree", ".git/commondir"] {
            note(name, AtFlags::empty());
        }
    }
    (has_git || signs.are_used()).then(|| hasher.finish())
}

/// Returns nothing: here, only time decides.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)] // same signature as on Unix
fn traces(_folder: &Dir) -> Option<Vec<Trace>> {
    Some(Vec::new())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use cap_std::ambient_authority;
    use scorpiox_shell::Shell;
    use scorpiox_workspace_config::{Operator, Site, SkillFolders};

    use super::*;

    /// A workspace, in which a call writes.
    struct Call {
        _held: tempfile::TempDir,
        root: PathBuf,
        shell: Shell,
        current: Current,
    }

    impl Call {
        fn new() -> Self {
            let held = tempfile::tempdir().expect("a folder");
            let folder = held.path().canonicalize().expect("a path");
            let root = folder.join("workspace");
            fs::create_dir(&root).expect("a folder");
            let own = folder.join("own");
            let skills = Arc::new(SkillFolders::new(&own, None, &own, &[]));
            let shell = Shell::new(Arc::new(Operator::new(Site {
                workspace: root.clone(),
                workspace_name: "workspace".to_owned(),
                home: None,
                own_home: own,
                skills,
                is_managed_required: false,
                worked_on: Vec::new(),
            })));
            Self { _held: held, root, shell, current: Current::default() }
        }

        fn look(&self) -> Unwritable {
            Unwritable::look(&self.shell, &[(self.root.clone(), true)])
        }

        fn may_write(&self, path: &str) -> bool {
            let path = self.root.join(path);
            let folder = path.parent().expect("a folder");
            fs::create_dir_all(folder).expect("a folder");
            let folder = Dir::open_ambient_dir(folder, ambient_authority()).expect("a folder");
            let may = self.current.check(&path, Some(&folder), || self.look()).is_ok();
            if may {
                self.current.writes(&path);
                fs::write(&path, "x").expect("a file");
            }
            may
        }

        /// Makes what was determined valid for the rest of the test.
        fn keep(&self) {
            self.current.known.lock().as_mut().expect("a look").lasts = Duration::from_hours(1);
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }

        fn make_repository(&self, folder: &str) {
            for name in ["objects/a", "refs/a", "hooks/a"] {
                self.put(&format!("{folder}/{name}"), "");
            }
            self.put(&format!("{folder}/config"), "[core]\n");
            self.put(&format!("{folder}/HEAD"), "ref: refs/heads/main\n");
        }
    }

    #[test]
    fn a_repository_that_appears_during_a_call_is_protected_at_once() {
        let call = Call::new();
        for path in ["a", "bare.git/hooks/early", "tree/deep/x", "myhooks/early"] {
            assert!(call.may_write(path), "{path}");
        }
        call.keep();
        call.make_repository("bare.git");
        for path in ["bare.git/hooks/post-receive", "bare.git/hooks/deep/x", "bare.git/config"] {
            assert!(!call.may_write(path), "{path}");
        }
        call.keep();
        assert!(call.may_write("tree/deep/y"));
        call.make_repository("separate");
        call.put("tree/.git", "gitdir: ../separate\n");
        assert!(!call.may_write("separate/hooks/post-checkout"));
        call.keep();
        call.make_repository(".git");
        call.put(".git/config", "[core]\n\thooksPath = myhooks\n");
        assert!(!call.may_write("myhooks/pre-commit"));
        call.keep();
        call.put(".git/config", "[core]\n\thooksPath = tree/hooks\n");
        assert!(call.may_write("myhooks/pre-commit"));
        assert!(!call.may_write("tree/hooks/pre-commit"));
    }

    #[test]
    fn a_configuration_elsewhere_is_read_again_after_a_time() {
        let call = Call::new();
        call.make_repository("tree/.git");
        assert!(call.may_write("hooks/a"));
        call.put("tree/.git/config", "[core]\n\thooksPath = ../hooks\n");
        call.current.known.lock().as_mut().expect("a look").lasts = Duration::ZERO;
        assert!(!call.may_write("hooks/b"));
    }

    #[test]
    fn files_that_were_written_before_are_named_at_the_end() {
        let call = Call::new();
        for path in ["bare.git/hooks/post-receive", "bare.git/note", "a"] {
            assert!(call.may_write(path), "{path}");
        }
        let (found, is_cut) = call.current.protected_since(|| call.look());
        assert!(found.is_empty() && !is_cut, "{found:?}");
        call.make_repository("bare.git");
        let (found, is_cut) = call.current.protected_since(|| call.look());
        let paths: Vec<_> = found.into_iter().map(|(path, _)| path).collect();
        assert_eq!((paths, is_cut), (vec![call.root.join("bare.git/hooks/post-receive")], false));
        assert!(call.current.protected_since(|| call.look()).0.is_empty(), "they are named once");
    }

    #[test]
    fn files_of_a_plain_folder_need_no_further_look() {
        let call = Call::new();
        call.make_repository(".git");
        call.make_repository("other/.git");
        assert!(call.may_write("a") && call.may_write("other/a"));
        call.keep();
        let looks = std::cell::Cell::new(0);
        for number in 0..100 {
            for folder in ["", "other", "other/deep"] {
                let path = call.root.join(folder).join(number.to_string());
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                let folder = Dir::open_ambient_dir(path.parent().expect("a folder"), ambient_authority());
                let look = || {
                    looks.set(looks.get() + 1);
                    call.look()
                };
                assert!(call.current.check(&path, Some(&folder.expect("a folder")), look).is_ok());
                fs::write(path, "x").expect("a file");
            }
        }
        assert_eq!(looks.get(), 0);
    }
}
