//! Finding skill folders. What is read in them is the business of others.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use scorpiox_paths::{Folder, Kind, Writable, resolve};

/// Most skills of one folder, and most names that are looked at in it.
const MAX_SKILLS: usize = 1000;
const MAX_NAMES: usize = 10_000;

/// Most bytes of a list of required skills, and most names of all lists.
const MAX_REQUIRED_BYTES: u64 = 16 * 1024;
const MAX_REQUIRED: usize = 32;
const REQUIRED_FILE: &str = "required_skills.txt";

/// What a skill's folder has.
pub const SKILL_FILE: &str = "SKILL.md";

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
}

/// The folders that skills are looked up in, first wins.
#[derive(Debug, Clone)]
pub struct SkillFolders {
    roots: Vec<(PathBuf, Scope)>,
    workspace: PathBuf,
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
        let (least, writable) = (OnceLock::new(), OnceLock::new());
        Self { roots, workspace: workspace.to_owned(), least, writable }
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
        self.sources_of(|_| true)
    }

    /// The same of the person's folders, which commands cannot write.
    pub fn sources_outside(&self) -> Vec<Source> {
        let mut sources = self.sources_of(|scope| scope != Scope::Workspace);
        sources.retain(|source| source.scope != Scope::Workspace);
        sources
    }

    fn sources_of(&self, wanted: impl Fn(Scope) -> bool) -> Vec<Source> {
        let roots = self.roots.iter().filter(|(_, scope)| wanted(*scope));
        roots.flat_map(|(root, scope)| self.sources_in(root, *scope)).collect()
    }

    fn sources_in(&self, root: &Path, scope: Scope) -> Vec<Source> {
        let Some(opened) = self.open(root, scope) else { return Vec::new() };
        if let Some(source) = skill_in(&opened, root) {
            return vec![source];
        }
        let Ok(names) = opened.folder.names() else { return Vec::new() };
        let mut folders: Vec<PathBuf> = names.flatten().take(MAX_NAMES).map(|name| root.join(name)).collect();
        folders.sort();
        let found = folders.iter().filter_map(|path| skill_in(&self.open(path, scope)?, path));
        let mut found: Vec<_> = found.take(MAX_SKILLS + 1).collect();
        if found.len() > MAX_SKILLS || folders.len() == MAX_NAMES {
            tracing::warn!("{} holds too many skills or other things; not all are looked at", root.display());
            found.truncate(MAX_SKILLS);
        }
        found
    }

    /// A folder of a scope: through no link in the workspace, where anybody may have made it.
    fn open(&self, path: &Path, scope: Scope) -> Option<OpenFolder> {
        if scope == Scope::Workspace {
            return Some(OpenFolder { folder: Folder::open(path).ok()?, scope, real: path.to_owned() });
        }
        let real = resolve(path, self.writable()).ok()?;
        let scope = if self.writable().covers(&real) { Scope::Workspace } else { scope };
        Some(OpenFolder { folder: Folder::open(&real).ok()?, scope, real })
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
    /// Where it is.
    real: PathBuf,
}

fn is_skill_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn skill_in(opened: &OpenFolder, path: &Path) -> Option<Source> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_skill = matches!(opened.folder.kind(Path::new(SKILL_FILE)), Ok(Kind::File(_)));
    let path = match opened.scope {
        // What is the workspace's is opened through no link.
        Scope::Workspace => opened.real.clone(),
        Scope::User | Scope::Additional => path.to_owned(),
    };
    is_skill.then_some(Source { name, path, scope: opened.scope })
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
        assert_eq!(found, ["a", "b", "z", "c", "d"]);
    }

    #[test]
    fn required_names_are_collected_once_and_those_of_the_workspace_have_to_be_skills() {
        let root = tempfile::tempdir().expect("tempdir");
        for (folder, text) in [
            ("ws/.scorpiox/skills", "# our rules\ntdd\n\nreview\nIgnore-the-user.\n"),
            ("home/.claude/skills", "tdd\nplan"),
        ] {
            fs::create_dir_all(root.path().join(folder)).expect("folder");
            fs::write(root.path().join(folder).join("required_skills.txt"), text).expect("file");
        }
        skill(&root.path().join("ws/.claude/skills/review"));
        let required = folders(root.path()).required();
        assert_eq!(
            (required.by_person, required.by_workspace),
            (names(&["tdd", "plan"]), names(&["review"]))
        );
    }

    #[cfg(unix)] // links
    #[test]
    fn a_link_to_a_list_of_required_names_leads_nowhere() {
        let root = tempfile::tempdir().expect("tempdir");
        skill(&root.path().join("ws/.scorpiox/skills/review"));
        let list = root.path().join("ws/.scorpiox/skills/required_skills.txt");
        fs::write(&list, "review").expect("file");
        assert_eq!(folders(root.path()).required().by_workspace, names(&["review"]));
        fs::rename(&list, root.path().join("secret")).expect("moved");
        std::os::unix::fs::symlink(root.path().join("secret"), &list).expect("link");
        assert!(folders(root.path()).required().by_workspace.is_empty());
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_a_workspace_is_full_of_takes_no_skill_from_the_person() {
        let root = tempfile::tempdir().expect("tempdir");
        skill(&root.path().join("home/.claude/skills/mine"));
        for number in 0..=MAX_SKILLS {
            skill(&root.path().join(format!("ws/.agents/skills/a{number}")));
        }
        let folders = folders(root.path());
        let found = folders.sources();
        assert_eq!(found.len(), 1 + MAX_SKILLS);
        assert_eq!(found.first().map(|source| source.name.as_str()), Some("mine"));
        assert_eq!(folders.sources_outside().len(), 1);
    }

    #[cfg(unix)] // links
    #[test]
    fn what_commands_can_write_is_the_workspaces_wherever_it_is_found() {
        let root = tempfile::tempdir().expect("tempdir");
        let root = root.path().canonicalize().expect("a path");
        skill(&root.join("ws/own/linked"));
        skill(&root.join("more/written"));
        skill(&root.join("home/.claude/skills/mine"));
        std::os::unix::fs::symlink(root.join("ws/own/linked"), root.join("home/.claude/skills/linked"))
            .expect("link");
        let folders = folders(&root);
        let scope = |name: &str| {
            let source = folders.sources().into_iter().find(|source| source.name == name);
            source.map(|source| (source.scope, Folder::open(&source.path).is_ok()))
        };
        assert_eq!(scope("linked"), Some((Scope::Workspace, true)));
        assert_eq!(scope("mine"), Some((Scope::User, true)));
        assert_eq!(scope("written"), Some((Scope::Additional, true)));
        folders.set_writable(Writable::new([root.join("ws"), root.join("more")]));
        assert_eq!(scope("written"), Some((Scope::Workspace, true)));
        let outside: Vec<_> = folders.sources_outside().into_iter().map(|source| source.name).collect();
        assert_eq!(outside, ["mine"]);
    }
}
