//! Reads the tiers in order.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use scorpiox_fs::{open_file, others_can_change};

use crate::settings::cascade::{Context, Slot, Trust, Values};
use crate::settings::key::{Key, Keys, TOOL_PREFIX};
use crate::settings::parse::shorten;
use crate::settings::problem::{Origin, Problem, ProblemKind};
use crate::settings::{Assignment, FILE_NAME, Locations, PROFILE_FOLDER, Settings, parse};

/// Maximum size of a settings file, in bytes. Typical files have a few hundred bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Maximum number of problems recorded for a file.
pub(crate) const MAX_PROBLEMS_PER_FILE: usize = 20;

/// Folder of a tier; later tiers win.
struct Folder {
    path: PathBuf,
    trust: Trust,
}

/// Kind of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Settings,
    Profile,
}

struct Loader<'a> {
    workspace: &'a Path,
    /// Folders that commands could write in earlier sessions.
    worked_on: &'a [PathBuf],
    context: Context<'a>,
    values: Values,
    problems: Vec<Problem>,
}

impl Settings {
    /// Loads the cascade.
    ///
    /// `environment` is the complete environment, as returned by `std::env::vars_os`; empty variables count
    /// as unset. `known_tools` are the names accepted in `TOOL_<NAME>`.
    ///
    /// Costs a few `stat` calls, and an `open` for each existing file. Missing files are the normal case.
    pub fn load<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        locations: &Locations,
        environment: impl IntoIterator<Item = (K, V)>,
        known_tools: &[&str],
    ) -> Self {
        let mut loader = Loader {
            workspace: &locations.workspace,
            worked_on: &locations.worked_on,
            context: Context { keys: Keys { tools: known_tools }, home: locations.home.as_deref() },
            values: Values::defaults(known_tools),
            problems: Vec::new(),
        };
        let folders = folders(locations);
        for folder in &folders {
            loader.read(&folder.path.join(FILE_NAME), folder.trust, Kind::Settings);
        }
        // The environment selects the profile, but its other values have precedence over the profile.
        let variables = loader.known_variables(environment);
        let (profile, others): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|(key, _)| *key == Key::ActiveProfile);
        loader.take_variables(&profile);
        loader.read_profiles(&folders);
        loader.take_variables(&others);
        Self { values: loader.values, problems: loader.problems }
    }
}

/// Folders of a workspace that commands cannot change under any policy.
const PROTECTED: [&str; 2] = [".claude", ".scorpiox"];

/// Returns the folders of the tiers without duplicates, because a workspace can be the home folder.
fn folders(locations: &Locations) -> Vec<Folder> {
    let Locations { binary_dir, home, workspace, .. } = locations;
    // If the program was built in the workspace, commands can write the files next to it. These files are not
    // trusted as the user's.
    let (built_here, beside) = match binary_dir.clone() {
        Some(folder) if folder.starts_with(workspace) => (Some(folder), None),
        folder => (None, folder),
    };
    let user = beside.into_iter().chain(home.as_ref().map(|home| home.join(".claude")));
    let project = [workspace.join(".claude"), workspace.join(".scorpiox")];
    let mut folders: Vec<Folder> = Vec::with_capacity(4);
    let project = built_here.into_iter().chain(project);
    for (path, trust) in user.map(|p| (p, Trust::User)).chain(project.map(|p| (p, Trust::Workspace))) {
        if !folders.iter().any(|known| known.path == path) {
            folders.push(Folder { path, trust });
        }
    }
    folders
}

