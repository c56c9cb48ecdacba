//! What one kind of command may touch.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use scorpiox_rules::{
    DenyRule, DenySet, File, HostRule, NetworkRule, PathRule, Place, Places, Source, Sourced,
    has_protected_name,
};

/// The profile that plans are made under; it never writes and has no network.
pub const READONLY: &str = "readonly";
/// The profile of a command when nothing else is said.
pub const DEFAULT_PROFILE: &str = "workspace";

/// What a command may touch. Whatever is not named is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name, or the names of those it was narrowed from with `+` between.
    pub name: String,
    /// What may be read.
    pub read: Vec<PathRule>,
    /// What may be written, and read too.
    pub write: Vec<PathRule>,
    /// What stays closed even so.
    pub deny: Vec<DenyRule>,
    /// What may be reached.
    pub network: Sourced<Network>,
    /// The environment.
    pub env: EnvRules,
    /// Bounds for each call.
    pub limits: Limits,
    /// Who gave each list and limit.
    pub origins: Origins,
    /// What holds for all users, where this narrows it: asked first, so that a refusal of its own names its line.
    pub outer: Option<Box<Profile>>,
}

impl Profile {
    /// What is closed. Globs without a beginning hold in the workspace, in the skills, and in each
    /// folder that `read` or `write` names; not in the system's programs and toolchains, which
    /// hold nobody's secrets and are not looked through.
    pub fn denied(&self, places: &Places) -> DenySet {
        DenySet::at(&self.deny, &self.deny_places(), places)
    }

    /// Whether commands of it can change nothing of this machine's: it is the read-only profile, or
    /// narrowed by it.
    pub fn is_read_only(&self) -> bool {
        self.name.split('+').any(|name| name == READONLY)
    }

    /// What its own globs are relative to.
    pub(crate) fn deny_places(&self) -> Vec<Place> {
        let named = self.read.iter().chain(&self.write).map(|rule| &rule.place);
        let named = named.filter(|place| matches!(place, Place::Path(_)));
        [Place::Workspace, Place::Skills].iter().chain(named).cloned().collect()
    }

    /// Whether a path has a name that no command may write, seen from any folder that this profile
    /// may write. What git obeys by other names is found by looking.
    pub fn protects(&self, path: &Path, places: &Places) -> bool {
        let written = self.write.iter().filter(|rule| rule.place != Place::Tmp);
        let mut inside = written
            .flat_map(|rule| places.folders(&rule.place))
            .filter_map(|folder| path.strip_prefix(&folder).ok().map(Path::to_owned));
        let (workspace, own_home) = (&places.workspace, &places.own_home);
        // What stands in for a project where none is open lies among this program's own files, and is the commands'.
        let is_stand_in = workspace.starts_with(own_home) && path.starts_with(workspace);
        let is_own = path.starts_with(own_home) && !is_stand_in;
        is_own || inside.any(|inside| has_protected_name(&inside))
    }
}

/// What may be reached over the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    Off,
    /// These hosts, through the host's proxy.
    Allowlist {
        /// The hosts; with none, nothing is reached.
        hosts: Vec<HostRule>,
        /// Networks in which those hosts may be, although they are not of the public internet.
        allow_private: Vec<NetworkRule>,
    },
    /// What the machine reaches.
    Open,
}

impl Network {
    /// The word in the file.
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

/// The environment, which begins empty. A name in both has the value of `set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvRules {
    /// Names that keep the value they have outside.
    pub pass: Vec<Sourced<String>>,
    /// Names with a value of their own.
    pub set: BTreeMap<String, Sourced<String>>,
}

/// Bounds for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at one time.
    pub processes: u32,
    /// Memory of all processes, in bytes.
    pub memory: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Size of one written file, in bytes.
    pub file_size: u64,
    /// Size of `@tmp`, in bytes.
    pub tmp: u64,
}

/// Who gave each list and limit of a profile; an empty list has no entry that could say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origins {
    /// The profile: its first line in the file.
    pub profile: Source,
    /// The list `read`.
    pub read: Source,
    /// The list `write`.
    pub write: Source,
    /// The list `deny`.
    pub deny: Source,
    /// The list `env.pass`.
    pub pass: Source,
    /// The table `env.set`.
    pub set: Source,
    /// [`Limits::processes`].
    pub processes: Source,
    /// [`Limits::memory`].
    pub memory: Source,
    /// [`Limits::open_files`].
    pub open_files: Source,
    /// [`Limits::file_size`].
    pub file_size: Source,
    /// [`Limits::tmp`].
    pub tmp: Source,
    /// What is closed would be opened here.
    pub file: File,
}

impl Origins {
    /// All built in.
    pub const BUILTIN: Self = Self {
        profile: Source::Builtin,
        read: Source::Builtin,
        write: Source::Builtin,
        deny: Source::Builtin,
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

/// Whether a path is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read, listed or run.
    Read,
    /// Created, changed or removed.
    Write,
}
