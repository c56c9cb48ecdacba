//! Finding skill folders. What is read in them is the business of others.

mod beyond;
mod claude_plugins;
mod linked;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use scorpiox_paths::{Folder, Kind, Writable, resolve};

use claude_plugins::ClaudePlugins;
pub use claude_plugins::LeftOut;
pub use linked::linked;

/// Most skills of one folder, and most names that are looked at in it.
const MAX_SKILLS: usize = 1000;
const MAX_NAMES: usize = 10_000;
/// Most names that are looked at in a repository among skills, and most of such repositories.
const MAX_NAMES_BELOW: usize = 1000;
const MAX_REPOSITORIES: usize = 100;
/// Where a repository has its skills: in a folder of this name, or else directly.
const SKILLS: &str = "skills";

/// Most bytes of a list of required skills, and most names of all lists.
const MAX_REQUIRED_BYTES: u64 = 16 * 1024;
const MAX_REQUIRED: usize = 32;
const REQUIRED_FILE: &str = "required_skills.txt";

/// What a skill's folder has.
pub const SKILL_FILE: &str = "SKILL.md";
/// What some folders have instead.
const SKILL_FILE_IN_LOWER_CASE: &str = "skill.md";

/// Longest id of a session, in bytes.
const MAX_SESSION: usize = 128;

/// Who put a skill where it is. What commands can write is the workspace's, whatever led there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The opened project: content from outside.
    Workspace,
    /// The user.
    User,
    /// The setting `ADDITIONAL_SKILLS`.
    Additional,
}

/// A folder with a SKILL.md.
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder's own name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Who put it there.
    pub scope: Scope,
    /// The name of its SKILL.md.
    pub file: &'static str,
    /// The folder of Claude Code's plugin that brings it.
    pub plugin: Option<PathBuf>,
}

/// The folders that skills are looked up in, first wins.
#[derive(Debug, Clone)]
pub struct SkillFolders {
    roots: Vec<(PathBuf, Scope)>,
    /// A folder that is looked at as if it lay in a root.
    inside: Option<PathBuf>,
    /// The skills, where they were looked up before.
    known: Option<Arc<[Source]>>,
    workspace: PathBuf,
    /// Whose plugins of Claude Code's are looked at.
    home: Option<PathBuf>,
    /// The session of the client that started this program.
    session: Option<String>,
    /// Where commands write at least, once it is asked for.
    least: OnceLock<Writable>,
    /// Where they write under the policy, once that is read.
    writable: OnceLock<Writable>,
}

/// The names of required skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Required {
    /// What the person asks for.
    pub by_person: Vec<String>,
    /// What the workspace asks for beside that: skills that there are.
    pub by_workspace: Vec<String>,
}

impl SkillFolders {
    /// The folders of a user, then `additional` ones, then those of a workspace: what a project brings
    /// takes no name from what the person has.
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

    /// One folder alone, as it is where it lies, or would be among the person's skills: a skill, a repository with
    /// some, or else a folder of skills.
    #[must_use]
    pub fn only(&self, folder: &Path) -> Self {
        let is_root = self.roots.iter().any(|(root, _)| root == folder);
        let inside = (!is_root).then(|| folder.to_owned());
        Self { inside, ..Self::of(&self.workspace, vec![(folder.to_owned(), Scope::Additional)]) }
    }

    /// These folders with the skills that were found in them, which are not looked up again.
    #[must_use]
    pub fn with_sources(&self, sources: Vec<Source>) -> Self {
        Self { known: Some(sources.into()), ..self.clone() }
    }

    fn of(workspace: &Path, roots: Vec<(PathBuf, Scope)>) -> Self {
        let (least, writable) = (OnceLock::new(), OnceLock::new());
        let workspace = workspace.to_owned();
        Self { roots, inside: None, known: None, workspace, home: None, session: None, least, writable }
    }

