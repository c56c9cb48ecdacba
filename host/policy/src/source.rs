//! Where a value was decided.

use std::fmt;

/// Who gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The program's own default.
    Builtin,
    /// A line of the operator's file, from 1.
    Line(usize),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built-in"),
            Self::Line(line) => write!(f, "policy.toml line {line}"),
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
