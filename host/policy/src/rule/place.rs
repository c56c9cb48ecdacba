//! Folders in rules, and their paths on a machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::rule::invalid::{Invalid, shorten, suggest};
use crate::rule::obeyed::{has_protected, is_name};
use crate::rule::source::Source;

/// Folders of system programs and libraries, which `@system` stands for.
pub const SYSTEM: &[&str] = if cfg!(target_os = "macos") {
    &[
        "/usr",
        "/bin",
        "/sbin",
        "/System/Library",
        "/Library/Apple",
        "/Library/Developer",
        "/Library/Frameworks",
        "/Library/Java",
        "/Applications/Xcode.app",
        "/opt/homebrew",
        "/opt/local",
    ]
} else {
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
};

/// Folders of Windows, in addition to [`SYSTEM`], that a rule may not make writable.
const WINDOWS: &[&str] = if cfg!(windows) {
    &["C:/Windows", "C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData"]
} else {
    &[]
};

/// Folders of programs below the home folder, which `@toolchains` stands for.
pub const TOOLCHAINS: &[&str] = &[
    ".cargo/bin",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".rbenv",
    ".goenv",
    ".sdkman",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
    ".local/bin",
    ".local/share/mise",
    ".local/share/pnpm",
];

/// Names in a `.git` folder that no command may write. Other files that git obeys depend on the content of
/// the folder.
pub const PROTECTED_IN_GIT: &[&str] =
    &["hooks", "config", "config.worktree", "commondir", "remotes", "branches"];

/// Folder of installed packages. Protected names below it are ignored: packages contain such names, and
/// nobody opens the folder as a project.
pub const PACKAGES: &str = "node_modules";

/// Returns `true` if a path, relative to a writable folder, contains a protected name.
pub fn has_protected_name(inside: &Path) -> bool {
    let is = |part: &Component<'_>, names: &[&str]| names.iter().any(|name| is_name(part.as_os_str(), name));
    let parts: Vec<_> = inside.components().collect();
    let projects = parts.iter().position(|part| is(part, &[PACKAGES])).unwrap_or(parts.len());
    let in_git = |pair: &[Component<'_>]| is(&pair[0], &[".git"]) && is(&pair[1], PROTECTED_IN_GIT);
    has_protected(&parts[..projects]) || parts.windows(2).any(in_git)
}

/// Names that stand for folders.
pub(crate) const PLACE_NAMES: &[&str] = &["@system", "@toolchains", "@skills", "@workspace", "@tmp"];
/// Maximum length of a path in a rule, in bytes; the kernel rejects longer paths.
const MAX_PATH_BYTES: usize = 4096;

/// Subject of a `read` or `write` rule. A folder covers everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `@system`: see [`SYSTEM`].
    System,
    /// `@toolchains`: see [`TOOLCHAINS`].
    Toolchains,
    /// `@skills`: the folders of skills outside the workspace.
    Skills,
    /// `@workspace`: the project's folder, and its git directory if that is elsewhere.
    Workspace,
    /// `@tmp`: the command's private folder for temporary files.
    Tmp,
    /// A path that is absolute or begins with `~/`; without `.` and `..`.
    Path(PathBuf),
}

/// An entry of `read` or `write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// Place that the rule covers.
    pub place: Place,
    /// Source of the rule.
    pub source: Source,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("@system"),
            Self::Toolchains => f.write_str("@toolchains"),
            Self::Skills => f.write_str("@skills"),
            Self::Workspace => f.write_str("@workspace"),
            Self::Tmp => f.write_str("@tmp"),
            Self::Path(path) if path.as_os_str() == "~" => f.write_str("~/"),
            Self::Path(path) => f.write_str(&slashed(&path.to_string_lossy())),
        }
    }
}

/// Normalizes a path from a policy to `/` as the separator. On Windows, `\` is accepted too.
pub fn slashed(text: &str) -> Cow<'_, str> {
    if cfg!(windows) && text.contains('\\') {
        Cow::Owned(text.replace('\\', "/"))
    } else {
        Cow::Borrowed(text)
    }
}

