//! What the host and the helper say to each other.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The name that the helper is started under.
pub const HELPER_NAME: &str = "scorpiox-cell";

/// How a command is confined, strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// Not at all.
    None,
    /// Landlock and seccomp.
    T2,
    /// The sandbox of macOS.
    Seatbelt,
    /// As T1, with the namespaces made by bubblewrap.
    T1b,
    /// Namespaces with a root of their own, Landlock, seccomp.
    T1,
}

impl Tier {
    /// Its name in results and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::T2 => "T2",
            Self::Seatbelt => "Seatbelt",
            Self::T1b => "T1b",
            Self::T1 => "T1",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(unix)]
pub use self::bytes::RawPath;
#[cfg(not(unix))]
pub use self::text::RawPath;

#[cfg(unix)]
mod bytes {
    use std::ffi::OsStr;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Serialize};

    /// A path, which need not be text.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub struct RawPath(Vec<u8>);

    impl RawPath {
        /// The path.
        pub fn as_path(&self) -> &Path {
            Path::new(OsStr::from_bytes(&self.0))
        }
    }

    impl From<&Path> for RawPath {
        fn from(path: &Path) -> Self {
            Self(path.as_os_str().as_bytes().to_vec())
        }
    }

    impl From<PathBuf> for RawPath {
        fn from(path: PathBuf) -> Self {
            Self(path.into_os_string().into_vec())
        }
    }
}

#[cfg(not(unix))]
mod text {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Serialize};

    /// A path. No other process is told of one here.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub struct RawPath(PathBuf);

    impl RawPath {
        /// The path.
        pub fn as_path(&self) -> &Path {
            &self.0
        }
    }

    impl From<&Path> for RawPath {
        fn from(path: &Path) -> Self {
            Self(path.to_owned())
        }
    }

    impl From<PathBuf> for RawPath {
        fn from(path: PathBuf) -> Self {
            Self(path)
        }
    }
}

/// A file or folder that commands see at its own path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposed {
    /// Where it is, inside and outside.
    pub path: RawPath,
    /// Whether it may be changed.
    pub write: bool,
}

/// What the network of a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A loopback interface of its own, and nothing else.
    Off,
    /// The same, with a listener for the host's proxy on it.
    Proxy,
    /// The host's.
    Host,
}

/// What all commands of a cell have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellSpec {
    /// How to confine.
    pub tier: Tier,
    /// The project's folder.
    pub workspace: RawPath,
    /// Files and folders that exist and are seen, the workspace among them.
    pub exposed: Vec<Exposed>,
    /// The home folder of commands: a folder in memory in T1 and T1b, and one that exists in
    /// T2, unless it is among `exposed`.
    pub home: RawPath,
    /// Links in that folder: names that people know from their own one.
    pub home_links: Vec<HomeLink>,
    /// Files that a home folder in memory has at first, which commands can change there. No name among the links is taken.
    pub home_files: Vec<HomeFile>,
    /// A folder for temporary files, for tiers that cannot make one of their own at `/tmp`.
    pub scratch: RawPath,
    /// Size of `/tmp`, in bytes.
    pub tmp_bytes: u64,
    /// The network.
    pub network: Network,
    /// Taken as the kernel's, if lower: for tests of what older kernels can do.
    pub landlock_at_most: Option<u32>,
}

impl CellSpec {
    /// Whether commands see something of the machine below a path, so that it has to be a folder.
    pub fn shows_below(&self, path: &Path) -> bool {
        self.exposed.iter().any(|exposed| exposed.path.as_path().starts_with(path))
    }
}

/// A link in the home folder of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeLink {
    /// Where it is, relative to that folder and without `..`.
    pub inside: RawPath,
    /// Where it leads.
    pub target: RawPath,
}

/// A file in the home folder of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// What is different about a path in the workspace while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cover {
    /// A folder that cannot be moved away, with everything below it as it is.
    Pin(RawPath),
    /// Cannot be changed.
    Freeze(RawPath),
    /// Cannot be read or changed. Also what a symbolic link at this path is.
    Hide(RawPath),
    /// A link that stays as it is; what it leads to has a cover of its own. The cell takes this for
    /// a frozen or hidden link where no mount can be put on one.
    Keep(RawPath),
    /// Does not exist and cannot be made.
    Absent(RawPath),
}

impl Cover {
    /// Where it is.
    pub fn path(&self) -> &Path {
        let (Self::Pin(path) | Self::Freeze(path) | Self::Hide(path) | Self::Keep(path) | Self::Absent(path)) =
            self;
        path.as_path()
    }
}

/// A right that Landlock gives, for tiers without a root of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// A file, or a folder and everything below it.
    pub path: RawPath,
    /// What.
    pub access: Access,
}

