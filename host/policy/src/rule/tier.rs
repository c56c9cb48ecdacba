//! Strengths of a sandbox.

use std::fmt;
use std::str::FromStr;

use crate::rule::invalid::shorten;

/// Isolation of a command, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Landlock and seccomp.
    T2,
    /// Namespaces created by the system's bwrap.
    T1b,
    /// Namespaces created by this program, Landlock and seccomp.
    T1,
}

/// The name of the tier is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tier \"{0}\"; write \"T1\", \"T1b\" or \"T2\"")]
pub struct UnknownTier(String);

impl Tier {
    /// Returns the name as written in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::T2 => "T2",
            Self::T1b => "T1b",
            Self::T1 => "T1",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        let all = [Self::T2, Self::T1b, Self::T1];
        all.into_iter().find(|tier| tier.as_str() == text).ok_or_else(|| UnknownTier(shorten(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_ordered_from_the_weakest_and_read_as_they_are_shown() {
        assert!(Tier::T2 < Tier::T1b && Tier::T1b < Tier::T1);
        for tier in [Tier::T2, Tier::T1b, Tier::T1] {
            assert_eq!(tier.to_string().parse(), Ok(tier));
        }
        assert_eq!(
            "t1".parse::<Tier>().unwrap_err().to_string(),
            "unknown tier \"t1\"; write \"T1\", \"T1b\" or \"T2\""
        );
    }
}
