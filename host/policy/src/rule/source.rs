//! Sources of values.

use std::fmt;

/// Path of the managed policy file.
#[cfg(target_os = "macos")]
pub const MANAGED_FILE: &str = "/Library/Application Support/scorpiox/policy.toml";
/// Path of the managed policy file. Not in `C:\ProgramData`, where every user may create files.
#[cfg(windows)]
pub const MANAGED_FILE: &str = r"C:\Program Files\scorpiox\policy.toml";
/// Path of the managed policy file.
#[cfg(not(any(target_os = "macos", windows)))]
pub const MANAGED_FILE: &str = "/etc/scorpiox/policy.toml";

/// Path of a repository's own policy file, below its workspace.
pub const REPOSITORY_FILE: &str = ".scorpiox/policy.toml";
/// Name of that file in messages. The model reads it, so it says that the text comes from the repository.
pub(crate) const REPOSITORY_NAME: &str = "the repository's .scorpiox/policy.toml";

/// Source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Default of this program.
    Builtin,
    /// A line of the managed file, counted from 1.
    Managed(usize),
    /// A line of the user's file, counted from 1.
    Line(usize),
    /// A line of the repository's file, counted from 1.
    Repository(usize),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built-in"),
            Self::Managed(line) => write!(f, "{MANAGED_FILE} line {line}"),
            Self::Line(line) => write!(f, "policy.toml line {line}"),
            Self::Repository(line) => write!(f, "{REPOSITORY_NAME} line {line}"),
        }
    }
}

impl Source {
    /// Returns where a value comes from, in brackets, for a message about the line `here`. Empty for a value of the same
    /// file.
    pub(crate) fn beside(self, here: Self) -> String {
        let is_same_file = std::mem::discriminant(&self) == std::mem::discriminant(&here);
        if is_same_file { String::new() } else { format!(" ({self})") }
    }
}

/// Policy file to edit to allow more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum File {
    /// The user's file.
    #[default]
    Own,
    /// The managed file; the user's file cannot override its denials.
    Managed,
    /// The repository's file, which narrows both others.
    Repository,
    /// A table `[[narrow]]` of any file.
    Restriction,
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("the user's own policy.toml"),
            Self::Managed => write!(f, "{MANAGED_FILE}, which only the administrator of this machine can"),
            Self::Repository => f.write_str(REPOSITORY_NAME),
            Self::Restriction => f.write_str("the [[narrow]] that has the rule"),
        }
    }
}

/// Origin of a policy text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The managed file.
    Managed,
    /// The user's file.
    Own,
    /// The repository's file.
    Repository,
    /// Unspecified; for comparisons that ignore the origin.
    Any,
}

impl Layer {
    /// Returns the name of the file in messages.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Managed => MANAGED_FILE,
            Self::Own | Self::Any => "policy.toml",
            Self::Repository => REPOSITORY_NAME,
        }
    }

    /// Returns the source for a line of the text, counted from 1.
    pub const fn line(self, line: usize) -> Source {
        match self {
            Self::Managed => Source::Managed(line),
            Self::Own => Source::Line(line),
            Self::Repository => Source::Repository(line),
            Self::Any => Source::Builtin,
        }
    }
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Source of the value.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// Creates a value with its source.
    pub const fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    /// Creates a built-in value.
    pub const fn builtin(value: T) -> Self {
        Self::new(value, Source::Builtin)
    }
}
