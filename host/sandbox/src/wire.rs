//! Messages between the host and the helper.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::trees::Trees;

mod names;

pub use names::{Grounds, Names, Prevented, Repository, Trap, TrapKind, Why};

/// Name that the helper is started under.
pub const HELPER_NAME: &str = "scorpiox-cell";

/// Confinement of a command, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// No confinement.
    None,
    /// Landlock and seccomp.
    T2,
    /// Sandbox of macOS.
    Seatbelt,
    /// Like T1, with namespaces created by bubblewrap.
    T1b,
    /// Namespaces with a separate root, Landlock and seccomp.
    T1,
}

impl Tier {
    /// Returns the name used in results and settings.
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

    /// Path, which need not be valid UTF-8.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub struct RawPath(Vec<u8>);

    impl RawPath {
        /// Returns the path.
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

    /// Path. It is not sent to another process on this system.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub struct RawPath(PathBuf);

    impl RawPath {
        /// Returns the path.
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

/// File or directory that commands see at its own path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposed {
    /// Path, both inside and outside of the cell.
    pub path: RawPath,
    /// `true` if commands may change it.
    pub write: bool,
}

/// Network of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Separate loopback interface only.
    Off,
    /// Separate loopback interface with a listener for the host's proxy.
    Proxy,
    /// Network of the host.
    Host,
}

/// Properties that all commands of a cell share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellSpec {
    /// Confinement of the commands.
    pub tier: Tier,
    /// Directory of the project.
    pub workspace: RawPath,
    /// Visible files and directories, including the workspace. They all exist.
    pub exposed: Vec<Exposed>,
    /// Home directory of commands: in memory in T1 and T1b; an existing directory in T2, unless it is among
    /// `exposed`.
    pub home: RawPath,
    /// Links in the home directory, for names that users know from their own home.
    pub home_links: Vec<HomeLink>,
    /// Initial files of an in-memory home directory, which commands can change there. Their names differ from
    /// those of the links.
    pub home_files: Vec<HomeFile>,
    /// Files of the machine that commands may know to exist. In a root in memory, an empty file that cannot be read
    /// stands for each. They lie below nothing that is exposed, and nothing exposed lies below their directories.
    pub stand_ins: Vec<RawPath>,
    /// Directory for temporary files, for tiers that cannot mount their own `/tmp`.
    pub scratch: RawPath,
    /// Size of `/tmp` in bytes.
    pub tmp_bytes: u64,
    /// Network of the commands.
    pub network: Network,
    /// Content of `/etc/ssh/ssh_config`, for cells with their own `/etc`.
    pub ssh_config: Option<String>,
    /// Services of the machine, each with a listener in the cell that the host forwards.
    pub local: Vec<Local>,
    /// Upper limit of the Landlock ABI version, to test the behavior of older kernels.
    pub landlock_at_most: Option<u32>,
}

impl CellSpec {
    /// Returns `true` if something of the machine is visible below a path, so that the path has to be a
    /// directory.
    pub fn shows_below(&self, path: &Path) -> bool {
        let exposed = self.exposed.iter().map(|exposed| exposed.path.as_path());
        exposed.chain(self.stand_ins.iter().map(RawPath::as_path)).any(|shown| shown.starts_with(path))
    }
}

/// Address of a service, both inside and outside of the cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Local {
    /// A port of the loopback interface.
    Tcp(SocketAddr),
    /// A Unix socket, in a directory that the cell does not expose.
    Unix(RawPath),
}

/// Descriptor that comes with a message of the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listener {
    /// Listener for the host's proxy.
    Proxy,
    /// Listener for a service at a port.
    Tcp,
    /// Listener for a service at a path.
    Unix,
}

/// Link in the home directory of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeLink {
    /// Path relative to the home directory, without `..`.
    pub inside: RawPath,
    /// Target of the link.
    pub target: RawPath,
}

