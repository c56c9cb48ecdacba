//! The folders of a call, and what in them stays closed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use scorpiox_audit::{APPROVAL, BUILT_IN, Uses};
use scorpiox_paths::Folder;
use scorpiox_policy::{FileDenial, Places};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::filesystem::FsPerms;

use super::WasiSource;
use crate::approved::FolderPath;
use crate::granted::decide;
use crate::rules;
use scorpiox_shell::{Area, Shell, Special};

/// Most files in a folder that is moved.
const MAX_MOVED: usize = 20_000;

/// Decides about places in the folders of a call.
#[derive(Default)]
pub(super) struct Guard {
    plugin: String,
    uses: Uses,
    /// The folders, resolved, and whether they may be written.
    roots: Vec<(PathBuf, bool)>,
    rules: Option<(Arc<Shell>, Places)>,
    /// A plan is active, so that no folder may be written.
    is_planning: bool,
    /// What may not be changed in them, looked for before the first change of a call.
    unwritable: OnceLock<Unwritable>,
}

/// Opens what was granted and is there.
pub(super) fn open(source: &WasiSource, builder: &mut WasiCtxBuilder) -> Guard {
    let mut guard = Guard {
        plugin: source.name.clone(),
        uses: source.uses.clone(),
        is_planning: source.read_only,
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
    for folder in &source.approved.folders {
        let (path, held) = match folder.path.open(&site.workspace) {
            Ok(opened) => opened,
            Err(error) => {
                let folder = &folder.path;
                tracing::warn!(
                    plugin = source.name,
                    "it has no folder {folder:?}, which was granted: {error}"
                );
                continue;
            }
        };
        if let Err(denial) = decide(operator, &places, &[(path.clone(), false)], &path, false) {
            tracing::warn!(plugin = source.name, "refused: {denial}");
            continue;
        }
        let write = folder.write && !source.read_only;
        let perms = if write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let shown = path.display().to_string();
        // The folder that was reached, whatever takes its place meanwhile.
        let place = place(&held, &path);
        let mut opened = builder.preopened_dir(&place, &shown, perms).map(drop);
        if opened.is_ok() && folder.path == FolderPath::Workspace {
            // Paths without a beginning are of the workspace.
            opened = builder.initial_cwd(&shown).preopened_dir(&place, ".", perms).map(drop);
        }
        match opened {
            Ok(()) => guard.roots.push((path, write)),
            Err(error) => tracing::warn!(plugin = source.name, "{shown} cannot be opened: {error}"),
        }
    }
    guard.rules = Some((Arc::clone(shell), places));
    guard
}

/// By what path the builder opens a folder that is held.
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

impl Guard {
    /// Whether something may be done at a path, which is absolute and passes through no link. Says on
    /// the operator's log why not.
    pub(super) fn allows(&self, path: &Path, write: bool) -> bool {
        let what = if write { "write" } else { "read" };
        match self.check(path, write) {
            Ok(root) => {
                self.uses.allowed("files", format_args!("{what} {}", root.display()), APPROVAL);
                true
            }
            Err(denial) => {
                let folder = path.parent().unwrap_or(path);
                let what = format_args!("{what} {}", folder.display());
                self.uses.denied("files", what, &denial.rule, self.rule(path, write));
                tracing::warn!(plugin = self.plugin, "refused: {denial}");
                false
            }
        }
    }

    /// Notes that something below a folder was to be changed, which is there to be read.
    pub(super) fn is_to_read(&self, folder: &Path) {
        let (why, rule) = if self.is_planning {
            ("a plan is active, and nothing is changed meanwhile", BUILT_IN)
        } else {
            ("the folder was granted to be read", APPROVAL)
        };
        self.uses.denied("files", format_args!("write {}", folder.display()), why, rule);
        tracing::warn!(plugin = self.plugin, "refused: a change below {}: {why}", folder.display());
    }

    /// Notes a path that leads out of the folders.
    pub(super) fn leads_out(&self, write: bool) {
        let what = if write { "write" } else { "read" };
        self.uses.denied("files", what, "the path leads out of the folders that were granted", APPROVAL);
        tracing::warn!(plugin = self.plugin, "refused: a path leads out of the folders that were granted");
    }

    /// The rule that closes a path.
    fn rule(&self, path: &Path, write: bool) -> String {
        let granted: Vec<_> = self.roots.iter().map(|(root, _)| root.clone()).collect();
        let is_granted = |(root, writable): &(PathBuf, bool)| path.starts_with(root) && (*writable || !write);
        if !self.roots.iter().any(is_granted) {
            return APPROVAL.to_owned();
        }
        let policy =
            self.rules.as_ref().and_then(|(shell, places)| Some((shell.operator().policy().ok()?, places)));
        // What the policy does not close is closed by the program itself.
        policy
            .map(|(policy, places)| rules::of_file(&policy.files, path, &granted, places))
            .filter(|rule| rule != APPROVAL)
            .unwrap_or_else(|| BUILT_IN.to_owned())
    }

    fn check(&self, path: &Path, write: bool) -> Result<PathBuf, FileDenial> {
        let (shell, places) = self
            .rules
            .as_ref()
            .ok_or_else(|| FileDenial::new(path, "in no folder: none was granted".to_owned()))?;
        let root = decide(shell.operator(), places, &self.roots, path, write)?;
        if write {
            self.unwritable.get_or_init(|| Unwritable::look(shell, &self.roots)).check(path)?;
        }
        Ok(root)
    }

    /// Whether everything below a folder may be moved elsewhere with it, where other rules hold.
    pub(super) fn allows_all_below(&self, folder: &Path) -> bool {
        let mut left = MAX_MOVED;
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                left -= 1;
                if left == 0 || self.check(&entry.path(), true).is_err() {
                    return false;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                }
            }
        }
        true
    }
}

/// What may not be changed in folders that may be written.
pub struct Unwritable(Result<Special, String>);

impl Unwritable {
    /// Looks through them.
    pub fn look(shell: &Shell, roots: &[(PathBuf, bool)]) -> Self {
        let written = roots.iter().filter(|(_, write)| *write);
        let areas: Vec<_> = written.map(|(path, write)| Area { path: path.clone(), write: *write }).collect();
        Self(shell.guard(&areas).map_err(|error| error.to_string()))
    }

    /// Whether a path, absolute and without links, may be changed.
    pub fn check(&self, path: &Path) -> Result<(), FileDenial> {
        let refused = |why: String| Err(FileDenial::new(path, format!("not written: {why}")));
        match self.0.as_ref().map(|special| special.closes(path, true)) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => refused(why.to_string()),
            Err(error) => refused(error.clone()),
        }
    }
}