    /// With the id of the session that the client is in, as it told this program.
    #[must_use]
    pub fn in_session(self, id: Option<String>) -> Self {
        let is_plain = |id: &String| {
            (1..=MAX_SESSION).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        Self { session: id.filter(is_plain), ..self }
    }

    /// What placeholders in a skill stand for, beside its own folder.
    pub fn variables(&self, source: &Source) -> Vec<(&'static str, String)> {
        let plugin =
            source.plugin.as_ref().map(|plugin| ("CLAUDE_PLUGIN_ROOT", plugin.display().to_string()));
        let session = self.session.clone().map(|id| ("CLAUDE_SESSION_ID", id));
        let project = ("CLAUDE_PROJECT_DIR", self.workspace.display().to_string());
        [Some(project), session, plugin].into_iter().flatten().collect()
    }

    /// Where commands can write, from now on.
    pub fn set_writable(&self, writable: Writable) {
        // What was said first holds: a policy is read once.
        let _ = self.writable.set(writable);
    }

    fn writable(&self) -> &Writable {
        let least = || Writable::new([self.workspace.clone()]);
        self.writable.get().unwrap_or_else(|| self.least.get_or_init(least))
    }

    /// The folders in lookup order.
    pub fn roots(&self) -> impl Iterator<Item = (&Path, Scope)> {
        self.roots.iter().map(|(path, scope)| (path.as_path(), *scope))
    }

    /// Every folder with a SKILL.md, in lookup order, by name within a root. A root that
    /// is itself a skill counts as one.
    pub fn sources(&self) -> Vec<Source> {
        match &self.known {
            Some(known) => known.to_vec(),
            None => self.sources_of(|_| true),
        }
    }

    /// Files below these folders that are named like a SKILL.md and are none, each with the reason.
    pub fn beyond(&self) -> Vec<(PathBuf, &'static str)> {
        let sources = self.sources();
        let files = self.roots.iter().flat_map(|(root, _)| beyond::beyond(root, &sources));
        files.map(|file| (beyond::why(&file), file)).map(|(why, file)| (file, why)).collect()
    }

    /// The same of the person's folders, which commands cannot write.
    pub fn sources_outside(&self) -> Vec<Source> {
        let mut sources = self.sources_of(|scope| scope != Scope::Workspace);
        sources.retain(|source| source.scope != Scope::Workspace);
        sources
    }

    fn sources_of(&self, wanted: impl Fn(Scope) -> bool) -> Vec<Source> {
        let of = |which: fn(Scope) -> bool| {
            let roots = self.roots.iter().filter(move |(_, scope)| which(*scope));
            let roots: Vec<_> = roots.filter(|(_, scope)| wanted(*scope)).collect();
            roots.into_iter().flat_map(|(root, scope)| self.sources_in(root, *scope)).collect::<Vec<_>>()
        };
        let mut sources = of(|scope| scope != Scope::Workspace);
        if wanted(Scope::User) {
            sources.extend(
                self.claude_plugins().enabled.iter().flat_map(|plugin| self.sources_of_plugin(plugin)),
            );
        }
        sources.extend(of(|scope| scope == Scope::Workspace));
        sources
    }

    fn sources_in(&self, root: &Path, scope: Scope) -> Vec<Source> {
        let Some(opened) = self.open(root, scope) else { return Vec::new() };
        if let Some(source) = self.skill_in(&opened, root) {
            return vec![source];
        }
        if self.inside.as_deref() == Some(root) {
            let found = skills_below(&opened, root);
            if !found.is_empty() {
                return found;
            }
        }
        let Ok(names) = opened.folder.names() else { return Vec::new() };
        let mut folders: Vec<PathBuf> = names.flatten().take(MAX_NAMES).map(|name| root.join(name)).collect();
        folders.sort();
        let (mut found, mut below, mut repositories) = (Vec::new(), Vec::new(), 0);
        for path in &folders {
            let Some(opened) = self.open(path, scope) else { continue };
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
        found.append(&mut below);
        if found.len() > MAX_SKILLS || folders.len() == MAX_NAMES || repositories == MAX_REPOSITORIES {
            tracing::warn!("{} holds too many skills or other things; not all are looked at", root.display());
            found.truncate(MAX_SKILLS);
        }
        found
    }

    /// Plugins of Claude Code's that are there and whose skills are not read, and why.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.claude_plugins().left_out
    }

    fn claude_plugins(&self) -> ClaudePlugins {
        self.home.as_ref().map(|home| ClaudePlugins::find(home, self.writable())).unwrap_or_default()
    }

    fn sources_of_plugin(&self, plugin: &Path) -> Vec<Source> {
        let Some(opened) = self.open(plugin, Scope::User) else { return Vec::new() };
        let Ok(folder) = opened.folder.folder(Path::new(SKILLS)) else { return Vec::new() };
        let found = skills_among(&folder, &opened, &plugin.join(SKILLS));
        found.into_iter().map(|source| Source { plugin: Some(plugin.to_owned()), ..source }).collect()
    }

    fn skill_in(&self, opened: &OpenFolder, path: &Path) -> Option<Source> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let file = skill_file(&opened.folder).or_else(|| self.linked_skill_file(opened))?;
        let path = match opened.scope {
            // What is the workspace's is opened through no link.
            Scope::Workspace => opened.real.clone(),
            Scope::User | Scope::Additional => path.to_owned(),
        };
        Some(Source { name, path, scope: opened.scope, file, plugin: None })
    }