impl Loader<'_> {
    /// Reads the user's profile first, then the workspace's. A workspace thus cannot undo the user's profile
    /// by selecting or containing another one.
    fn read_profiles(&mut self, folders: &[Folder]) {
        let users = self.values.users_profile.value.clone();
        if let Some(name) = &users {
            let found = self.read_profile(name, folders, Trust::User, Trust::User);
            let refined = self.read_profile(name, folders, Trust::Workspace, Trust::Workspace);
            if !found && !refined {
                self.no_such_profile(name, folders, self.values.users_profile.origin.clone());
            }
        }
        let Some(Slot { value: Some(name), origin }) = &self.values.workspace_profile else { return };
        if users.as_ref() != Some(name) {
            let (name, origin) = (name.clone(), origin.clone());
            let found = self.read_profile(&name, folders, Trust::Workspace, Trust::Workspace)
                || self.read_profile(&name, folders, Trust::User, Trust::Workspace);
            if !found {
                self.no_such_profile(&name, folders, origin);
            }
        }
    }

    /// Reads a profile from the highest-ranked folder of `owner` that contains it, with the trust `trust`.
    /// Returns `true` if it exists.
    fn read_profile(&mut self, name: &str, folders: &[Folder], owner: Trust, trust: Trust) -> bool {
        let mut highest_first = folders.iter().rev().filter(|folder| folder.trust == owner);
        highest_first.any(|folder| self.read(&profile_path(folder, name), trust, Kind::Profile))
    }

    fn no_such_profile(&mut self, name: &str, folders: &[Folder], origin: Origin) {
        let looked_for = folders.iter().rev().map(|folder| profile_path(folder, name)).collect();
        self.report(origin, ProblemKind::NoSuchProfile { name: name.to_owned(), looked_for });
    }

    /// Applies a file. Returns `true` if it exists.
    fn read(&mut self, path: &Path, trust: Trust, kind: Kind) -> bool {
        // A file that commands can write is only trusted as the workspace's, wherever its name is. Commands
        // cannot write the workspace's own settings folders; the workspace may be the home folder.
        let is_writable = |real: PathBuf| {
            let all = self.worked_on.iter().map(PathBuf::as_path).chain([self.workspace]);
            let mut inside = all.filter_map(|folder| real.strip_prefix(folder).ok());
            inside.any(|inside| {
                let first = inside.components().next();
                first.is_none_or(|first| !PROTECTED.contains(&&*first.as_os_str().to_string_lossy()))
            })
        };
        let is_writable = trust == Trust::User && dunce::canonicalize(path).is_ok_and(is_writable);
        let trust = if is_writable { Trust::Workspace } else { trust };
        let before = self.problems.len();
        let the_file = || Origin::File { path: path.to_owned(), line: None };
        let workspaces_own = trust == Trust::Workspace && path.starts_with(self.workspace);
        match read_file(path, workspaces_own.then_some(self.workspace)) {
            Ok(None) => return false,
            Ok(Some(bytes)) => self.take_lines(&bytes, path, trust, kind),
            Err(kind) => self.report(the_file(), kind),
        }
        let more = (self.problems.len() - before).saturating_sub(MAX_PROBLEMS_PER_FILE);
        if more > 0 {
            self.problems.truncate(before + MAX_PROBLEMS_PER_FILE);
            self.report(the_file(), ProblemKind::More(more));
        }
        true
    }

    fn take_lines(&mut self, bytes: &[u8], path: &Path, trust: Trust, kind: Kind) {
        for parsed in parse(bytes) {
            let at = |line| Origin::File { path: path.to_owned(), line: Some(line) };
            match parsed {
                Err(bad) => self.report(at(bad.line), ProblemKind::BadLine(bad)),
                Ok(Assignment { line, key, value }) => match self.context.keys.find(key) {
                    None => self.unknown_key(at(line), key),
                    Some(Key::ActiveProfile) if kind == Kind::Profile => {
                        self.report(at(line), ProblemKind::ProfileInProfile);
                    }
                    Some(key) => self.assign(key, value, at(line), trust),
                },
            }
        }
    }

    /// Returns the environment variables that are settings.
    fn known_variables<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        environment: impl IntoIterator<Item = (K, V)>,
    ) -> Vec<(Key, String)> {
        let mut known = Vec::new();
        for (name, value) in environment {
            let Some(name) = name.as_ref().to_str() else { continue };
            match (self.context.keys.find(name), value.as_ref().to_str()) {
                (_, Some("")) => {}
                (Some(key), Some(value)) => known.push((key, value.trim().to_owned())),
                (Some(_), None) => {
                    self.report(Origin::Environment, ProblemKind::NotUtf8 { key: name.to_owned() });
                }
                (None, _) if name.starts_with(TOOL_PREFIX) => self.unknown_key(Origin::Environment, name),
                (None, _) => {}
            }
        }
        known
    }

    fn take_variables(&mut self, variables: &[(Key, String)]) {
        for (key, value) in variables {
            self.assign(*key, value, Origin::Environment, Trust::User);
        }
    }

    fn assign(&mut self, key: Key, value: &str, origin: Origin, trust: Trust) {
        if let Err(kind) = self.values.set(key, value, &origin, trust, self.context) {
            self.report(origin, kind);
        }
    }

    fn unknown_key(&mut self, origin: Origin, key: &str) {
        let nearest = self.context.keys.nearest(key);
        self.report(origin, ProblemKind::UnknownKey { key: shorten(key), nearest });
    }

    fn report(&mut self, origin: Origin, kind: ProblemKind) {
        self.problems.push(Problem { origin, kind });
    }
}

fn profile_path(folder: &Folder, name: &str) -> PathBuf {
    folder.path.join(PROFILE_FOLDER).join(format!("{name}.txt"))
}

/// Reads a file; `None` if it does not exist. With `within`, the resolved path has to be in that folder.
/// Otherwise a repository could cause a foreign file to be read, and quoted in problems.
fn read_file(path: &Path, within: Option<&Path>) -> Result<Option<Vec<u8>>, ProblemKind> {
    let metadata = match fs::metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        other => other.map_err(ProblemKind::Unreadable)?,
    };
    // Opening a pipe would block until it has a writer.
    if !metadata.is_file() {
        return Err(ProblemKind::NotAFile);
    }
    let target = fs::canonicalize(path).map_err(ProblemKind::Unreadable)?;
    if let Some(root) = within {
        stays_within(&target, root)?;
    }
    let mut bytes = Vec::new();
    // If a command replaces the file with a link or a pipe meanwhile, the open neither follows nor blocks.
    let file = open_file(&target).map_err(ProblemKind::Unreadable)?;
    if within.is_none()
        && let Some(why) = others_can_change(&file).map_err(ProblemKind::Unreadable)?
    {
        return Err(ProblemKind::Foreign(why));
    }
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(ProblemKind::Unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ProblemKind::TooLarge(MAX_FILE_BYTES));
    }
    Ok(Some(bytes))
}

fn stays_within(target: &Path, root: &Path) -> Result<(), ProblemKind> {
    let root = fs::canonicalize(root).map_err(ProblemKind::Unreadable)?;
    if target.starts_with(root) { Ok(()) } else { Err(ProblemKind::OutsideWorkspace(target.to_owned())) }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
