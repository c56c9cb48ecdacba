//! A cell without a sandbox.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use scorpiox_sys::windows::job::{Job, Limits};

use super::Running;
use crate::listeners::Listeners;
use crate::moves::Moves;
use crate::seam::{Bell, CellError, Helper};
use crate::wire::{CellSpec, CommandSpec, Fault, Tier};

/// Paths of bash in an installation of Git for Windows for all users, which users cannot modify.
const BASH: [&str; 2] = [r"C:\Program Files\Git\bin\bash.exe", r"C:\Program Files (x86)\Git\bin\bash.exe"];
/// Environment variable that carries the command: bash splits arguments from another program by its own
/// rules.
const COMMAND: &str = "SCORPIOX_COMMAND";
const SCRIPT: &str = r#"c=$SCORPIOX_COMMAND; unset SCORPIOX_COMMAND; eval "$c""#;
/// Maximum length of an environment variable in UTF-16 units.
const MOST_UNITS: usize = 32_766;
/// Variables that every program needs to start or to find its own files.
const SYSTEM: [&str; 9] = [
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "ProgramFiles",
    "ProgramData",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// Environment that commands run in.
#[derive(Debug)]
pub struct Cell {
    bash: PathBuf,
    workspace: PathBuf,
}

impl Cell {
    /// Finds bash. Succeeds only for commands that the operator allows to run without a sandbox.
    pub fn build(_: &Helper, spec: &CellSpec) -> Result<Self, CellError> {
        if spec.tier != Tier::None {
            return Err(CellError::NoSandbox);
        }
        let found = BASH.iter().map(Path::new).find(|path| path.is_file());
        let bash = found.ok_or_else(|| {
            Fault::new(
                "looking for bash",
                format!("{} is not there; install Git for Windows for all users", BASH[0]),
            )
        })?;
        Ok(Self { bash: bash.to_owned(), workspace: spec.workspace.as_path().to_owned() })
    }

    /// Returns none: commands use the machine's network.
    pub fn take_listeners(&mut self) -> Listeners {
        Listeners::default()
    }

    /// Returns the port of the proxy, if it is not [`crate::PROXY_PORT`].
    #[allow(clippy::unused_self)] // same signature as on macOS
    pub fn proxy_port(&self) -> Option<u16> {
        None
    }

    /// Starts a command with an empty standard input.
    #[allow(clippy::needless_pass_by_value)] // same signature as on Linux
    pub fn run(
        &self,
        call: CommandSpec,
        _: Option<Bell<'_>>,
        _: Option<&Moves>,
    ) -> Result<Running, CellError> {
        if call.command.encode_utf16().count() > MOST_UNITS {
            let why = format!("it has more than {MOST_UNITS} characters; write it to a file and run that");
            return Err(Fault::new("passing the command on", why).into());
        }
        self.start(&call).map_err(CellError::helper)
    }

    #[allow(clippy::disallowed_methods)] // the one place that starts a program here
    fn start(&self, call: &CommandSpec) -> io::Result<Running> {
        let job =
            Job::new(&Limits { processes: call.limits.processes, memory: call.limits.memory, time: None })?;
        let (output, theirs) = io::pipe()?;
        let system = SYSTEM.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut command = Command::new(&self.bash);
        command
            .args(["--noprofile", "--norc", "-c", SCRIPT])
            .current_dir(&self.workspace)
            .env_clear()
            .envs(system)
            .envs(call.environment.iter().map(|(name, value)| (name, value)))
            .env(COMMAND, &call.command)
            .stdin(Stdio::null())
            .stdout(theirs.try_clone()?)
            .stderr(theirs);
        let child = job.start(&mut command)?;
        // The builder holds the other end of the pipe.
        drop(command);
        Running::new(job, child, output, call.timeout_ms)
    }

    /// Does nothing: commands end on their own.
    #[allow(clippy::unused_self)] // same signature as on Linux
    pub fn end(&self) {}
}
