//! Finds the folders of skills. Other crates interpret their content.

mod beyond;
mod claude_plugins;
mod linked;
mod marketplace;
mod repository;
mod shortages;

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use scorpiox_fs::{Folder, Kind, Unresolved, Writable, resolve};

use claude_plugins::ClaudePlugins;
pub use claude_plugins::LeftOut;
pub use linked::linked;
pub use marketplace::marketplace_faults;
use repository::{skills_below, skills_of_marketplace, skills_of_plugin};
use shortages::Shortages;
pub use shortages::SkillsUnread;

/// Maximum number of skills in a folder, and of names to examine in it.
const MAX_SKILLS: usize = 1000;
const MAX_NAMES: usize = 10_000;
/// Maximum number of repositories among the skills.
const MAX_REPOSITORIES: usize = 100;

/// Maximum size of a list of required skills, in bytes, and maximum number of names in all lists.
const MAX_REQUIRED_BYTES: u64 = 16 * 1024;
const MAX_REQUIRED: usize = 32;
const REQUIRED_FILE: &str = "required_skills.txt";

/// Name of the file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Alternative name of that file.
const SKILL_FILE_IN_LOWER_CASE: &str = "skill.md";

/// Maximum length of a session ID, in bytes.
const MAX_SESSION: usize = 128;

/// Origin of a skill. Content that commands can write belongs to the workspace, even if it is reached through
/// a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The opened project; its content is untrusted.
    Workspace,
    /// The user.
    User,
    /// The setting `ADDITIONAL_SKILLS`.
    Additional,
}

/// A skill: a folder with a SKILL.md.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the folder.
    pub name: String,
    /// Path of the folder.
    pub path: PathBuf,
    /// Origin of the skill.
    pub scope: Scope,
    /// Name of its SKILL.md.
    pub file: &'static str,
    /// Folder of the Claude Code plugin that contains the skill.
    pub plugin: Option<PathBuf>,
}

/// Folders to search for skills, in order of precedence.
#[derive(Debug, Clone)]
pub struct SkillFolders {
    roots: Vec<(PathBuf, Scope)>,
    /// Folder that is examined as if it were inside a root.
    inside: Option<PathBuf>,
    /// Skills found by an earlier search.
    known: Option<Arc<[Source]>>,
    workspace: PathBuf,
    /// Home folder of the user whose Claude Code plugins are examined.
    home: Option<PathBuf>,
    /// Session ID of the client that started this program.
    session: Option<String>,
    /// Folders that commands can write at least; computed on first use.
    least: OnceLock<Writable>,
    /// Folders that commands can write under the policy, once it is loaded.
    writable: OnceLock<Writable>,
}

/// Names of required skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Required {
    /// Skills required by the user.
    pub by_person: Vec<String>,
    /// Skills required only by the workspace; only existing skills are included.
    pub by_workspace: Vec<String>,
}

impl SkillFolders {
    /// Creates the list: the user's folders, then `additional` ones, then those of the workspace. A project
    /// therefore cannot override a skill of the user.
    pub fn new(workspace: &Path, home: Option<&Path>, own_home: &Path, additional: &[PathBuf]) -> Self {
        let mut roots = vec![(own_home.join("skills"), Scope::User)];
        for name in [".claude", ".agents"] {
            roots.extend(home.map(|home| (home.join(name).join("skills"), Scope::User)));
        }
        roots.extend(additional.iter().map(|path| (path.clone(), Scope::Additional)));
        for name in [".scorpiox", ".claude", ".agents"] {
            roots.push((workspace.join(name).join("skills"), Scope::Workspace));
        }
        Self { home: home.map(Path::to_owned), ..Self::of(workspace, roots) }
    }

    /// Restricts the search to one folder. The folder may be a skill, a repository with skills, or a folder
    /// of skills. It is examined where it is, or as if it were among the user's skills.
    #[must_use]
    pub fn only(&self, folder: &Path) -> Self {
        let is_root =
            self.roots.iter().any(|(root, _)| root == folder || scorpiox_fs::without_links(root) == folder);
        let inside = (!is_root).then(|| folder.to_owned());
        Self { inside, ..Self::of(&self.workspace, vec![(folder.to_owned(), Scope::Additional)]) }
    }

