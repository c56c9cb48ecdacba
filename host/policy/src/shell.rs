//! `[shell]`: what holds for all commands, and the profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use scorpiox_rules::{Source, Sourced, Tier};

use crate::profile::Profile;

/// What commands may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellPolicy {
    /// The weakest sandbox that will do.
    pub min_tier: Sourced<Tier>,
    /// Whether commands run where there is no sandbox at all.
    pub allow_unsandboxed: Sourced<bool>,
    /// Time for a call that names none; 1 ms to `max_timeout`.
    pub default_timeout: Sourced<Duration>,
    /// Longest time that a call may ask for; 1 ms to 10 minutes.
    pub max_timeout: Sourced<Duration>,
    /// Background tasks at one time, 1 to 256.
    pub max_background_tasks: Sourced<usize>,
    /// The profiles by name; the four built-in ones are always there.
    pub profiles: BTreeMap<String, Profile>,
}

/// What one component may do less than others: rights of a grant only narrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Commands, each entry narrowing them; with none they are left as they are.
    pub shell: Vec<ShellGrant>,
    /// Where the grant stands.
    pub source: Source,
}

/// Commands of one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellGrant {
    /// The profile that narrows theirs; it exists.
    pub profile: String,
    /// Where it is named.
    pub source: Source,
}
