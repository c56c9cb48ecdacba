//! The folders of a call, and the paths in them that are denied.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_fs::Folder;
use scorpiox_git::SIGNS;
use scorpiox_policy::{FileDenial, Places};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::filesystem::{Dir as OpenDir, FsPerms, OpenMode};

use super::WasiSource;
use super::current::Current;
use super::language::is_own_path;
use super::place::Place;
use super::sink::Sink;
use super::way::Way;
use scorpiox_capabilities::approved::FolderPath;
use scorpiox_capabilities::granted::decide;
use scorpiox_capabilities::rules;
use scorpiox_shell::{Area, Shell, Special};

/// Maximum number of folders that a refusal names.
const MAX_NAMED: usize = 3;

/// Maximum number of files in a folder that is moved.
const MAX_MOVED: usize = 20_000;

/// Top-level directories that exist on most machines but rarely in projects. A path that starts with such a
/// name is treated as absolute unless the workspace contains that folder. WASI's C library passes both kinds
/// to the host in the same form.
const OF_MACHINES: [&str; 14] = [
    "dev", "etc", "home", "mnt", "opt", "proc", "root", "srv", "sys", "tmp", "usr", "var", "Users", "Volumes",
];

/// Checks access to paths in the folders of a call.
#[derive(Default)]
pub(super) struct Guard {
    plugin: String,
    uses: Uses,
    /// Resolved paths of the folders, each with `true` if it may be written.
    roots: Vec<(PathBuf, bool)>,
    /// The open folders, in the same order as `roots`.
    opened: Vec<OpenDir>,
    /// Folder in which relative paths start: the workspace, if it was granted.
    start: Option<OpenDir>,
    rules: Option<(Arc<Shell>, Places)>,
    /// `true` if the plugin was granted folders, even if they could not be opened.
    has_folders: bool,
    /// `true` if the plugin sees its only folder as `/`.
    has_root: bool,
    /// `true` if a plan is active, so that no folder may be written.
    is_planning: bool,
    /// Granted folders that could not be opened, each with the reason.
    missing: Vec<(PathBuf, String)>,
    /// Standard error of the call.
    stderr: Option<Sink>,
    /// `true` if the path of the last operation is one that the runtime of a language reads on its own.
    is_languages: AtomicBool,
    /// Write-protected paths in the folders.
    current: Current,
}

/// Opens the granted folders that exist.
pub(super) fn open(source: &WasiSource, builder: &mut WasiCtxBuilder, stderr: &Sink) -> Guard {
    let mut guard = Guard {
        plugin: source.name.clone(),
        uses: source.uses.clone(),
        has_folders: !source.approved.folders.is_empty(),
        has_root: source.approved.has_root,
        is_planning: source.read_only,
        stderr: Some(stderr.clone()),
        ..Guard::default()
    };
    let Some(shell) = &source.shell else { return guard };
    let operator = shell.operator();
    let site = operator.site();
    let places = match operator.places() {
        Ok(places) => places,
        Err(error) => {
            tracing::warn!(plugin = source.name, "no folder is opened: {error}");
            return guard;
        }
    };
    // Some programs start in the first preopened folder.
    let (first, others): (Vec<_>, Vec<_>) =
        source.approved.folders.iter().partition(|folder| folder.path == FolderPath::Workspace);
    for folder in first.into_iter().chain(others) {
        let (path, held) = match folder.path.open(&site.workspace) {
            Ok(opened) => opened,
            Err(error) => {
                guard.misses(folder.path.at(&site.workspace), &error);
                continue;
            }
        };
        if let Err(denial) = decide(operator, &places, &[(path.clone(), false)], &path, false) {
            tracing::warn!(plugin = source.name, "refused: {denial}");
            continue;
        }
        let write = folder.write && !source.read_only;
        // The opened folder, even if another one replaces it at its path.
        let place = place(&held, &path);
        let opened = open_dir(&place, write).and_then(|dir| {
            if source.approved.has_root {
                builder.initial_cwd("/");
            } else if folder.path == FolderPath::Workspace {
                builder.initial_cwd(path.display().to_string());
                guard.start = Some(open_dir(&place, write)?);
            }
            Ok(dir)
        });
        match opened {
            Ok(dir) => {
                guard.roots.push((path, write));
                guard.opened.push(dir);
            }
            Err(error) => guard.misses(&path, &error),
        }
    }
    let granted: Vec<_> = guard.roots.iter().map(|(root, _)| root.clone()).collect();
    match operator.places_with(&granted) {
        Ok(places) => guard.rules = Some((Arc::clone(shell), places)),
        Err(error) => {
            tracing::warn!(plugin = source.name, "no folder is opened: {error}");
            (guard.roots, guard.opened, guard.start) = (Vec::new(), Vec::new(), None);
        }
    }
    guard
}