    /// Sets the skills that an earlier search found, so that the folders are not searched again.
    #[must_use]
    pub fn with_sources(&self, sources: Vec<Source>) -> Self {
        Self { known: Some(sources.into()), ..self.clone() }
    }

    fn of(workspace: &Path, roots: Vec<(PathBuf, Scope)>) -> Self {
        let (least, writable) = (OnceLock::new(), OnceLock::new());
        let workspace = workspace.to_owned();
        Self { roots, inside: None, known: None, workspace, home: None, session: None, least, writable }
    }

    /// Returns the same folders, without the folders that commands can write.
    pub(crate) fn renewed(&self) -> Self {
        Self { writable: OnceLock::new(), ..self.clone() }
    }

    /// Sets the session ID that the client passed to this program.
    #[must_use]
    pub fn in_session(self, id: Option<String>) -> Self {
        let is_plain = |id: &String| {
            (1..=MAX_SESSION).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        Self { session: id.filter(is_plain), ..self }
    }

    /// Returns the values of a skill's placeholders, except for that of its own folder.
    pub fn variables(&self, source: &Source) -> Vec<(&'static str, String)> {
        let plugin =
            source.plugin.as_ref().map(|plugin| ("CLAUDE_PLUGIN_ROOT", plugin.display().to_string()));
        let session = self.session.clone().map(|id| ("CLAUDE_SESSION_ID", id));
        let project = ("CLAUDE_PROJECT_DIR", self.workspace.display().to_string());
        [Some(project), session, plugin].into_iter().flatten().collect()
    }

    /// Sets the folders that commands can write.
    pub fn set_writable(&self, writable: Writable) {
        // The first value stays, because a changed policy has skill folders of its own.
        let _ = self.writable.set(writable);
    }

    fn writable(&self) -> &Writable {
        let least = || Writable::new([self.workspace.clone()]);
        self.writable.get().unwrap_or_else(|| self.least.get_or_init(least))
    }

    /// Returns the folders in lookup order.
    pub fn roots(&self) -> impl Iterator<Item = (&Path, Scope)> {
        self.roots.iter().map(|(path, scope)| (path.as_path(), *scope))
    }

    /// Returns every folder with a SKILL.md in lookup order, sorted by name within a root. A root that is
    /// itself a skill is included.
    ///
    /// # Errors
    ///
    /// Fails if the system lacks descriptors or memory. A folder that cannot be opened for another reason is
    /// skipped.
    pub fn sources(&self) -> Result<Vec<Source>, SkillsUnread> {
        match &self.known {
            Some(known) => Ok(known.to_vec()),
            None => self.sources_of(|_| true),
        }
    }

    /// Returns the files below these folders that are named like a SKILL.md but are not skills, with the
    /// reasons.
    pub fn beyond(&self) -> Vec<(PathBuf, &'static str)> {
        let sources = self.sources().unwrap_or_default();
        let files = self.roots.iter().flat_map(|(root, _)| beyond::beyond(root, &sources));
        files.map(|file| (beyond::why(&file), file)).map(|(why, file)| (file, why)).collect()
    }

    /// Returns the skills in the user's folders, which commands cannot write.
    ///
    /// # Errors
    ///
    /// As for [`sources`](Self::sources).
    pub fn sources_outside(&self) -> Result<Vec<Source>, SkillsUnread> {
        let mut sources = self.sources_of(|scope| scope != Scope::Workspace)?;
        sources.retain(|source| source.scope != Scope::Workspace);
        Ok(sources)
    }

    fn sources_of(&self, wanted: impl Fn(Scope) -> bool) -> Result<Vec<Source>, SkillsUnread> {
        let shortages = Shortages::default();
        let of = |which: fn(Scope) -> bool| {
            let roots = self.roots.iter().filter(move |(_, scope)| which(*scope));
            let roots: Vec<_> = roots.filter(|(_, scope)| wanted(*scope)).collect();
            roots
                .into_iter()
                .flat_map(|(root, scope)| self.sources_in(root, *scope, &shortages))
                .collect::<Vec<_>>()
        };
        let mut sources = of(|scope| scope != Scope::Workspace);
        if wanted(Scope::User) {
            sources.extend(
                self.claude_plugins()
                    .enabled
                    .iter()
                    .flat_map(|plugin| self.sources_of_plugin(plugin, &shortages)),
            );
        }
        sources.extend(of(|scope| scope == Scope::Workspace));
        shortages.finish(sources)
    }

    fn sources_in(&self, root: &Path, scope: Scope, shortages: &Shortages) -> Vec<Source> {
        let Some(opened) = self.open(root, scope, shortages) else { return Vec::new() };
        if let Some(source) = self.skill_in(&opened, root) {
            return vec![source];
        }
        if self.inside.as_deref() == Some(root) {
            let found = skills_below(&opened, root);
            if !found.is_empty() {
                return found;
            }
        }
        let Some(names) = shortages.ok(opened.folder.names()) else { return Vec::new() };
        let mut folders: Vec<PathBuf> = names.flatten().take(MAX_NAMES).map(|name| root.join(name)).collect();
        folders.sort();
        let (mut found, mut below, mut repositories) = (Vec::new(), Vec::new(), 0);
        for path in &folders {
            let Some(opened) = self.open(path, scope, shortages) else { continue };
            match self.skill_in(&opened, path) {
                Some(source) => found.push(source),
                None if repositories < MAX_REPOSITORIES && !is_hidden(path) => {
                    repositories += 1;
                    below.extend(skills_below(&opened, path));
                }
                None => {}
            }
            if found.len() > MAX_SKILLS {
                break;
            }
        }
        // A root may be a repository itself. Skills listed by its marketplace may already have been found by
        // their location.
        let known: HashSet<_> = found.iter().chain(&below).map(|source| source.path.clone()).collect();
        below.extend(skills_of_marketplace(&opened, root).into_iter().filter(|it| !known.contains(&it.path)));
        found.append(&mut below);
        if found.len() > MAX_SKILLS || folders.len() == MAX_NAMES || repositories == MAX_REPOSITORIES {
            tracing::warn!("{} holds too many skills or other things; not all are looked at", root.display());
            found.truncate(MAX_SKILLS);
        }
        found
    }

    /// Returns the Claude Code plugins whose skills are not read, with the reasons.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.claude_plugins().left_out
    }