impl Place {
    /// Parses an entry of `read`: one of the five names, an absolute path, or `~/…`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text {
            "@system" => return Ok(Self::System),
            "@toolchains" => return Ok(Self::Toolchains),
            "@skills" => return Ok(Self::Skills),
            "@workspace" => return Ok(Self::Workspace),
            "@tmp" => return Ok(Self::Tmp),
            _ => {}
        }
        let shown = shorten(text);
        let invalid = |why: &str, fix: &str| Err(Invalid::new(format!("path \"{shown}\" {why}"), fix));
        let text = &*slashed(text);
        if text.starts_with('@') {
            return Err(Invalid::new(
                format!("unknown place \"{shown}\""),
                suggest(text, "places", PLACE_NAMES),
            ));
        }
        if text.is_empty() {
            return invalid(
                "is empty",
                "write an absolute path, a path that begins with ~/, or \"@workspace\"",
            );
        }
        if text.contains(char::is_control) {
            return invalid("has a control character", "write it without");
        }
        if text.len() > MAX_PATH_BYTES {
            return invalid("is longer than 4096 bytes", "name a folder above it");
        }
        if cfg!(windows) && (text.starts_with("//?/") || text.starts_with("//./")) {
            return invalid("begins with the mark of a device", "write it from its drive, such as C:/data");
        }
        // On Windows, only a drive makes a path absolute; a path from `/` is on the workspace's drive.
        if !text.starts_with('/') && !text.starts_with("~/") && !Path::new(text).is_absolute() {
            let fix =
                "write an absolute path, or one that begins with ~/; \"@workspace\" is the project's folder";
            return invalid("is relative", fix);
        }
        if text.split('/').any(|part| part == "..") {
            return invalid("has `..` in it", "write where it leads");
        }
        if ["/proc", "/sys", "/dev"].iter().any(|kernel| Path::new(text).starts_with(kernel)) {
            return invalid("is the kernel's", "leave it out: commands have a /proc and a /dev of their own");
        }
        if text.contains(['*', '?']) {
            return invalid("is a glob", "name the folder: it covers all below it");
        }
        // `components` drops inner `.` and doubled or trailing slashes.
        Ok(Self::Path(Path::new(text).components().filter(|part| *part != Component::CurDir).collect()))
    }

    /// Parses an entry of `write`. Rejects folders of programs and of this policy, and folders that contain
    /// them, because a command could change the programs that run next.
    pub fn parse_writable(text: &str) -> Result<Self, Invalid> {
        const WHY: &str = "programs must not be able to change the programs that run next";
        let place = Self::parse(text)?;
        let refused = |what: String, instead: &str| Err(Invalid::new(what, format!("{WHY}; {instead}")));
        match &place {
            Self::System | Self::Toolchains | Self::Skills => {
                refused(format!("{place} cannot be written"), &format!("name {place} in `read`"))
            }
            Self::Path(path) => match program_folder(path) {
                Some(inside) => refused(
                    format!("path \"{}\" cannot be written: it has to do with {inside}", shorten(text)),
                    "name a folder apart from it",
                ),
                None => Ok(place),
            },
            Self::Workspace | Self::Tmp => Ok(place),
        }
    }
}

/// Returns the folder of programs, or of this program's own files, that contains `path` or lies inside it.
fn program_folder(path: &Path) -> Option<String> {
    let in_home = TOOLCHAINS.iter().copied().chain([".scorpiox"]).map(|name| format!("~/{name}"));
    let mut folders = SYSTEM.iter().chain(WINDOWS).map(|&name| name.to_owned()).chain(in_home);
    // Folder names are case-insensitive on Windows.
    let in_one_case = |path: &Path| -> PathBuf {
        if cfg!(windows) { path.to_string_lossy().to_lowercase().into() } else { path.to_owned() }
    };
    let path = in_one_case(path);
    folders.find(|folder| {
        let folder = in_one_case(Path::new(folder));
        path.parent().is_none() || folder.starts_with(&path) || path.starts_with(&folder)
    })
}

/// Paths of the places on this machine. All paths are absolute and resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Folder of the project.
    pub workspace: PathBuf,
    /// Home folder of the user; if `None`, `~/` covers nothing.
    pub home: Option<PathBuf>,
    /// Folders that `@system` covers.
    pub system: Vec<PathBuf>,
    /// Folders that `@toolchains` covers.
    pub toolchains: Vec<PathBuf>,
    /// Git directory of the workspace, if it is outside of it.
    pub repository: Option<PathBuf>,
    /// Folders outside of the workspace that its repository takes objects from. A profile that opens
    /// `@workspace` opens them for reading.
    pub lent: Vec<PathBuf>,
    /// Folders that `@skills` covers.
    pub skills: Vec<PathBuf>,
    /// Path of `@tmp`, as a command sees it.
    pub tmp: PathBuf,
    /// Folder of this program's own files, which nothing else may write.
    pub own_home: PathBuf,
    /// Resolved paths for those paths of the policy that pass through symbolic links.
    pub real: BTreeMap<PathBuf, PathBuf>,
    /// Targets of denied paths that pass through symbolic links, no matter who created the links. Used only
    /// to deny.
    pub leads: BTreeMap<PathBuf, PathBuf>,
}

