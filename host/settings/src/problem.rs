//! What was ignored while loading, in words for the person who wrote it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::parse::BadLine;

/// Where a value or a problem comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A settings file or a profile.
    File {
        /// Its path.
        path: PathBuf,
        /// Number of the line, from 1; `None` for the file as a whole.
        line: Option<usize>,
    },
    /// The environment of the process.
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

/// Something that was ignored; the settings are complete without it.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {kind}")]
pub struct Problem {
    /// Where it stands.
    pub origin: Origin,
    /// What it is.
    pub kind: ProblemKind,
}

/// What was ignored, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProblemKind {
    /// The file exists but cannot be read.
    #[error("cannot be read ({0}); its settings are ignored")]
    Unreadable(io::Error),
    /// A folder, a pipe or a device.
    #[error("not a regular file; it is ignored")]
    NotAFile,
    /// A settings file of the workspace that is a link to somewhere else.
    #[error("leads out of the workspace (to {}); it is ignored", .0.display())]
    OutsideWorkspace(PathBuf),
    /// A file of the user's that is not theirs alone to change.
    #[error("{0}, so its settings are ignored; check the file, close it to others, or remove it")]
    Foreign(String),
    /// More bytes than a settings file may have.
    #[error("larger than {0} bytes; its settings are ignored")]
    TooLarge(u64),
    /// A line that is no assignment.
    #[error("{0}")]
    BadLine(BadLine),
    /// No setting has this name.
    #[error("unknown key {key}{}", hint(.nearest.as_deref()))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// A known key that looks like it.
        nearest: Option<String>,
    },
    /// The value does not fit the key.
    #[error("{key}=\"{value}\" is ignored: the value must be {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// The value, shortened and escaped.
        value: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// An environment variable that is no text.
    #[error("{key} is ignored: its value is not UTF-8")]
    NotUtf8 {
        /// The key.
        key: String,
    },
    /// The workspace asks for more than the user allows.
    #[error(
        "a file in the workspace, or a profile that it chooses, cannot switch on {key}; {by} switched it off"
    )]
    CannotSwitchOn {
        /// The key.
        key: String,
        /// Who switched it off.
        by: Origin,
    },
    /// The workspace sets what is for the user alone to set.
    #[error(
        "{key} is ignored in a file of the workspace and in a profile that it chooses; \
         set it in ~/.claude/scorpiox-env.txt or in the environment"
    )]
    UsersAlone {
        /// The key.
        key: String,
    },
    /// A profile sets `ACTIVE_PROFILE`.
    #[error("ACTIVE_PROFILE is ignored in a profile; set it in a scorpiox-env.txt or in the environment")]
    ProfileInProfile,
    /// The chosen profile does not exist.
    #[error("ACTIVE_PROFILE={name}: no such profile; looked for {}", list(.looked_for))]
    NoSuchProfile {
        /// The name that was chosen.
        name: String,
        /// The paths that were tried, the preferred one first.
        looked_for: Vec<PathBuf>,
    },
    /// The rest of a file with many problems.
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