/// File in the home directory of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeFile {
    /// File name without a directory.
    pub name: String,
    /// Content of the file.
    pub content: Vec<u8>,
}

/// Rule for a path in the workspace while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cover {
    /// Directory that cannot be moved; its contents keep their own rules.
    Pin(RawPath),
    /// Path that cannot be changed.
    Freeze(RawPath),
    /// Path that cannot be read or changed. A symbolic link at this path is hidden itself.
    Hide(RawPath),
    /// Link that cannot be replaced; its target has a separate cover. The cell uses this for a frozen or
    /// hidden link where no mount can cover one.
    Keep(RawPath),
    /// Path that does not exist and cannot be created.
    Absent(RawPath),
}

impl Cover {
    /// Returns the path of the cover.
    pub fn path(&self) -> &Path {
        let (Self::Pin(path) | Self::Freeze(path) | Self::Hide(path) | Self::Keep(path) | Self::Absent(path)) =
            self;
        path.as_path()
    }
}

/// Landlock grant, for tiers without a separate root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// File, or directory and everything below it.
    pub path: RawPath,
    /// Granted access.
    pub access: Access,
}

/// Permitted operations on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// List directories.
    List,
    /// Read and execute.
    Read,
    /// Read, execute, change, create and remove.
    Write,
}

/// Resource limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum number of processes and threads at the same time.
    pub processes: u32,
    /// Maximum memory of all processes together, in bytes.
    pub memory: u64,
    /// Maximum number of descriptors of a process.
    pub open_files: u64,
    /// Maximum size of a file in bytes.
    pub file_size: u64,
}

/// Specification of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Argument of `bash -c`.
    pub command: String,
    /// Complete environment.
    pub environment: Vec<(String, String)>,
    /// Time limit in milliseconds, after which the command is ended.
    pub timeout_ms: Option<u64>,
    /// Resource limits.
    pub limits: Limits,
    /// Rules for paths in the workspace.
    pub covers: Vec<Cover>,
    /// Names that cannot be created in any directory below a writable one. Exceptions are directories that
    /// the command created and everything below one of [`packages`](Self::packages), because unpacked files
    /// bring such names along. A name may contain one `*`, which stands for any characters, or be a path of
    /// several components (`a/b`).
    pub absent_names: Vec<String>,
    /// Names of directories that are never opened as a project.
    pub packages: Vec<String>,
    /// Directories that this command may see if the cell does not expose them. In T2 their contents are
    /// granted one by one.
    pub areas: Vec<Exposed>,
    /// Landlock grants in T2, in addition to what the cell exposes outside of the workspace.
    pub granted: Vec<Granted>,
    /// Trees in which the command can move entries, if the locks of `Moves` are passed along.
    pub changed: Option<Trees>,
    /// `true` if the host connects to the command's servers, through sockets that the supervisor makes.
    pub publishes: bool,
    /// Source address of connections to the host's proxy, which tells commands of a common network apart by it.
    pub source: Option<Ipv4Addr>,
}

impl CommandSpec {
    /// Creates a command without rules or a time limit.
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
            changed: None,
            publishes: false,
            source: None,
        }
    }
}

/// Messages from the host to the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Builds the sandbox: the first message, sent once.
    Build(CellSpec),
    /// Starts a command.
    Run(CommandSpec),
}

/// Messages from the helper to the host about the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Built {
    /// Commands can be run. Listeners in the cell's network are attached: for the proxy, then for the services in
    /// their order.
    Ready(Vec<Listener>),
    /// The sandbox cannot be built.
    Failed(Fault),
}

/// Advice for a failed step for which the system had not enough.
pub(crate) const LACK: &str = "; repeat it when fewer commands and programs run, or raise the limit of open files with `ulimit -n` where the server is started";

