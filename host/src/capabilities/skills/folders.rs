//! Finding skill folders. What is read in them goes through [`Reading`].

use std::cell::OnceCell;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use scorpiox_paths::{Folder, Kind, Writable, resolve};

use super::reading::Reading;

/// Most skills that are looked at, over all folders.
const MAX_SKILLS: usize = 1000;

/// Most bytes of a list of required skills, and most names of all lists.
const MAX_REQUIRED_BYTES: u64 = 16 * 1024;
const MAX_REQUIRED: usize = 32;
const REQUIRED_FILE: &str = "required_skills.txt";

pub(super) const SKILL_FILE: &str = "SKILL.md";

/// Who put a skill where it is.
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
}

/// The folders that skills are looked up in, first wins.
#[derive(Debug, Clone)]
pub struct SkillFolders {
    roots: Vec<(PathBuf, Scope)>,
    workspace: PathBuf,
    /// Where commands write at least, once it is asked for; [`Reading`] knows the rest.
    writable: OnceLock<Writable>,
}

impl SkillFolders {
    /// The folders of a workspace and a user, then `additional` ones.
    pub fn new(workspace: &Path, home: Option<&Path>, own_home: &Path, additional: &[PathBuf]) -> Self {
        let mut roots = Vec::new();
        for name in [".scorpiox", ".claude", ".agents"] {
            roots.push((workspace.join(name).join("skills"), Scope::Workspace));
        }
        roots.push((own_home.join("skills"), Scope::User));
        for name in [".claude", ".agents"] {
            roots.extend(home.map(|home| (home.join(name).join("skills"), Scope::User)));
        }
        roots.extend(additional.iter().map(|path| (path.clone(), Scope::Additional)));
        Self { roots, workspace: workspace.to_owned(), writable: OnceLock::new() }
    }

    /// The folders in lookup order.
    pub fn roots(&self) -> impl Iterator<Item = (&Path, Scope)> {
        self.roots.iter().map(|(path, scope)| (path.as_path(), *scope))
    }

    /// Every folder with a SKILL.md, in lookup order, by name within a root. A root that
    /// is itself a skill counts as one.
    pub fn sources(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        for (root, scope) in &self.roots {
            let Some(opened) = self.open(root, *scope) else { continue };
            if let Some(source) = skill_in(&opened, root, *scope) {
                sources.push(source);
                continue;
            }
            let Ok(names) = opened.names() else { continue };
            let mut folders: Vec<PathBuf> = names.flatten().map(|name| root.join(name)).collect();
            folders.sort();
            let found = folders.iter().filter_map(|path| skill_in(&self.open(path, *scope)?, path, *scope));
            sources.extend(found);
            if sources.len() >= MAX_SKILLS {
                tracing::warn!("more than {MAX_SKILLS} skills; the rest is ignored");
                sources.truncate(MAX_SKILLS);
                break;
            }
        }
        sources
    }

