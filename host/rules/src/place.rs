//! Folders that rules speak of, and where they are on one machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::invalid::{Invalid, shorten, suggest};
use crate::obeyed::{has_protected, is_name};
use crate::source::Source;

/// Folders of the system's programs and libraries: what `@system` stands for.
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

/// Folders of Windows that nobody names to be written, beside [`SYSTEM`].
const WINDOWS: &[&str] = if cfg!(windows) {
    &["C:/Windows", "C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData"]
} else {
    &[]
};

/// Folders of programs below the home folder: what `@toolchains` stands for.
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

/// Names in a folder of git's that no command may write. What else git obeys depends on what is in its folders.
pub const PROTECTED_IN_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir"];

/// Nobody opens what package managers put here as a project, and packages bring such names along.
pub const PACKAGES: &str = "node_modules";

/// Whether a path, relative to a folder that may be written, has a protected name in it.
pub fn has_protected_name(inside: &Path) -> bool {
    let is = |part: &Component<'_>, names: &[&str]| names.iter().any(|name| is_name(part.as_os_str(), name));
    let parts: Vec<_> = inside.components().collect();
    let projects = parts.iter().position(|part| is(part, &[PACKAGES])).unwrap_or(parts.len());
    let in_git = |pair: &[Component<'_>]| is(&pair[0], &[".git"]) && is(&pair[1], PROTECTED_IN_GIT);
    has_protected(&parts[..projects]) || parts.windows(2).any(in_git)
}

/// The names that stand for folders.
const NAMES: &[&str] = &["@system", "@toolchains", "@skills", "@workspace", "@tmp"];
/// Longest path in a rule, in bytes: the kernel takes no longer one.
const MAX_PATH_BYTES: usize = 4096;

/// What a rule of `read` or `write` speaks of. A folder covers all below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `@system`: see [`SYSTEM`].
    System,
    /// `@toolchains`: see [`TOOLCHAINS`].
    Toolchains,
    /// `@skills`: the folders of the skills that are found outside of the workspace.
    Skills,
    /// `@workspace`: the folder of the project, and git's own of it where that lies elsewhere.
    Workspace,
    /// `@tmp`: the command's own folder for temporary files.
    Tmp,
    /// An absolute path, or one that begins with `~/`; without `.` and `..`.
    Path(PathBuf),
}

/// One entry of `read` or `write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// What it speaks of.
    pub place: Place,
    /// Who wrote it.
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

/// A path as it is written in a policy, with `/` between the names. On Windows `\` is read no less.
pub fn slashed(text: &str) -> Cow<'_, str> {
    if cfg!(windows) && text.contains('\\') {
        Cow::Owned(text.replace('\\', "/"))
    } else {
        Cow::Borrowed(text)
    }
}

impl Place {
    /// Reads an entry of `read`: one of the five names, an absolute path, or `~/…`.
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
            return Err(Invalid::new(format!("unknown place \"{shown}\""), suggest(text, "places", NAMES)));
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
        // On Windows a drive makes a path absolute, and one from `/` is on the workspace's drive.
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
        // `components` drops `.`, doubled and trailing slashes.
        Ok(Self::Path(Path::new(text).components().filter(|part| *part != Component::CurDir).collect()))
    }

    /// Reads an entry of `write`. Programs that run next, and this policy, cannot be
    /// named, nor folders that contain them.
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

/// A folder of programs, or our own, that is above, below or the same as `path`.
fn program_folder(path: &Path) -> Option<String> {
    let in_home = TOOLCHAINS.iter().copied().chain([".scorpiox"]).map(|name| format!("~/{name}"));
    let mut folders = SYSTEM.iter().chain(WINDOWS).map(|&name| name.to_owned()).chain(in_home);
    // Windows knows a folder by its name in letters of any case.
    let in_one_case = |path: &Path| -> PathBuf {
        if cfg!(windows) { path.to_string_lossy().to_lowercase().into() } else { path.to_owned() }
    };
    let path = in_one_case(path);
    folders.find(|folder| {
        let folder = in_one_case(Path::new(folder));
        path.parent().is_none() || folder.starts_with(&path) || path.starts_with(&folder)
    })
}

/// Where the places are on this machine. All paths are absolute and resolved (no links).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The folder of the project.
    pub workspace: PathBuf,
    /// The user's home folder; without one, `~/` covers nothing.
    pub home: Option<PathBuf>,
    /// What `@system` covers.
    pub system: Vec<PathBuf>,
    /// What `@toolchains` covers.
    pub toolchains: Vec<PathBuf>,
    /// Git's folder of the workspace, where it lies outside.
    pub repository: Option<PathBuf>,
    /// What `@skills` covers.
    pub skills: Vec<PathBuf>,
    /// What `@tmp` covers, as a command sees it.
    pub tmp: PathBuf,
    /// This program's own files, which nobody else writes.
    pub own_home: PathBuf,
    /// Where paths of the policy are that pass through links.
    pub real: BTreeMap<PathBuf, PathBuf>,
    /// The ends of denied paths that pass through links, whoever made those. For denial alone.
    pub leads: BTreeMap<PathBuf, PathBuf>,
}

impl Places {
    /// The usual places of a Linux machine, without skills; `own_home` is the folder of this
    /// program's own files (`~/.scorpiox`).
    pub fn standard(workspace: PathBuf, home: Option<PathBuf>, own_home: &Path) -> Self {
        let below = |home: &PathBuf| TOOLCHAINS.iter().map(|name| home.join(name)).collect();
        Self {
            toolchains: home.as_ref().map(below).unwrap_or_default(),
            system: SYSTEM.iter().map(PathBuf::from).collect(),
            repository: None,
            skills: Vec::new(),
            tmp: PathBuf::from("/tmp"),
            own_home: own_home.to_owned(),
            real: BTreeMap::new(),
            leads: BTreeMap::new(),
            workspace,
            home,
        }
    }

    /// The root that a path from `/` is below: on Windows that of the workspace's drive.
    pub fn root(&self) -> PathBuf {
        self.workspace.join(Path::new("/"))
    }

    /// The folders that `place` covers.
    pub fn folders(&self, place: &Place) -> Vec<PathBuf> {
        match place {
            Place::System => self.system.clone(),
            Place::Toolchains => self.toolchains.clone(),
            Place::Skills => self.skills.clone(),
            Place::Workspace => [&self.workspace].into_iter().chain(&self.repository).cloned().collect(),
            Place::Tmp => vec![self.tmp.clone()],
            Place::Path(path) => {
                let path = self.absolute(path);
                path.into_iter().map(|path| self.real.get(&path).cloned().unwrap_or(path)).collect()
            }
        }
    }

    /// The path with `~` replaced, on Windows with a drive; `None` when there is no home folder.
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

    #[cfg(windows)] // Elsewhere these are names in the working folder, and are refused.
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