/// Failed step with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {error}{}", if *.is_lack { LACK } else { "" })]
pub struct Fault {
    /// Description of the step.
    pub step: String,
    /// Error of the system.
    pub error: String,
    /// `true` if a path has changed since the host's scan, so that a retry is worthwhile.
    pub changed: bool,
    /// `true` if the process or the system had no descriptors, memory or processes left.
    pub is_lack: bool,
}

impl Fault {
    /// Creates a fault from a step and its error.
    pub fn new(step: impl Into<String>, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        let is_lack = codes(&*error).any(scorpiox_sys::is_lack);
        Self { step: step.into(), error: error.to_string(), changed: false, is_lack }
    }

    /// Returns a function that converts an error, for `map_err`.
    pub fn at<E: Into<Box<dyn Error + Send + Sync>>>(step: &str) -> impl FnOnce(E) -> Self + '_ {
        move |error| Self::new(step, error)
    }

    /// Creates the fault of a path that has changed since the host's scan, or that cannot be reached.
    #[cfg(target_os = "linux")]
    pub fn of_path(step: &str, path: &Path, error: std::io::Error) -> Self {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let looped = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        let changed = looped || matches!(error.kind(), NotFound | NotADirectory);
        Self { changed, ..Self::new(format!("{step} {}", path.display()), error) }
    }
}

/// Returns the numbers of the system's errors that caused an error.
pub(crate) fn codes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = i32> + use<'e> {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.filter_map(|error| {
        #[cfg(unix)]
        if let Some(errno) = error.downcast_ref::<rustix::io::Errno>() {
            return Some(errno.raw_os_error());
        }
        error.downcast_ref::<std::io::Error>()?.raw_os_error()
    })
}

/// Exit status of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Exit code.
    Code(i32),
    /// Signal that ended the shell.
    Signal(i32),
}

/// Reason why a command was terminated by the host or its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Time limit exceeded.
    Timeout,
    /// Request of the host.
    Stopped,
    /// Process limit exceeded.
    Processes,
    /// Memory limit exceeded.
    Memory,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Exit status of the shell.
    pub status: Status,
    /// Reason of a forced termination, if there was one.
    pub ended: Option<Ended>,
    /// Number of processes that outlived the shell and were killed.
    pub leftover: u32,
    /// Duration from the start of the shell to its end, in milliseconds.
    pub duration_ms: u64,
    /// Processor time of all processes in microseconds; 0 if the system does not report it.
    pub processor_us: u64,
    /// Names that must stay absent, and new repositories.
    pub names: Names,
    /// Folders in memory that were full in the end, because of their limit.
    pub full: Vec<RawPath>,
}

/// Messages from the supervisor of a command to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The command is completely confined.
    Started,
    /// Listeners in the command's own network are attached, in the same order.
    Listening(Vec<Listener>),
    /// The command could not be started.
    Failed(Fault),
    /// The command has ended, and none of its processes is left.
    Done(Outcome),
    /// Like [`Event::Done`]. The outcome does not fit into a message: it is in a memory file, the only descriptor.
    DoneAtLength,
}

/// Messages from the host to the supervisor of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// Sends SIGTERM, and SIGKILL to processes that have not ended after a grace period.
    Gently,
    /// Sends SIGKILL.
    Now,
}

/// Address family of a socket that the host requests from the supervisor, in the command's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no rules")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn a_lack_is_found_behind_other_errors() {
        for (fault, is_lack) in [
            (Fault::new("a step", Errno::MFILE), true),
            (Fault::new("a step", Errno::AGAIN), true),
            (Fault::new("a step", Wrapped(Errno::NOMEM.into())), true),
            (Fault::new("a step", Wrapped(Errno::PERM.into())), false),
            (Fault::new("a step", io::Error::other("EMFILE")), false),
            (Fault::new("a step", "too many open files"), false),
        ] {
            assert_eq!(fault.is_lack, is_lack, "{fault}");
            assert_eq!(fault.to_string().contains("`ulimit -n`"), is_lack, "{fault}");
        }
    }
}