impl Places {
    /// Returns the usual places of a Linux machine, without skills. `own_home` is the folder of this
    /// program's own files (`~/.scorpiox`).
    pub fn standard(workspace: PathBuf, home: Option<PathBuf>, own_home: &Path) -> Self {
        let below = |home: &PathBuf| TOOLCHAINS.iter().map(|name| home.join(name)).collect();
        Self {
            toolchains: home.as_ref().map(below).unwrap_or_default(),
            system: SYSTEM.iter().map(PathBuf::from).collect(),
            repository: None,
            lent: Vec::new(),
            skills: Vec::new(),
            tmp: PathBuf::from("/tmp"),
            own_home: own_home.to_owned(),
            real: BTreeMap::new(),
            leads: BTreeMap::new(),
            workspace,
            home,
        }
    }

    /// Returns the root for paths that begin with `/`: on Windows, that of the workspace's drive.
    pub fn root(&self) -> PathBuf {
        self.workspace.join(Path::new("/"))
    }

    /// Returns the folders that `place` covers.
    pub fn folders(&self, place: &Place) -> Vec<PathBuf> {
        match place {
            Place::System => self.system.clone(),
            Place::Toolchains => self.toolchains.iter().map(|path| self.resolved(path)).collect(),
            Place::Skills => self.skills.clone(),
            Place::Workspace => [&self.workspace].into_iter().chain(&self.repository).cloned().collect(),
            Place::Tmp => vec![self.tmp.clone()],
            Place::Path(path) => {
                let path = self.absolute(path);
                path.iter().map(|path| self.resolved(path)).collect()
            }
        }
    }

    fn resolved(&self, path: &Path) -> PathBuf {
        self.real.get(path).map_or(path, PathBuf::as_path).to_owned()
    }

    /// Expands `~` and, on Windows, adds the drive. `None` without a home folder.
    fn absolute(&self, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix("~") {
            Ok(rest) => Some(self.home.as_ref()?.join(rest)),
            Err(_) => Some(self.workspace.join(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_obeys_is_protected_in_its_folder_alone() {
        for path in ["a/.git./Hooks/x", ".git/config", "node_modules/a/.git/commondir"] {
            assert!(has_protected_name(Path::new(path)), "{path}");
        }
        for path in ["a/.git/x", "hooks", "config/.git"] {
            assert!(!has_protected_name(Path::new(path)), "{path}");
        }
    }

    #[cfg(windows)] // elsewhere these are relative paths, which are rejected
    #[test]
    fn paths_of_windows_are_read_with_either_separator_and_shown_as_they_can_be_written() {
        let places =
            Places::standard(r"C:\Users\me\work".into(), Some(r"C:\Users\me".into()), Path::new(r"C:\own"));
        for (text, shown, folder) in [
            (r"C:\data\a", "C:/data/a", r"C:\data\a"),
            ("D:/data", "D:/data", r"D:\data"),
            (r"~\.ssh\id", "~/.ssh/id", r"C:\Users\me\.ssh\id"),
            ("/srv", "/srv", r"C:\srv"),
            (r"\\host\share\a", "//host/share/a", r"\\host\share\a"),
        ] {
            let place = Place::parse(text).unwrap();
            assert_eq!(place.to_string(), shown);
            assert_eq!(Place::parse(shown).unwrap(), place);
            assert_eq!(places.folders(&place), [Path::new(folder)], "{text}");
        }
        for (text, why) in [
            (r"~\a\..\b", "has `..`"),
            (r"C:\..\b", "has `..`"),
            ("C:data", "is relative"),
            (r"\\?\C:\data", "the mark of a device"),
        ] {
            assert!(Place::parse(text).unwrap_err().to_string().contains(why), "{text}");
        }
        for text in ["C:/", "D:/", r"c:\windows\Temp", "C:/Program Files/x", r"~\.Cargo", r"\\host\share"] {
            assert!(Place::parse_writable(text).is_err(), "{text}");
        }
        assert!(Place::parse_writable(r"C:\data").is_ok());
    }
}
