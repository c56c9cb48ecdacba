//! Selection of the project's folder.

use std::path::{Component, Path, PathBuf};

use scorpiox_policy::{TOOLCHAINS, is_name, is_protected_name};
use sha2::{Digest, Sha256};

/// System folders. A client that starts servers in or below one of them has no project open.
#[cfg(not(windows))]
const SYSTEM_TREES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/spool",
];
#[cfg(windows)]
const SYSTEM_TREES: &[&str] =
    &[r"C:\Windows", r"C:\Program Files", r"C:\Program Files (x86)", r"C:\ProgramData"];

/// Folders that contain projects but are none themselves.
#[cfg(not(windows))]
const HOLDERS: &[&str] = &["/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var"];
#[cfg(windows)]
const HOLDERS: &[&str] = &[r"C:\Users", r"C:\Users\Public"];

/// Folders below the home folder in which programs store files that they load at startup.
#[cfg(not(windows))]
const AT_HOME: &[&str] = &[".config", ".gnupg", ".local", ".local/bin", ".local/share", ".ssh"];
#[cfg(windows)]
const AT_HOME: &[&str] = &[".config", ".gnupg", ".ssh", "AppData", r"AppData\Local", r"AppData\Roaming"];

/// Folder inside a protected one in which clients store complete work trees.
const WORK_TREES: &str = "worktrees";

/// The folder that tools operate on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFolder {
    /// Resolved path of the folder.
    pub path: PathBuf,
    /// Folder that was found but may not be a workspace, if `path` replaces it.
    pub instead_of: Option<PathBuf>,
}

