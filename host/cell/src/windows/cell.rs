//! A cell without walls.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use scorpiox_windows::job::{Job, Limits};

use super::Running;
use crate::moves::Moves;
use crate::seam::{Bell, CellError, Helper};
use crate::wire::{CellSpec, CommandSpec, Fault, Tier};

/// Where Git for Windows has its bash when it is installed for all users, who cannot change it there.
const BASH: [&str; 2] = [r"C:\Program Files\Git\bin\bash.exe", r"C:\Program Files (x86)\Git\bin\bash.exe"];
/// The command goes by a variable: how bash takes words apart that another program gives it is its own.
const COMMAND: &str = "SCORPIOX_COMMAND";
const SCRIPT: &str = r#"c=$SCORPIOX_COMMAND; unset SCORPIOX_COMMAND; eval "$c""#;
/// Longest variable, in UTF-16 units.
const MOST_UNITS: usize = 32_766;
/// Without these no program starts, or finds its own parts.
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

/// Where commands run.
#[derive(Debug)]
pub struct Cell {
    bash: PathBuf,
    workspace: PathBuf,
}

impl Cell {
    /// Finds bash. Only for commands that the operator allows to run without a sandbox.
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

    /// Nothing listens: commands have the machine's network.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        None
    }

    /// Where commands find the proxy, if not at [`crate::PROXY_PORT`].
    #[allow(clippy::unused_self)] // as where it is the machine's network
    pub fn proxy_port(&self) -> Option<u16> {
        None
    }

    /// Starts a command. Its standard input is nothing.
    #[allow(clippy::needless_pass_by_value)] // as where it is sent away
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
        // It holds the other end of the pipe.
        drop(command);
        Running::new(job, child, output, call.timeout_ms)
    }

    /// Commands end by themselves.
    #[allow(clippy::unused_self)] // as where there is something to end
    pub fn end(&self) {}
}