    /// The name of the SKILL.md that is a link, where it is followed.
    fn linked_skill_file(&self, opened: &OpenFolder) -> Option<&'static str> {
        let is_followed = |name: &&str| linked(&opened.real, Path::new(name), self.writable()).is_some();
        let names = [SKILL_FILE, SKILL_FILE_IN_LOWER_CASE].into_iter();
        names.filter(|_| opened.scope != Scope::Workspace).find(is_followed)
    }

    /// A folder of a scope: through no link in the workspace, where anybody may have made it.
    fn open(&self, path: &Path, scope: Scope) -> Option<OpenFolder> {
        if scope == Scope::Workspace {
            let (folder, real) = (Folder::open(path).ok()?, path.to_owned());
            return Some(OpenFolder { folder, scope, path: path.to_owned(), real });
        }
        let real = resolve(path, self.writable()).ok()?;
        let scope = if self.writable().covers(&real) { Scope::Workspace } else { scope };
        Some(OpenFolder { folder: Folder::open(&real).ok()?, scope, path: path.to_owned(), real })
    }

    /// Links in the workspace's folders of skills, which are not followed.
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

    /// Names from `required_skills.txt` beside the skills, in order, each once. What cannot
    /// be the name of a skill is left out: the names reach the client as instructions.
    pub fn required(&self) -> Required {
        let mut required = Required::default();
        for (root, scope) in &self.roots {
            let Some((scope, names)) = self.required_in(root, *scope) else { continue };
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
            // A project could otherwise say anything by names that nothing has.
            let known: Vec<_> = self.sources().into_iter().map(|source| source.name).collect();
            by_workspace.retain(|name| known.contains(name));
        }
        required
    }

    fn required_in(&self, root: &Path, scope: Scope) -> Option<(Scope, Vec<String>)> {
        let opened = self.open(root, scope)?;
        let file = opened.folder.file(Path::new(REQUIRED_FILE)).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_REQUIRED_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let names = text.lines().map(str::trim).filter(|name| is_skill_name(name));
        Some((opened.scope, names.map(str::to_owned).collect()))
    }
}

/// A folder that is held open.
struct OpenFolder {
    folder: Folder,
    scope: Scope,
    /// How it is named.
    path: PathBuf,
    /// Where it is.
    real: PathBuf,
}

fn is_skill_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The name of the SKILL.md in a folder.
fn skill_file(folder: &Folder) -> Option<&'static str> {
    let is_there = |name: &&str| matches!(folder.kind(Path::new(name)), Ok(Kind::File(_)));
    [SKILL_FILE, SKILL_FILE_IN_LOWER_CASE].into_iter().find(is_there)
}

/// The skills of a repository that was cloned into a folder of skills. Whoever wrote it may have made links
/// there, which are not followed.
fn skills_below(opened: &OpenFolder, path: &Path) -> Vec<Source> {
    let inside = opened.folder.folder(Path::new(SKILLS)).ok();
    let found = inside.map(|folder| skills_among(&folder, opened, &path.join(SKILLS))).unwrap_or_default();
    if found.is_empty() { skills_among(&opened.folder, opened, path) } else { found }
}

/// The skills directly in a folder at `path`, which lies in the opened one or is it.
fn skills_among(folder: &Folder, opened: &OpenFolder, path: &Path) -> Vec<Source> {
    let Ok(names) = folder.names() else { return Vec::new() };
    let mut names: Vec<OsString> = names.flatten().take(MAX_NAMES_BELOW).collect();
    names.sort();
    let found = names.into_iter().filter_map(|name| {
        let path = path.join(&name);
        let inside = folder.folder(Path::new(&name)).ok().filter(|_| !is_hidden(&path))?;
        let file = skill_file(&inside)?;
        let name = name.to_string_lossy().into_owned();
        Some(Source { name, path: without_links(opened, path), scope: opened.scope, file, plugin: None })
    });
    found.collect()
}

/// What is the workspace's is opened through no link: by where the opened folder is.
fn without_links(opened: &OpenFolder, path: PathBuf) -> PathBuf {
    if opened.scope != Scope::Workspace {
        return path;
    }
    let below = path.strip_prefix(&opened.path).map(Path::to_owned);
    below.map_or(path, |below| opened.real.join(below))
}

#[cfg(test)]
mod tests;