/// Candidates for the workspace, in order of precedence.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--workspace`.
    pub argument: Option<PathBuf>,
    /// `SCORPIOX_WORKSPACE`.
    pub scorpiox: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`.
    pub claude: Option<PathBuf>,
    /// The working directory.
    pub working: Option<PathBuf>,
}

/// The named workspace is not a folder.
#[derive(Debug, thiserror::Error)]
#[error("the workspace {path} from {origin} is not a folder that can be opened: {error}")]
pub struct NoFolder {
    path: PathBuf,
    origin: &'static str,
    error: std::io::Error,
}

/// The program's own folder is in a location where a repository could supply it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}, where policy and plugins are kept, lies inside or around the workspace {}, so that a repository could bring \
     them along; set SCORPIOX_HOME to a folder apart from it, or unset it",
    .own_home.display(),
    .workspace.display()
)]
pub struct NotApart {
    own_home: PathBuf,
    workspace: PathBuf,
}

impl WorkspaceFolder {
    /// Returns the folder that `sources` name. A folder that is nobody's project is replaced by
    /// `own_home/workspace`: `/`, the home folder, a system folder, a folder from which clients or git start
    /// programs, and `own_home` with everything in it.
    pub fn find(sources: Sources, home: Option<&Path>, own_home: &Path) -> Result<Self, NoFolder> {
        let Sources { argument, scorpiox, claude, working } = sources;
        let named =
            [(argument, "--workspace"), (scorpiox, "SCORPIOX_WORKSPACE"), (claude, "CLAUDE_PROJECT_DIR")];
        let found = named.into_iter().find_map(|(path, origin)| {
            let path = path.filter(|path| !path.as_os_str().is_empty())?;
            Some((path, origin))
        });
        let resolved = match (found, working) {
            (Some((path, origin)), _) => {
                let folder = dunce::canonicalize(&path).and_then(require_folder);
                folder.map_err(|error| NoFolder { path, origin, error })?
            }
            // A deleted working directory must not prevent the start.
            (None, Some(path)) => dunce::canonicalize(path).unwrap_or_else(|_| PathBuf::from("/")),
            (None, None) => PathBuf::from("/"),
        };
        Ok(Self::at(resolved, home, own_home))
    }

    /// Returns the workspace of a server that is started in `folder`, which has to be resolved.
    pub fn at(folder: PathBuf, home: Option<&Path>, own_home: &Path) -> Self {
        if is_project(&folder, home) && !is_own(&folder, own_home) {
            return Self { path: folder, instead_of: None };
        }
        Self { path: own_home.join("workspace"), instead_of: Some(folder) }
    }

    /// Fails if a repository could supply `own_home`. Nobody has approved the content of such a folder, nor a
    /// folder that a repository's settings point to.
    pub fn check_apart(&self, own_home: &Path, is_named: bool) -> Result<(), NotApart> {
        let wanted = self.instead_of.as_ref().unwrap_or(&self.path);
        let lies_inside = own_home.starts_with(&self.path);
        let is_around = is_named && wanted.starts_with(own_home);
        if lies_inside || is_around {
            return Err(NotApart { own_home: own_home.to_owned(), workspace: wanted.clone() });
        }
        Ok(())
    }

    /// Returns why a server that is started in `folder` does not use it as the workspace; `None` if it does.
    pub fn why_not(&self, folder: &Path, own_home: &Path, is_named: bool) -> Option<String> {
        if self.path == folder {
            return self
                .check_apart(own_home, is_named)
                .err()
                .map(|error| format!("no server starts there: {error}"));
        }
        Some(format!(
            "home folders, system folders and folders that programs keep cannot be a workspace (built-in); a server \
             that is started there works on {}",
            self.path.display()
        ))
    }

    /// Returns the file name of this workspace's state.
    pub fn state_file_name(&self) -> String {
        format!("{}.db", self.name())
    }

    /// Returns a readable and unique name for files that belong to this workspace.
    pub fn name(&self) -> String {
        let digest = Sha256::digest(self.path.as_os_str().as_encoded_bytes());
        let hash = scorpiox_text::hex(&digest[..8]);
        let name = self.path.file_name().map_or("root".into(), |name| name.to_string_lossy());
        let slug: String = name
            .chars()
            .take(40)
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        format!("{slug}-{hash}")
    }
}

fn require_folder(path: PathBuf) -> std::io::Result<PathBuf> {
    if path.is_dir() { Ok(path) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
}

/// Returns `true` if a folder is or lies inside this program's own folder, except for the substitute
/// workspace. Commands write in the workspace, and the program's folder stores decisions about commands and
/// plugins.
pub fn is_own(path: &Path, own_home: &Path) -> bool {
    path.starts_with(own_home) && path != own_home.join("workspace")
}

fn is_project(path: &Path, home: Option<&Path>) -> bool {
    let is_root = !path.components().any(|part| matches!(part, Component::Normal(_)));
    let home = home.map(|home| dunce::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
    // A home folder of `/`, as in some containers, belongs to nobody.
    let home = home.filter(|home| home.components().any(|part| matches!(part, Component::Normal(_))));
    // A home folder may be inside a system folder, such as /root.
    let in_home = home.as_ref().is_some_and(|home| path != home && path.starts_with(home));
    let above_home = home.as_ref().is_some_and(|home| home.starts_with(path));
    let is_holder =
        HOLDERS.iter().map(Path::new).any(|folder| lies_in(path, folder) && lies_in(folder, path));
    let in_system = SYSTEM_TREES.iter().any(|folder| lies_in(path, Path::new(folder)));
    let kept = |home: &PathBuf| AT_HOME.iter().any(|name| path == home.join(name));
    let is_kept = home.as_ref().is_some_and(kept) || is_protected(path);
    let is_program = home.as_ref().is_some_and(|home| lies_in_toolchain(path, home));
    !is_root && !above_home && !is_holder && !is_kept && !is_program && (in_home || !in_system)
}

/// Returns `true` if a path is or lies inside a folder of programs that run outside the sandbox, even if the
/// folder is a symbolic link.
fn lies_in_toolchain(path: &Path, home: &Path) -> bool {
    TOOLCHAINS.iter().map(|name| home.join(name)).any(|folder| {
        // Most of these folders do not exist, and resolving a path takes a system call for each component.
        let leads_to = || folder.exists().then(|| dunce::canonicalize(&folder).ok()).flatten();
        lies_in(path, &folder) || leads_to().is_some_and(|folder| lies_in(path, &folder))
    })
}

/// Returns `true` if a path is or lies inside a folder, by the system's rules for comparing names.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder.components().all(|part| {
        let own = parts.next();
        own.is_some_and(|own| {
            let (own, part) = (own.as_os_str(), part.as_os_str());
            own == part || cfg!(windows) && own.eq_ignore_ascii_case(part)
        })
    })
}

/// Returns `true` if a folder lies inside one that no command may write in any other workspace.
fn is_protected(path: &Path) -> bool {
    let parts: Vec<_> = path.components().map(Component::as_os_str).collect();
    parts.iter().enumerate().any(|(at, part)| {
        let below = parts.get(at + 1..).unwrap_or_default();
        let is_work_tree = below.first().is_some_and(|name| *name == WORK_TREES) && below.len() > 1;
        is_name(part, ".git") || (is_protected_name(part) && !is_work_tree)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str, home: &str) -> Option<PathBuf> {
        is_project(Path::new(path), Some(Path::new(home))).then(|| PathBuf::from(path))
    }

    #[cfg(not(windows))]
    #[test]
    fn folders_that_are_nobodys_project_grant_nothing() {
        for folder in ["/", "/home/ann", "/home", "/usr", "/usr/lib", "/etc", "/var/lib/x", "/tmp", "/root"] {
            assert_eq!(find(folder, "/home/ann"), None, "{folder}");
        }
        for folder in ["/home/ann/project", "/srv/code", "/data/project", "/tmp/x", "/var/www/x"] {
            assert!(find(folder, "/home/ann").is_some(), "{folder}");
        }
        assert!(find("/root/project", "/root").is_some());
        assert_eq!(find("/root", "/root"), None);
        assert_eq!(find("/etc/x", "/"), None);
    }

    #[cfg(windows)]
    #[test]
    fn folders_that_are_nobodys_project_grant_nothing() {
        let home = r"C:\Users\ann";
        for folder in [
            r"C:\",
            r"D:\",
            home,
            r"C:\users",
            r"C:\Users\Public",
            r"c:\windows\System32",
            r"C:\Program Files\Git",
            r"C:\ProgramData",
            r"C:\Users\ann\AppData\Local",
        ] {
            assert_eq!(find(folder, home), None, "{folder}");
        }
        for folder in
            [r"C:\Users\ann\project", r"C:\code", r"D:\data\x", r"C:\Users\ann\AppData\Local\Temp\x"]
        {
            assert!(find(folder, home).is_some(), "{folder}");
        }
    }

    #[test]
    fn folders_that_programs_start_with_are_nobodys_project() {
        for folder in [
            ".claude",
            "p/.claude/skills",
            "p/.vscode",
            "p/.git/hooks",
            "p/.git",
            ".codex",
            ".config",
            ".ssh",
        ] {
            assert_eq!(find(&format!("/home/ann/{folder}"), "/home/ann"), None, "{folder}");
        }
        for folder in
            ["p/.claude/worktrees/x", ".cursor/worktrees/p/x/src", ".dotfiles", ".config/nvim", "x.git"]
        {
            assert!(find(&format!("/home/ann/{folder}"), "/home/ann").is_some(), "{folder}");
        }
        for folder in ["p/.claude/worktrees", "p/.claude/worktrees/x/.vscode"] {
            assert_eq!(find(&format!("/home/ann/{folder}"), "/home/ann"), None, "{folder}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn folders_of_toolchains_are_nobodys_project() {
        let root = tempfile::tempdir().expect("tempdir");
        let root = dunce::canonicalize(root.path()).expect("path");
        let (home, disk) = (root.join("home"), root.join("disk"));
        for folder in
            [home.join(".rustup/toolchains/stable/bin"), home.join("go/src/x"), disk.join("cargo/bin")]
        {
            std::fs::create_dir_all(folder).expect("folders");
        }
        std::os::unix::fs::symlink(disk.join("cargo"), home.join(".cargo")).expect("a link");
        let is_one = |path: PathBuf| is_project(&path, Some(&home));
        for folder in
            [home.join(".rustup"), home.join(".rustup/toolchains/stable/bin"), disk.join("cargo/bin")]
        {
            assert!(!is_one(folder.clone()), "{}", folder.display());
        }
        // Folders of programs inside a workspace are handled by other rules.
        for folder in [disk.join("cargo"), home.join("go"), home.join("go/src/x")] {
            assert!(is_one(folder.clone()), "{}", folder.display());
        }
    }

    #[test]
    fn the_first_source_wins_and_a_missing_folder_is_an_error() {
        let root = tempfile::tempdir().expect("tempdir");
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        std::fs::create_dir(&a).expect("folder");
        std::fs::create_dir(&b).expect("folder");
        let sources = Sources { scorpiox: Some(a.clone()), claude: Some(b), ..Sources::default() };
        let own = root.path().join("own");
        let found = WorkspaceFolder::find(sources, None, &own).expect("workspace");
        assert_eq!(found.path, dunce::canonicalize(a).expect("path"));
        let sources = Sources { argument: Some(root.path().join("none")), ..Sources::default() };
        let error = WorkspaceFolder::find(sources, None, &own).expect_err("missing").to_string();
        assert!(error.contains("from --workspace is not a folder"), "{error}");
    }

    #[test]
    fn the_root_is_replaced_by_a_folder_of_our_own() {
        let own = Path::new("/home/ann/.scorpiox");
        let sources = Sources { working: Some("/".into()), ..Sources::default() };
        let found = WorkspaceFolder::find(sources, None, own).expect("workspace");
        assert_eq!(found.path, own.join("workspace"));
        assert_eq!(found.instead_of, Some(dunce::canonicalize("/").expect("a root")));
    }

    #[test]
    fn what_this_program_keeps_is_nobodys_project() {
        let root = tempfile::tempdir().expect("tempdir");
        let own = dunce::canonicalize(root.path()).expect("path").join("own");
        std::fs::create_dir_all(own.join("plugins/a")).expect("folders");
        for folder in [own.clone(), own.join("plugins"), own.join("plugins/a")] {
            let sources = Sources { scorpiox: Some(folder.clone()), ..Sources::default() };
            let found = WorkspaceFolder::find(sources, None, &own).expect("workspace");
            assert_eq!((found.path, found.instead_of), (own.join("workspace"), Some(folder)));
        }
    }

    #[test]
    fn a_folder_that_is_asked_about_is_judged_as_one_that_is_started_in() {
        let root = tempfile::tempdir().expect("tempdir");
        let home = dunce::canonicalize(root.path()).expect("path").join("ann");
        let own = home.join(".scorpiox");
        let (project, keys) = (home.join("src/project"), home.join(".ssh"));
        for folder in [&project, &keys] {
            std::fs::create_dir_all(folder).expect("folders");
        }
        for (folder, is_project) in [(&project, true), (&home, false), (&keys, false)] {
            let asked = WorkspaceFolder::at(folder.clone(), Some(&home), &own);
            let sources = Sources { working: Some(folder.clone()), ..Sources::default() };
            assert_eq!(WorkspaceFolder::find(sources, Some(&home), &own).expect("workspace"), asked);
            assert_eq!(asked.instead_of.is_none(), is_project, "{}", folder.display());
            assert_eq!(asked.why_not(folder, &own, false).is_none(), is_project, "{}", folder.display());
        }
    }

    #[test]
    fn state_files_have_readable_unique_names() {
        let at = |path: &str| WorkspaceFolder { path: path.into(), instead_of: None }.state_file_name();
        assert!(at("/a/my project").starts_with("my_project-"));
        assert_ne!(at("/a/x"), at("/b/x"));
        assert_eq!(at("/a/x"), at("/a/x"));
    }
}