    fn claude_plugins(&self) -> ClaudePlugins {
        self.home.as_ref().map(|home| ClaudePlugins::find(home, self.writable())).unwrap_or_default()
    }

    fn sources_of_plugin(&self, plugin: &Path, shortages: &Shortages) -> Vec<Source> {
        let Some(opened) = self.open(plugin, Scope::User, shortages) else { return Vec::new() };
        skills_of_plugin(&opened, plugin)
            .into_iter()
            .map(|source| Source { plugin: Some(plugin.to_owned()), ..source })
            .collect()
    }

    fn skill_in(&self, opened: &OpenFolder<'_>, path: &Path) -> Option<Source> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let file = skill_file(&opened.folder).or_else(|| self.linked_skill_file(opened))?;
        let path = match opened.scope {
            // Skills of the workspace are opened without following links.
            Scope::Workspace => opened.real.clone(),
            Scope::User | Scope::Additional => path.to_owned(),
        };
        Some(Source { name, path, scope: opened.scope, file, plugin: None })
    }

    /// Returns the name of the SKILL.md if it is a symbolic link that may be followed.
    fn linked_skill_file(&self, opened: &OpenFolder<'_>) -> Option<&'static str> {
        let is_followed = |name: &&str| linked(&opened.real, Path::new(name), self.writable()).is_some();
        let names = [SKILL_FILE, SKILL_FILE_IN_LOWER_CASE].into_iter();
        names.filter(|_| opened.scope != Scope::Workspace).find(is_followed)
    }

    /// Opens a folder. Links in the workspace are not followed, because anybody may have created them.
    fn open<'a>(&self, path: &Path, scope: Scope, shortages: &'a Shortages) -> Option<OpenFolder<'a>> {
        if scope == Scope::Workspace {
            let (folder, real) = (shortages.ok(Folder::open(path))?, path.to_owned());
            return Some(OpenFolder { folder, scope, path: path.to_owned(), real, shortages });
        }
        let resolved = resolve(path, self.writable()).inspect_err(|unresolved| {
            if let Unresolved::Io { error, .. } = unresolved {
                shortages.note(error);
            }
        });
        let real = resolved.ok()?;
        let scope = if self.writable().covers(&real) { Scope::Workspace } else { scope };
        let folder = shortages.ok(Folder::open(&real))?;
        Some(OpenFolder { folder, scope, path: path.to_owned(), real, shortages })
    }

    /// Returns the links in the workspace's skill folders, which are not followed.
    pub fn unfollowed(&self) -> Vec<PathBuf> {
        let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let roots = self.roots.iter().filter(|(_, scope)| *scope == Scope::Workspace).map(|(root, _)| root);
        let inside = |root: &PathBuf| {
            let entries = fs::read_dir(root).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let above = |root: &PathBuf| root.parent().map(Path::to_owned);
        let all = roots.flat_map(|root| above(root).into_iter().chain([root.clone()]).chain(inside(root)));
        all.filter(is_link).collect()
    }

    /// Returns the names from the `required_skills.txt` files next to the skills, in order and without
    /// duplicates. Invalid names are dropped, because the names reach the client as instructions.
    ///
    /// # Errors
    ///
    /// As for [`sources`](Self::sources).
    pub fn required(&self) -> Result<Required, SkillsUnread> {
        let (mut required, shortages) = (Required::default(), Shortages::default());
        for (root, scope) in &self.roots {
            let Some((scope, names)) = self.required_in(root, *scope, &shortages) else { continue };
            let list = match scope {
                Scope::Workspace => &mut required.by_workspace,
                Scope::User | Scope::Additional => &mut required.by_person,
            };
            for name in names {
                if list.len() < MAX_REQUIRED && !list.contains(&name) {
                    list.push(name);
                }
            }
        }
        let Required { by_person, by_workspace } = &mut required;
        by_workspace.retain(|name| !by_person.contains(name));
        if !by_workspace.is_empty() {
            // Names that match no skill could carry arbitrary text from a project to the client.
            let known: Vec<_> = self.sources()?.into_iter().map(|source| source.name).collect();
            by_workspace.retain(|name| known.contains(name));
        }
        shortages.finish(required)
    }

    fn required_in(&self, root: &Path, scope: Scope, shortages: &Shortages) -> Option<(Scope, Vec<String>)> {
        let opened = self.open(root, scope, shortages)?;
        let file = shortages.ok(opened.folder.file(Path::new(REQUIRED_FILE)))?;
        let mut bytes = Vec::new();
        shortages.ok(file.take(MAX_REQUIRED_BYTES).read_to_end(&mut bytes))?;
        let text = String::from_utf8_lossy(&bytes);
        let names = text.lines().map(str::trim).filter(|name| is_skill_name(name));
        Some((opened.scope, names.map(str::to_owned).collect()))
    }
}

/// An open folder.
struct OpenFolder<'a> {
    folder: Folder,
    scope: Scope,
    /// Path under which it was opened.
    path: PathBuf,
    /// Real path.
    real: PathBuf,
    /// Shortages of the search.
    shortages: &'a Shortages,
}

fn is_skill_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the name of the SKILL.md in a folder.
fn skill_file(folder: &Folder) -> Option<&'static str> {
    // Looking at a name in an open folder needs no descriptor.
    let is_there = |name: &&str| matches!(folder.kind(Path::new(name)), Ok(Kind::File(_)));
    [SKILL_FILE, SKILL_FILE_IN_LOWER_CASE].into_iter().find(is_there)
}

/// Returns the path without links for skills of the workspace: relative to the real path of the opened
/// folder.
fn without_links(opened: &OpenFolder<'_>, path: PathBuf) -> PathBuf {
    if opened.scope != Scope::Workspace {
        return path;
    }
    let below = path.strip_prefix(&opened.path).map(Path::to_owned);
    below.map_or(path, |below| opened.real.join(below))
}

#[cfg(test)]
mod tests;