fn open_dir(place: &Path, write: bool) -> io::Result<OpenDir> {
    let dir = Dir::open_ambient_dir(place, ambient_authority())?.into_std_file();
    let (perms, mode) = if write {
        (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE)
    } else {
        (FsPerms::ReadOnly, OpenMode::READ)
    };
    // Only regular files and folders are opened, which do not block for long.
    Ok(OpenDir::new(dir, perms, mode, true))
}

/// Returns the path by which an open folder is opened again.
fn place(held: &Folder, path: &Path) -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        let _ = path;
        held.alias()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = held;
        path.to_owned()
    }
}

/// Decision about the metadata of a path.
pub(super) enum Described {
    /// The path may be read.
    Open,
    /// The path is denied, and its folder may be read.
    Listed(Listed),
    /// The path is denied.
    Refused,
}

/// Position of a denied name among the granted folders.
#[derive(Hash)]
pub(super) struct Listed {
    /// Index of the granted folder.
    root: usize,
    /// Path in that folder.
    inside: PathBuf,
}

/// A preopened descriptor of a guest.
pub(super) enum Preopen {
    /// A granted folder.
    Folder(OpenDir),
    /// A virtual parent directory of granted folders.
    Way(Way),
}

impl Guard {
    /// Prepares for another call with the same folders. The write-protected paths are determined again.
    pub(super) fn renew(&mut self, source: &WasiSource) {
        self.uses = source.uses.clone();
        self.is_planning = source.read_only;
        self.current.forget();
    }

    /// Returns the guest's preopens with their names. WASI's C library treats `.` and `/` as equal and uses
    /// the last one, so that relative paths belong to the workspace, if it was granted. A folder that was granted
    /// as `/` is the only preopen.
    pub(super) fn preopens(&self) -> Vec<(Preopen, String)> {
        if let (true, [root]) = (self.has_root, self.opened.as_slice()) {
            return vec![(Preopen::Folder(root.clone()), "/".to_owned())];
        }
        let named = |((path, _), dir): (&(PathBuf, bool), &OpenDir)| {
            (Preopen::Folder(dir.clone()), path.display().to_string())
        };
        let mut all: Vec<_> = self.roots.iter().zip(&self.opened).map(named).collect();
        // On other systems, absolute paths have several roots. Without a granted folder, all paths start at
        // `/`: otherwise, WASI's C library would not call the host, and the missing grant would not be
        // reported.
        if cfg!(unix) || all.is_empty() {
            all.push((Preopen::Way(Way::root()), "/".to_owned()));
        }
        all.extend(self.start.iter().map(|start| (Preopen::Folder(start.clone()), ".".to_owned())));
        all
    }

    /// Returns the resolved paths of the folders, each with `true` if it may be written.
    pub(super) fn roots(&self) -> &[(PathBuf, bool)] {
        &self.roots
    }

    /// Returns the open folder with an index in [`Self::roots`].
    pub(super) fn opened(&self, index: usize) -> Option<OpenDir> {
        self.opened.get(index).cloned()
    }

