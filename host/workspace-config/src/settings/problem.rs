//! Problems found while loading, worded for the author of the file.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::settings::parse::BadLine;

/// Origin of a value or a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built-in default.
    Default,
    /// A settings file or a profile.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1; `None` for the file as a whole.
        line: Option<usize>,
    },
    /// Environment of the process.
    Environment,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::Environment => f.write_str("environment"),
        }
    }
}

/// An ignored setting or file; the settings are complete without it.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {kind}")]
pub struct Problem {
    /// Origin of the problem.
    pub origin: Origin,
    /// Kind of the problem.
    pub kind: ProblemKind,
}

/// Kind of a problem, with its reason and a suggested fix.
#[derive(Debug, thiserror::Error)]
pub enum ProblemKind {
    /// The file exists but cannot be read.
    #[error("cannot be read ({0}); its settings are ignored")]
    Unreadable(io::Error),
    /// The path is a folder, a pipe or a device.
    #[error("not a regular file; it is ignored")]
    NotAFile,
    /// A settings file of the workspace is a link to a path outside of it.
    #[error("leads out of the workspace (to {}); it is ignored", .0.display())]
    OutsideWorkspace(PathBuf),
    /// A file of the user can be changed by others.
    #[error("{0}, so its settings are ignored; check the file, close it to others, or remove it")]
    Foreign(String),
    /// The file exceeds the maximum size.
    #[error("larger than {0} bytes; its settings are ignored")]
    TooLarge(u64),
    /// A line is not an assignment.
    #[error("{0}")]
    BadLine(BadLine),
    /// No setting has this name.
    #[error("unknown key {key}{}", hint(.nearest.as_deref()))]
    UnknownKey {
        /// Key as written.
        key: String,
        /// Similar known key.
        nearest: Option<String>,
    },
    /// The value does not fit the key.
    #[error("{key}=\"{value}\" is ignored: the value must be {expected}")]
    BadValue {
        /// Key.
        key: String,
        /// Value, shortened and escaped.
        value: String,
        /// Description of accepted values.
        expected: &'static str,
    },
    /// The value of an environment variable is not valid UTF-8.
    #[error("{key} is ignored: its value is not UTF-8")]
    NotUtf8 {
        /// Key.
        key: String,
    },
    /// The workspace tries to enable what the user disabled.
    #[error(
        "a file in the workspace, or a profile that it chooses, cannot switch on {key}; {by} switched it off"
    )]
    CannotSwitchOn {
        /// Key.
        key: String,
        /// Origin of the user's value.
        by: Origin,
    },
    /// The workspace sets a key that only the user may set.
    #[error(
        "{key} is ignored in a file of the workspace and in a profile that it chooses; \
         set it in ~/.claude/scorpiox-env.txt or in the environment"
    )]
    UsersAlone {
        /// Key.
        key: String,
    },
    /// A profile sets `ACTIVE_PROFILE`.
    #[error("ACTIVE_PROFILE is ignored in a profile; set it in a scorpiox-env.txt or in the environment")]
    ProfileInProfile,
    /// The chosen profile does not exist.
    #[error("ACTIVE_PROFILE={name}: no such profile; looked for {}", list(.looked_for))]
    NoSuchProfile {
        /// Name of the profile.
        name: String,
        /// Paths that were tried, the preferred one first.
        looked_for: Vec<PathBuf>,
    },
    /// Number of further problems in the same file.
    #[error("{0} more problems in this file are not shown")]
    More(usize),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
