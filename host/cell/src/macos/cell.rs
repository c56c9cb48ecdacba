//! A cell: what the profiles of its commands have in common.

use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::tree::Processes;
use super::{Running, SANDBOX_EXEC};
use crate::followed::Followed;
use crate::moves::Moves;
use crate::seam::{Bell, CellError, Helper};
use crate::seatbelt;
use crate::wire::{CellSpec, CommandSpec, Fault, Network, Tier};

/// What every command is started by: it kills the command's process group when the server has gone, sets the limits that
/// processes inherit, and becomes `sandbox-exec`, which becomes the command's shell. Its standard input is the pipe
/// that tells of the server's end.
const START: &str = "exec 3<&0 </dev/null\n\
    { read -r _ <&3; kill -KILL -- -$$; } >/dev/null 2>&1 &\n\
    exec 3<&-\n\
    ulimit -c 0 && ulimit -n \"$2\" && ulimit -f \"$3\" || exit 126\n\
    exec \"$0\" -p \"$1\" /bin/bash --noprofile --norc -c \"$4\"";
/// What the system counts a file's size in, for `ulimit`.
const BLOCK_BYTES: u64 = 512;
/// How the service is called, which does not exist, that the processes of one command may look up.
const MARK: &str = "scorpiox.command.";

/// Where commands run.
#[derive(Debug)]
pub struct Cell {
    spec: CellSpec,
    listener: Option<TcpListener>,
    /// Where the host's proxy listens, for commands that have it.
    proxy_port: Option<u16>,
}

impl Cell {
    /// Looks whether commands can be run as asked.
    pub fn build(_: &Helper, spec: &CellSpec) -> Result<Self, CellError> {
        if !matches!(spec.tier, Tier::Seatbelt | Tier::None) {
            return Err(Fault::new("building a sandbox", "only Linux has this tier").into());
        }
        let listener = match spec.network {
            Network::Proxy => Some(
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Fault::at("listening for the proxy"))?,
            ),
            Network::Off | Network::Host => None,
        };
        let port = listener.as_ref().map(TcpListener::local_addr).transpose();
        let port = port.map_err(Fault::at("listening for the proxy"))?.map(|address| address.port());
        Ok(Self { spec: spec.clone(), listener, proxy_port: port })
    }

    /// A listener for the proxy, if the network is a list of hosts.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Where commands find the proxy.
    pub fn proxy_port(&self) -> Option<u16> {
        self.proxy_port
    }

    /// Starts a command. Its standard input is nothing.
    #[allow(clippy::needless_pass_by_value)] // as where it is sent away
    pub fn run(
        &self,
        call: CommandSpec,
        _: Option<Bell<'_>>,
        _: Option<&Moves>,
    ) -> Result<Running, CellError> {
        let mark = mark();
        let profile = seatbelt::profile(&self.spec, &call, &mark, self.proxy_port)?;
        self.start(&call, &profile, &mark).map_err(CellError::helper)
    }

    #[allow(clippy::disallowed_methods)] // the one place that starts a program here
    fn start(&self, call: &CommandSpec, profile: &str, mark: &str) -> io::Result<Running> {
        use std::os::unix::process::CommandExt as _;
        let (watched, alive) = io::pipe()?;
        let (output, theirs) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", START, SANDBOX_EXEC, profile])
            .arg(call.limits.open_files.to_string())
            .arg((call.limits.file_size / BLOCK_BYTES).to_string())
            .arg(&call.command)
            .current_dir(self.spec.workspace.as_path())
            .env_clear()
            .envs(call.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(watched)))
            .stdout(theirs.try_clone()?)
            .stderr(theirs);
        let child = command.spawn()?;
        // It holds the other ends of the pipes.
        drop(command);
        let mark = CString::new(mark).map_err(io::Error::other)?;
        let processes = Processes::new(mark, call.limits, alive);
        Followed::new(processes, child, output, call.timeout_ms)
    }

    /// Commands end by themselves.
    #[allow(clippy::unused_self)] // as where there is something to end
    pub fn end(&self) {}
}

/// What tells the commands of all servers apart.
fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{MARK}{}-{count}-{:x}", std::process::id(), since.as_nanos())
}