    /// Returns the first component of a path that was passed relative to the start folder, but is an absolute
    /// path of the machine. Returns `None` for paths of the workspace.
    pub(super) fn of_machine<'p>(&self, from: &OpenDir, path: &'p str) -> Option<&'p str> {
        let start = self.start.as_ref().filter(|start| Arc::ptr_eq(&start.dir, &from.dir))?;
        let Some(Component::Normal(first)) = Path::new(path).components().next() else { return None };
        let first = first.to_str()?;
        let leads = |(root, _): &(PathBuf, bool)| {
            root.components().nth(1).is_some_and(|part| part.as_os_str() == first)
        };
        if !cfg!(unix) || !(OF_MACHINES.contains(&first) || self.roots.iter().any(leads)) {
            return None;
        }
        let workspace = Dir::from_std_file(start.dir.try_clone().ok()?);
        let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        workspace.symlink_metadata(first).is_err_and(|error| is_absent(&error)).then_some(first)
    }

    /// Notes a granted folder that cannot be opened.
    fn misses(&mut self, folder: &Path, error: &io::Error) {
        let why = if error.kind() == io::ErrorKind::NotFound {
            "does not exist; create it".to_owned()
        } else {
            format!("cannot be opened: {error}")
        };
        tracing::warn!(plugin = self.plugin, "the folder {} was granted, and {why}", folder.display());
        self.missing.push((folder.to_owned(), why));
    }

    /// Notes the path of an operation that begins.
    pub(super) fn begins(&self, path: &Path) {
        self.is_languages.store(is_own_path(path), Ordering::Relaxed);
    }

    /// Records access to an absolute path outside of the granted folders.
    pub(super) fn lies_outside(&self, path: &Path, write: bool) {
        if let Some((folder, why)) = self.missing.iter().find(|(folder, _)| path.starts_with(folder)) {
            return self.outside(path, write, &format!("{} was granted, and {why}", folder.display()));
        }
        if !self.roots.is_empty() {
            return self.outside(path, write, &format!("it has only {}", self.named()));
        }
        let why = if self.has_folders {
            "none of the folders that were granted can be opened"
        } else {
            "it has no files; [capabilities.files] of its plugin.toml asks for them"
        };
        self.outside(Self::meant(path), write, why);
    }

    /// Removes the leading `/` from a path that the plugin probably wrote as a relative one. WASI's C library
    /// passes relative and absolute paths to the host in the same form, without the leading slash.
    fn meant(path: &Path) -> &Path {
        let Ok(relative) = path.strip_prefix("/") else { return path };
        let first = relative.components().next().and_then(|part| part.as_os_str().to_str());
        if first.is_some_and(|first| !OF_MACHINES.contains(&first)) { relative } else { path }
    }

    /// Records access to an absolute path that may have been meant for the workspace.
    pub(super) fn lies_at_machine(&self, first: &str, path: &str, write: bool) {
        let asked = Path::new("/").join(path);
        if self.missing.iter().any(|(folder, _)| asked.starts_with(folder)) {
            return self.lies_outside(&asked, write);
        }
        let workspace = self.roots.first().map_or(Path::new("/"), |(path, _)| path);
        let meant = workspace.join(first);
        let why = format!("it has only {}; if it means the workspace: {}", self.named(), meant.display());
        self.outside(&asked, write, &why);
    }

    fn outside(&self, path: &Path, write: bool, why: &str) {
        let what = if write { "write" } else { "read" };
        let folder = path.parent().unwrap_or(path);
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let within = format_args!("{what} {}", folder.display());
        if !write && is_own_path(path) {
            self.uses.denied_to_language("files", within, why, APPROVAL);
        } else {
            let asked = format_args!("{what} {}", path.display());
            self.uses.denied_by_name("files", within, asked, why, APPROVAL);
        }
        tracing::debug!(plugin = self.plugin, "refused: {what} below {}: {why}", folder.display());
    }

    /// Returns the names of the folders, for messages.
    fn named(&self) -> String {
        let mut names: Vec<_> =
            self.roots.iter().take(MAX_NAMED).map(|(path, _)| path.display().to_string()).collect();
        let more = self.roots.len().saturating_sub(MAX_NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        names.join(", ")
    }

    /// Returns `true` if access to a place is allowed. `asked` is the plugin's own name for it. The result and the
    /// audit have a refusal.
    pub(super) fn allows(&self, place: &Place, asked: &Path, write: bool) -> bool {
        let path = &place.real;
        match self.check(path, write.then_some(&place.folder), write) {
            Ok(root) => {
                self.allowed(&root, write);
                if write {
                    self.current.writes(path);
                }
                true
            }
            Err(denial) => {
                self.refused(path, asked, write, &denial);
                false
            }
        }
    }

    /// Reports whether the metadata of a path may be read, with the resolved path. A denied
    /// name in a folder that may be read is no refusal: a listing of that folder shows the name, too.
    pub(super) fn describes(&self, path: &Path, asked: &Path) -> Described {
        let denial = match self.check(path, None, false) {
            Ok(root) => {
                self.allowed(&root, false);
                return Described::Open;
            }
            Err(denial) => denial,
        };
        let around = path.parent().and_then(|folder| self.check(folder, None, false).ok());
        let index = around.and_then(|root| self.roots.iter().position(|(known, _)| *known == root));
        let listed =
            index.and_then(|index| Some((index, path.strip_prefix(&self.roots.get(index)?.0).ok()?)));
        let Some((root, inside)) = listed else {
            self.refused(path, asked, false, &denial);
            return Described::Refused;
        };
        Described::Listed(Listed { root, inside: inside.to_owned() })
    }

    fn allowed(&self, root: &Path, write: bool) {
        let what = if write { "write" } else { "read" };
        self.uses.allowed("files", format_args!("{what} {}", root.display()), APPROVAL);
    }

    fn refused(&self, path: &Path, asked: &Path, write: bool, denial: &FileDenial) {
        let what = if write { "write" } else { "read" };
        let folder = path.parent().unwrap_or(path);
        let asked = format_args!("{what} {}", asked.display());
        let what = format_args!("{what} {}", folder.display());
        self.uses.denied_by_name("files", what, asked, &denial.rule, self.rule(path, write));
        tracing::debug!(plugin = self.plugin, "refused: {denial}");
    }

    /// Records an attempt to write below a read-only folder.
    pub(super) fn is_to_read(&self, folder: &Path, asked: &Path) {
        let (why, rule) = if self.is_planning {
            ("a plan is active, and nothing is changed meanwhile", BUILT_IN)
        } else {
            ("the folder was granted to be read", APPROVAL)
        };
        let asked = format_args!("write {}", asked.display());
        self.uses.denied_by_name("files", format_args!("write {}", folder.display()), asked, why, rule);
        tracing::debug!(plugin = self.plugin, "refused: a change below {}: {why}", folder.display());
    }

    /// Records an error of a function, for a guest that does not catch it. Errors of a language's own paths, and those
    /// after the guest began to print its error, are not the cause.
    pub(super) fn failed(&self, error: impl std::fmt::Display) {
        let has_printed = self.stderr.as_ref().is_some_and(Sink::is_used);
        if !has_printed && !self.is_languages.load(Ordering::Relaxed) {
            self.uses.failed("wasi:filesystem", error);
        }
    }

    /// Records a path that leads out of the folders.
    pub(super) fn leads_out(&self, asked: &Path, write: bool) {
        let what = if write { "write" } else { "read" };
        let why = "the path leads out of the folders that were granted";
        self.uses.denied_by_name("files", what, format_args!("{what} {}", asked.display()), why, APPROVAL);
        tracing::debug!(plugin = self.plugin, "refused: a path leads out of the folders that were granted");
    }

    /// Returns the rule that denies a path.
    fn rule(&self, path: &Path, write: bool) -> String {
        let granted: Vec<_> = self.roots.iter().map(|(root, _)| root.clone()).collect();
        let is_granted = |(root, writable): &(PathBuf, bool)| path.starts_with(root) && (*writable || !write);
        if !self.roots.iter().any(is_granted) {
            return APPROVAL.to_owned();
        }
        let policy =
            self.rules.as_ref().and_then(|(shell, places)| Some((shell.operator().policy().ok()?, places)));
        // A denial without a rule of the policy is built into the program.
        policy
            .map(|(policy, places)| rules::of_file(&policy.files, path, &granted, places))
            .filter(|rule| rule != APPROVAL)
            .unwrap_or_else(|| BUILT_IN.to_owned())
    }

    /// Checks access to a path. `folder` is the folder of a path that is changed.
    fn check(&self, path: &Path, folder: Option<&Dir>, write: bool) -> Result<PathBuf, FileDenial> {
        let (shell, places) = self
            .rules
            .as_ref()
            .ok_or_else(|| FileDenial::new(path, "in no folder: none was granted".to_owned()))?;
        let root = decide(shell.operator(), places, &self.roots, path, write)?;
        if write {
            self.current.check(path, folder, || Unwritable::look(shell, &self.roots))?;
        }
        Ok(root)
    }

    /// Describes files that the plugin wrote, and that were protected since then: another program made a repository
    /// around them, or a configuration that names them.
    pub(super) fn obeyed_since(&self) -> Vec<String> {
        let Some((shell, _)) = &self.rules else { return Vec::new() };
        let (found, is_cut) = self.current.protected_since(|| Unwritable::look(shell, &self.roots));
        let mut notes: Vec<_> = found.iter().take(MAX_NAMED).map(|(path, _)| {
            // A plugin chooses the name.
            let path = path.display().to_string();
            format!(
                "[changed: \"{}\": the plugin wrote it before it became a file that other programs obey, such as a hook or \
                 a configuration of git; the person should look at it before using git there.]",
                path.escape_debug()
            )
        }).collect();
        for (path, why) in &found {
            let folder = path.parent().unwrap_or(path);
            self.uses.reported("files", format_args!("write {}", folder.display()), "refused", why, BUILT_IN);
        }
        let more = found.len().saturating_sub(MAX_NAMED);
        notes.extend((more > 0).then(|| format!("[changed: {more} more such files.]")));
        notes.extend(is_cut.then(|| "[The plugin wrote more files than are looked at again.]".to_owned()));
        notes
    }

    /// Reports whether everything below a folder may be moved to a path where other rules apply.
    pub(super) fn allows_all_below(&self, folder: &Path, to: &Path) -> bool {
        let mut left = MAX_MOVED;
        let mut is_current = false;
        let mut open = vec![(folder.to_owned(), to.to_owned())];
        while let Some((folder, to)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let (path, to) = (entry.path(), to.join(entry.file_name()));
                if !is_current && SIGNS.iter().any(|sign| entry.file_name().eq_ignore_ascii_case(sign)) {
                    // It may be a repository that was not there at the last look.
                    self.current.forget();
                    is_current = true;
                }
                left -= 1;
                let is_closed = |path: &Path| self.check(path, None, true).is_err();
                if left == 0 || is_closed(&path) || is_closed(&to) {
                    return false;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push((path, to));
                }
            }
        }
        true
    }
}

/// Write-protected paths in writable folders.
pub struct Unwritable(Result<Special, String>);

impl Unwritable {
    /// Scans the writable folders.
    pub fn look(shell: &Shell, roots: &[(PathBuf, bool)]) -> Self {
        let written = roots.iter().filter(|(_, write)| *write);
        let areas: Vec<_> = written.map(|(path, write)| Area { path: path.clone(), write: *write }).collect();
        Self(shell.guard(&areas).map_err(|error| error.to_string()))
    }

    /// Fails if a path is write-protected. The path must be absolute and without links.
    pub fn check(&self, path: &Path) -> Result<(), FileDenial> {
        let refused = |why: String| Err(FileDenial::new(path, format!("not written: {why}")));
        match self.0.as_ref().map(|special| special.closes(path, true)) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => refused(why.to_string()),
            Err(error) => refused(error.clone()),
        }
    }
}
