//! `[shell]`: settings for all commands, and the profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::rule::{Source, Sourced, Tier};

use crate::profile::Profile;

/// Settings and profiles for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellPolicy {
    /// Minimum sandbox tier.
    pub min_tier: Sourced<Tier>,
    /// `true` if commands may run on systems without any sandbox.
    pub allow_unsandboxed: Sourced<bool>,
    /// Timeout of a call that does not request one; 1 ms to `max_timeout`.
    pub default_timeout: Sourced<Duration>,
    /// Maximum timeout that a call may request; 1 ms to 10 minutes.
    pub max_timeout: Sourced<Duration>,
    /// Maximum number of concurrent background tasks, 1 to 256.
    pub max_background_tasks: Sourced<usize>,
    /// Profiles by name; the four built-in profiles always exist.
    pub profiles: BTreeMap<String, Profile>,
}

/// Restrictions on a single component; a grant only narrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Restrictions on the component's commands; every entry narrows them. Empty leaves them unchanged.
    pub shell: Vec<ShellGrant>,
    /// Source of the grant.
    pub source: Source,
}

/// Restriction on the commands of one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellGrant {
    /// Profile that narrows the commands' own; it exists.
    pub profile: String,
    /// Source of the entry.
    pub source: Source,
}
