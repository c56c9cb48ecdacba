//! Where a value was decided.

use std::fmt;

/// Where the file is that holds for all users of the machine.
#[cfg(target_os = "macos")]
pub const MANAGED_FILE: &str = "/Library/Application Support/scorpiox/policy.toml";
/// Where the file is that holds for all users of the machine. Not in `C:\ProgramData`, where every user may make one.
#[cfg(windows)]
pub const MANAGED_FILE: &str = r"C:\Program Files\scorpiox\policy.toml";
/// Where the file is that holds for all users of the machine.
#[cfg(not(any(target_os = "macos", windows)))]
pub const MANAGED_FILE: &str = "/etc/scorpiox/policy.toml";

/// Who gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The program's own default.
    Builtin,
    /// A line, from 1, of the file that holds for all users of the machine.
    Managed(usize),
    /// A line, from 1, of the person's own file.
    Line(usize),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built-in"),
            Self::Managed(line) => write!(f, "{MANAGED_FILE} line {line}"),
            Self::Line(line) => write!(f, "policy.toml line {line}"),
        }
    }
}

/// The file that an operator would write something into, so that more is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum File {
    /// The person's own.
    #[default]
    Own,
    /// The one that holds for all users: a person's own cannot open what it closes.
    Managed,
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("the user's own policy.toml"),
            Self::Managed => write!(f, "{MANAGED_FILE}, which only the administrator of this machine can"),
        }
    }
}

/// Which of the files a text is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The one that holds for all users of the machine.
    Managed,
    /// The person's own.
    Own,
    /// None that is told of: what is read is compared, whoever wrote it.
    Any,
}

impl Layer {
    /// Returns the name that rules have for such a text.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Managed => MANAGED_FILE,
            Self::Own | Self::Any => "policy.toml",
        }
    }

    /// A line, from 1, of such a text.
    pub const fn line(self, line: usize) -> Source {
        match self {
            Self::Managed => Source::Managed(line),
            Self::Own => Source::Line(line),
            Self::Any => Source::Builtin,
        }
    }
}

/// A value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value in use.
    pub value: T,
    /// Who gave it.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A value with its source.
    pub const fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    /// A default.
    pub const fn builtin(value: T) -> Self {
        Self::new(value, Source::Builtin)
    }
}