    /// A folder of a scope: through no link in the workspace, where anybody may have made it.
    fn open(&self, path: &Path, scope: Scope) -> Option<Folder> {
        match scope {
            Scope::Workspace => Folder::open(path).ok(),
            Scope::User | Scope::Additional => {
                let writable = self.writable.get_or_init(|| Writable::new([self.workspace.clone()]));
                Folder::open(&resolve(path, writable).ok()?).ok()
            }
        }
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
    pub fn required(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (root, scope) in &self.roots {
            let mut bytes = Vec::new();
            let list = self.open(root, *scope).and_then(|root| root.file(Path::new(REQUIRED_FILE)).ok());
            let Some(file) = list else { continue };
            if file.take(MAX_REQUIRED_BYTES).read_to_end(&mut bytes).is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&bytes);
            for name in text.lines().map(str::trim).filter(|name| is_skill_name(name)) {
                if names.len() < MAX_REQUIRED && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

fn is_skill_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn skill_in(folder: &Folder, path: &Path, scope: Scope) -> Option<Source> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_skill = matches!(folder.kind(Path::new(SKILL_FILE)), Ok(Kind::File(_)));
    is_skill.then(|| Source { name, path: path.to_owned(), scope })
}

impl Source {
    /// Changes when the skill's SKILL.md changes.
    pub fn fingerprint(&self) -> (PathBuf, u64, Option<SystemTime>) {
        let meta = fs::symlink_metadata(self.path.join(SKILL_FILE)).ok();
        let size = meta.as_ref().map_or(0, fs::Metadata::len);
        (self.path.clone(), size, meta.and_then(|meta| meta.modified().ok()))
    }
}

/// The skill folders as one call sees them: looked up once, at the first use.
#[derive(Debug)]
pub struct SkillView {
    folders: Arc<SkillFolders>,
    /// How their files are read.
    pub(super) reading: Reading,
    sources: OnceCell<Vec<Source>>,
    invoked: Option<Invoked>,
}

/// A skill that a call gave.
#[derive(Debug, Clone)]
pub struct Invoked {
    /// Which.
    pub source: Source,
    /// What it was called with.
    pub arguments: String,
    /// The same, as a shell takes it apart.
    pub words: Vec<String>,
}

impl SkillView {
    /// A view of `folders`.
    pub fn new(folders: Arc<SkillFolders>, reading: Reading) -> Self {
        Self { folders, reading, sources: OnceCell::new(), invoked: None }
    }

    /// See [`SkillFolders::sources`].
    pub fn sources(&self) -> &[Source] {
        self.sources.get_or_init(|| self.folders.sources())
    }

    /// The source at `id` in [`sources`](Self::sources).
    pub fn source(&self, id: u32) -> Option<&Source> {
        self.sources().get(id as usize)
    }

    /// See [`SkillFolders::required`].
    pub fn required(&self) -> Vec<String> {
        self.folders.required()
    }

    /// Notes which skill the call gives.
    pub(super) fn set_invoked(&mut self, id: u32, arguments: String, words: Vec<String>) {
        self.invoked = self.source(id).cloned().map(|source| Invoked { source, arguments, words });
    }

    /// The skill that the call gave, if it did.
    pub fn invoked(&self) -> Option<&Invoked> {
        self.invoked.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(root: &Path) -> SkillFolders {
        SkillFolders::new(
            &root.join("ws"),
            Some(&root.join("home")),
            &root.join("home/.scorpiox"),
            &[root.join("more")],
        )
    }

    fn skill(folder: &Path) {
        fs::create_dir_all(folder).expect("folder");
        fs::write(folder.join(SKILL_FILE), "---\nname: x\n---\n").expect("file");
    }

    #[test]
    fn skills_are_found_in_lookup_order() {
        let root = tempfile::tempdir().expect("tempdir");
        for path in [
            "more/z",
            "home/.agents/skills/b",
            "home/.scorpiox/skills/a",
            "ws/.claude/skills/d",
            "ws/.scorpiox/skills/c",
        ] {
            skill(&root.path().join(path));
        }
        fs::create_dir_all(root.path().join("more/no-skill")).expect("folder");
        let found: Vec<_> = folders(root.path()).sources().into_iter().map(|s| s.name).collect();
        assert_eq!(found, ["c", "d", "a", "b", "z"]);
    }

    #[test]
    fn required_names_are_collected_once() {
        let root = tempfile::tempdir().expect("tempdir");
        for (folder, text) in
            [("ws/.scorpiox/skills", "# our rules\ntdd\n\nreview\n"), ("home/.claude/skills", "tdd\nplan")]
        {
            fs::create_dir_all(root.path().join(folder)).expect("folder");
            fs::write(root.path().join(folder).join("required_skills.txt"), text).expect("file");
        }
        assert_eq!(folders(root.path()).required(), ["tdd", "review", "plan"]);
        #[cfg(unix)]
        {
            let list = root.path().join("ws/.scorpiox/skills/required_skills.txt");
            fs::remove_file(&list).expect("file");
            fs::write(root.path().join("secret"), "secret").expect("file");
            std::os::unix::fs::symlink(root.path().join("secret"), &list).expect("link");
            assert_eq!(folders(root.path()).required(), ["tdd", "plan"], "links lead nowhere");
        }
    }
}
