//! Profiles: access rights of one kind of command.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::rule::{
    DenyRule, DenySet, File, HostRule, LocalRule, NetworkRule, PathRule, Place, Places, Source, Sourced,
    has_protected_name,
};

/// Profile for planning; it never writes and has no network.
pub const READONLY: &str = "readonly";
/// Profile of a command that does not name one.
pub const DEFAULT_PROFILE: &str = "workspace";

/// Access rights of a command. Everything that is not listed is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name; for a narrowed profile, the names of both profiles joined with `+`.
    pub name: String,
    /// Places that may be read.
    pub read: Vec<PathRule>,
    /// Places that may be written and read.
    pub write: Vec<PathRule>,
    /// Globs that are denied even inside `read` and `write`.
    pub deny: Vec<DenyRule>,
    /// Network access.
    pub network: Sourced<Network>,
    /// Handling of hosts that no entry of the list covers.
    pub unknown_hosts: Sourced<UnknownHosts>,
    /// Services of the machine that commands reach at their own addresses.
    pub local: Vec<LocalRule>,
    /// Ports of background commands that are reachable on the loopback interface of the machine.
    pub publish: Vec<Sourced<u16>>,
    /// Environment variables.
    pub env: EnvRules,
    /// Resource limits of each call.
    pub limits: Limits,
    /// Sources of the lists and limits.
    pub origins: Origins,
    /// Managed profile that this one narrows. It is checked first, so that its refusals cite its own line.
    pub outer: Option<Box<Profile>>,
}

impl Profile {
    /// Returns the set of denied paths. Relative globs apply in the workspace, in the skills, and in each
    /// folder that `read` or `write` names. They do not apply in system programs and toolchains, which
    /// contain no user secrets and are not scanned.
    pub fn denied(&self, places: &Places) -> DenySet {
        DenySet::at(&self.deny, &self.deny_places(), places)
    }

    /// Returns `true` if commands under this profile cannot change the machine: the profile is `readonly` or
    /// narrowed by it.
    pub fn is_read_only(&self) -> bool {
        self.name.split('+').any(|name| name == READONLY)
    }

    /// Returns the places that relative globs of `deny` apply in.
    pub(crate) fn deny_places(&self) -> Vec<Place> {
        let named = self.read.iter().chain(&self.write).map(|rule| &rule.place);
        let named = named.filter(|place| matches!(place, Place::Path(_)));
        [Place::Workspace, Place::Skills].iter().chain(named).cloned().collect()
    }

    /// Returns `true` if a path has a protected name, relative to any folder that this profile may write.
    /// Other files that git obeys are found by a scan, not by this check.
    pub fn protects(&self, path: &Path, places: &Places) -> bool {
        let written = self.write.iter().filter(|rule| rule.place != Place::Tmp);
        let mut inside = written
            .flat_map(|rule| places.folders(&rule.place))
            .filter_map(|folder| path.strip_prefix(&folder).ok().map(Path::to_owned));
        let (workspace, own_home) = (&places.workspace, &places.own_home);
        // Without an open project, the workspace is a substitute folder among this program's own files.
        // Commands may write there.
        let is_stand_in = workspace.starts_with(own_home) && path.starts_with(workspace);
        let is_own = path.starts_with(own_home) && !is_stand_in;
        is_own || inside.any(|inside| has_protected_name(&inside))
    }
}

/// Network access of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// No network.
    Off,
    /// Only these hosts, through the server's proxy.
    Allowlist {
        /// Allowed hosts; if empty, nothing is reachable.
        hosts: Vec<HostRule>,
        /// Networks that the hosts may resolve to although they are not part of the public internet.
        allow_private: Vec<NetworkRule>,
    },
    /// Everything that the machine reaches.
    Open,
}

/// Handling of hosts that the list of a profile does not cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownHosts {
    /// They are refused.
    Deny,
    /// An approver is asked while the connection waits.
    AskApprover,
    /// The person at this machine is asked while the connection waits; over HTTP, an approver.
    Ask,
    /// The client asks its user while the connection waits, also over HTTP.
    AskWeak,
}

impl UnknownHosts {
    /// Settings, the strictest first.
    pub(crate) const ALL: [Self; 4] = [Self::Deny, Self::AskApprover, Self::Ask, Self::AskWeak];

    /// Returns `true` if somebody is asked.
    pub fn asks(self) -> bool {
        self != Self::Deny
    }

    /// Returns the word for the setting in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::AskApprover | Self::Ask => "ask",
            Self::AskWeak => "ask-weak",
        }
    }
}

impl Network {
    /// Returns the name of the mode in the file.
    pub const fn mode(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Allowlist { .. } => "allowlist",
            Self::Open => "open",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode())
    }
}

/// Environment of a command, which starts empty. If a name is in both lists, the value of `set` wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvRules {
    /// Variables passed through from the server's environment.
    pub pass: Vec<Sourced<String>>,
    /// Variables with a fixed value.
    pub set: BTreeMap<String, Sourced<String>>,
}

/// Resource limits of each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent processes and threads.
    pub processes: u32,
    /// Total memory of all processes, in bytes.
    pub memory: u64,
    /// Maximum number of open files of one process.
    pub open_files: u64,
    /// Maximum size of a written file, in bytes.
    pub file_size: u64,
    /// Maximum size of `@tmp`, in bytes.
    pub tmp: u64,
}

/// Sources of the lists and limits of a profile. Needed because an empty list has no entry with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origins {
    /// First line of the profile in the file.
    pub profile: Source,
    /// Source of the list `read`.
    pub read: Source,
    /// Source of the list `write`.
    pub write: Source,
    /// Source of the list `deny`.
    pub deny: Source,
    /// Source of the list `local`.
    pub local: Source,
    /// Source of the list `publish`.
    pub publish: Source,
    /// Source of the list `env.pass`.
    pub pass: Source,
    /// Source of the table `env.set`.
    pub set: Source,
    /// Source of [`Limits::processes`].
    pub processes: Source,
    /// Source of [`Limits::memory`].
    pub memory: Source,
    /// Source of [`Limits::open_files`].
    pub open_files: Source,
    /// Source of [`Limits::file_size`].
    pub file_size: Source,
    /// Source of [`Limits::tmp`].
    pub tmp: Source,
    /// Policy file to edit to allow a denied access.
    pub file: File,
}

impl Origins {
    /// Every source is built in.
    pub const BUILTIN: Self = Self {
        profile: Source::Builtin,
        read: Source::Builtin,
        write: Source::Builtin,
        deny: Source::Builtin,
        local: Source::Builtin,
        publish: Source::Builtin,
        pass: Source::Builtin,
        set: Source::Builtin,
        processes: Source::Builtin,
        memory: Source::Builtin,
        open_files: Source::Builtin,
        file_size: Source::Builtin,
        tmp: Source::Builtin,
        file: File::Own,
    };
}

/// Kind of access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read, listed or run.
    Read,
    /// Created, changed or removed.
    Write,
}