/// What may be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// List folders.
    List,
    /// Read and execute.
    Read,
    /// And change, make and remove.
    Write,
}

/// What a command may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes of memory of all processes together.
    pub memory: u64,
    /// Descriptors of a process.
    pub open_files: u64,
    /// Bytes of one file.
    pub file_size: u64,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// For `bash -c`.
    pub command: String,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// After this time it is ended.
    pub timeout_ms: Option<u64>,
    /// What it may use up.
    pub limits: Limits,
    /// What is different in the workspace.
    pub covers: Vec<Cover>,
    /// Names that cannot be made in any folder below one that may be changed, but for folders that
    /// the command made, and what lies below one of [`packages`](Self::packages): there
    /// they come with what is unpacked. A name may have one `*`, which stands for any letters, or be one in folders (`a/b`).
    pub absent_names: Vec<String>,
    /// Names of folders that nobody opens as a project.
    pub packages: Vec<String>,
    /// The folders that commands may see for themselves, where the cell does not expose them: in
    /// T2 they are granted piece by piece.
    pub areas: Vec<Exposed>,
    /// What Landlock grants in T2, beside what the cell exposes outside of the workspace.
    pub granted: Vec<Granted>,
}

impl CommandSpec {
    /// One without any rule of its own, for as long as it takes.
    pub fn new(command: String, environment: Vec<(String, String)>, limits: Limits) -> Self {
        Self {
            command,
            environment,
            timeout_ms: None,
            limits,
            covers: Vec::new(),
            absent_names: Vec::new(),
            packages: Vec::new(),
            areas: Vec::new(),
            granted: Vec::new(),
        }
    }
}

/// From the host to the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Builds the sandbox: the first order, which comes once.
    Build(CellSpec),
    /// Starts a command; whether the locks of `Moves` come along.
    Run(CommandSpec, bool),
}

/// From the helper to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Built {
    /// Commands can be run; a listener in the cell's network may come along.
    Ready,
    /// There is no cell.
    Failed(Fault),
}

/// A step that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {error}")]
pub struct Fault {
    /// What was tried.
    pub step: String,
    /// The system's answer.
    pub error: String,
    /// A path was not as the host found it a moment ago: worth trying again.
    pub changed: bool,
}

impl Fault {
    /// What was tried, and why it failed.
    pub fn new(step: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self { step: step.into(), error: error.to_string(), changed: false }
    }

    /// For `map_err`.
    pub fn at<E: std::fmt::Display>(step: &str) -> impl FnOnce(E) -> Self + '_ {
        move |error| Self::new(step, error)
    }

    /// The fault of a path that was not as the host found it, or that cannot be reached at all.
    #[cfg(target_os = "linux")]
    pub fn of_path(step: &str, path: &Path, error: std::io::Error) -> Self {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let looped = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        let changed = looped || matches!(error.kind(), NotFound | NotADirectory);
        Self { changed, ..Self::new(format!("{step} {}", path.display()), error) }
    }
}

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a command was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It took too long.
    Timeout,
    /// The host said so.
    Stopped,
    /// It had more processes than allowed.
    Processes,
    /// It used more memory than allowed.
    Memory,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How its shell ended.
    pub status: Status,
    /// Why it was ended from outside, if it was.
    pub ended: Option<Ended>,
    /// Processes that outlived the shell and were killed.
    pub leftover: u32,
    /// From the start of the shell to its end.
    pub duration_ms: u64,
    /// Processor time of all its processes; 0 where the system does not tell.
    pub processor_us: u64,
    /// What came of names that must stay absent.
    pub names: Names,
}

/// A repository of git, or what leads to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its place when the command had ended.
    pub path: RawPath,
    /// Its device and number, since another command can put something else there.
    pub identity: (u64, u64),
}

/// What came of names that must stay absent ([`Cover::Absent`], [`CommandSpec::absent_names`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Those that the command tried to make, the first few.
    pub refused: Vec<RawPath>,
    /// Those that came with what was unpacked, where they are now; or what they lie in. The first few.
    pub unpacked: Vec<RawPath>,
    /// How many more came like this.
    pub unpacked_others: u32,
    /// Repositories, and what leads to one, that came while the command ran, where they are now. The first few.
    pub repositories: Vec<Repository>,
    /// How many more there are.
    pub repositories_others: u32,
}

/// From a command's supervisor to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Everything that confines the command is in place.
    Started,
    /// A listener in the command's own network comes along.
    Listening,
    /// It could not be started.
    Failed(Fault),
    /// It has ended, and no process of it is left.
    Done(Outcome),
}

/// From the host to a command's supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// SIGTERM, and SIGKILL when it has not ended after a while.
    Gently,
    /// SIGKILL.
    Now,
}
