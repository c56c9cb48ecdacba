//! Finding skill folders, and reading in them and nowhere else.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

/// Most skills that are looked at, over all folders.
const MAX_SKILLS: usize = 1000;

/// Deepest folder inside a skill whose files are listed.
const MAX_DEPTH: usize = 8;

/// Most folder entries that one listing of a skill's files looks at.
const MAX_VISITED: usize = 5000;

/// Most bytes of a list of required skills, and most names of all lists.
const MAX_REQUIRED_BYTES: u64 = 16 * 1024;
const MAX_REQUIRED: usize = 32;

const SKILL_FILE: &str = "SKILL.md";

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

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillFile {
    /// Relative to the skill's folder, with `/`.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// Why a file of a skill could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SkillReadError {
    /// It is not there, or not within the skill's folder.
    #[error("no such file in the skill's folder")]
    NotFound,
    /// It is larger than the limit of this many bytes.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The folders that skills are looked up in, first wins.
#[derive(Debug, Clone)]
pub struct SkillFolders {
    roots: Vec<(PathBuf, Scope)>,
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
        Self { roots }
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
            if let Some(source) = skill_at(root, *scope) {
                sources.push(source);
                continue;
            }
            let Ok(entries) = fs::read_dir(root) else { continue };
            let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            folders.sort();
            sources.extend(folders.iter().filter_map(|folder| skill_at(folder, *scope)));
            if sources.len() >= MAX_SKILLS {
                tracing::warn!("more than {MAX_SKILLS} skills; the rest is ignored");
                sources.truncate(MAX_SKILLS);
                break;
            }
        }
        sources
    }

    /// Names from `required_skills.txt` beside the skills, in order, each once. What cannot
    /// be the name of a skill is left out: the names reach the client as instructions.
    pub fn required(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (root, _) in &self.roots {
            let mut bytes = Vec::new();
            let Ok(file) = open_below(root, "required_skills.txt") else { continue };
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

/// Opens a regular file below a folder. Links that lead out of it, and names that try to,
/// are not found.
fn open_below(folder: &Path, path: &str) -> Result<File, SkillReadError> {
    let folder = Dir::open_ambient_dir(folder, ambient_authority())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe in the place of a file must not block the call.
    #[cfg(unix)]
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = folder.open_with(path, &options).map_err(|_| SkillReadError::NotFound)?;
    if !file.metadata()?.is_file() {
        return Err(SkillReadError::NotFound);
    }
    Ok(file.into_std())
}

fn skill_at(folder: &Path, scope: Scope) -> Option<Source> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let is_skill = fs::metadata(folder.join(SKILL_FILE)).is_ok_and(|meta| meta.is_file());
    is_skill.then(|| Source { name, path: folder.to_owned(), scope })
}

impl Source {
    /// The first `limit` bytes of the SKILL.md.
    pub fn read_head(&self, limit: u64) -> Result<Vec<u8>, SkillReadError> {
        let mut head = Vec::new();
        open_below(&self.path, SKILL_FILE)?.take(limit).read_to_end(&mut head)?;
        Ok(head)
    }

    /// A whole file of the skill, named as [`files`](Self::files) names it.
    pub fn read_file(&self, path: &str, limit: u64) -> Result<Vec<u8>, SkillReadError> {
        let mut bytes = Vec::new();
        open_below(&self.path, path)?.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(SkillReadError::TooLarge(limit));
        }
        Ok(bytes)
    }

    /// The skill's files, SKILL.md left out, sorted, at most `limit`; and whether there
    /// are more. Hidden files and links are left out.
    pub fn files(&self, limit: usize) -> (Vec<SkillFile>, bool) {
        let mut files = Vec::new();
        let mut visited = 0;
        collect(&self.path, "", 0, &mut visited, &mut files);
        files.retain(|file| file.path != SKILL_FILE);
        files.sort();
        let truncated = files.len() > limit || visited >= MAX_VISITED;
        files.truncate(limit);
        (files, truncated)
    }

    /// Changes when the skill's SKILL.md changes.
    pub fn fingerprint(&self) -> (PathBuf, u64, Option<SystemTime>) {
        let meta = fs::metadata(self.path.join(SKILL_FILE)).ok();
        let size = meta.as_ref().map_or(0, fs::Metadata::len);
        (self.path.clone(), size, meta.and_then(|meta| meta.modified().ok()))
    }
}

fn collect(folder: &Path, prefix: &str, depth: usize, visited: &mut usize, files: &mut Vec<SkillFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        *visited += 1;
        if *visited > MAX_VISITED {
            return;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                collect(&entry.path(), &path, depth + 1, visited, files);
            }
            Ok(kind) if kind.is_file() => {
                let size = entry.metadata().map_or(0, |meta| meta.len());
                files.push(SkillFile { path, size });
            }
            _ => {}
        }
    }
}

/// The skill folders as one call sees them: looked up once, at the first use.
#[derive(Debug)]
pub struct SkillView {
    folders: Arc<SkillFolders>,
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
    pub fn new(folders: Arc<SkillFolders>) -> Self {
        Self { folders, sources: OnceCell::new(), invoked: None }
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
    fn files_are_read_within_the_folder_only() {
        let root = tempfile::tempdir().expect("tempdir");
        let path = root.path().join("more/s");
        skill(&path);
        fs::create_dir(path.join("sub")).expect("folder");
        fs::write(path.join("sub/a.txt"), "inside").expect("file");
        fs::write(root.path().join("secret"), "outside").expect("file");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path().join("secret"), path.join("link")).expect("link");
        let source = folders(root.path()).sources().remove(0);
        assert_eq!(source.read_file("sub/a.txt", 100).expect("read"), b"inside");
        assert!(matches!(source.read_file("sub/a.txt", 3), Err(SkillReadError::TooLarge(3))));
        for outside in ["../../secret", "link", "sub", "absent", "/etc/passwd"] {
            assert!(matches!(source.read_file(outside, 100), Err(SkillReadError::NotFound)), "{outside}");
        }
        let (files, truncated) = source.files(10);
        assert_eq!(files, [SkillFile { path: "sub/a.txt".to_owned(), size: 6 }]);
        assert!(!truncated);
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
