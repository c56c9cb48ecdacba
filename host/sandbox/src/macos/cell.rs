//! A cell: the common part of its commands' profiles.

use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::tree::Processes;
use super::{Running, SANDBOX_EXEC};
use crate::followed::Followed;
use crate::listeners::Listeners;
use crate::moves::Moves;
use crate::seam::{Bell, CellError, Helper};
use crate::seatbelt;
use crate::wire::{CellSpec, CommandSpec, Fault, Network, Tier};

/// Script that starts every command. It kills the command's process group when the server has exited, sets
/// the inherited limits, and becomes `sandbox-exec`, which becomes the command's shell. Its standard input is
/// a pipe that is closed when the server exits.
const START: &str = "exec 3<&0 </dev/null\n\
    { read -r _ <&3; kill -KILL -- -$$; } >/dev/null 2>&1 &\n\
    exec 3<&-\n\
    ulimit -c 0 && ulimit -n \"$2\" && ulimit -f \"$3\" || exit 126\n\
    exec \"$0\" -p \"$1\" /bin/bash --noprofile --norc -c \"$4\"";
/// Unit of file sizes for `ulimit`.
const BLOCK_BYTES: u64 = 512;
/// Prefix of a fictitious service that only the processes of one command may look up.
const MARK: &str = "scorpiox.command.";

/// Environment that commands run in.
#[derive(Debug)]
pub struct Cell {
    spec: CellSpec,
    listener: Option<TcpListener>,
    /// Port of the host's proxy, for commands that use it.
    proxy_port: Option<u16>,
}

impl Cell {
    /// Creates a cell, if commands can be run as requested.
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

    /// Returns the listener for the proxy, if the network is a list of hosts.
    pub fn take_listeners(&mut self) -> Listeners {
        Listeners::of_proxy(self.listener.take())
    }

    /// Returns the port of the proxy.
    pub fn proxy_port(&self) -> Option<u16> {
        self.proxy_port
    }

    /// Starts a command with an empty standard input.
    #[allow(clippy::needless_pass_by_value)] // same signature as on Linux
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
        // The builder holds the other ends of the pipes.
        drop(command);
        let mark = CString::new(mark).map_err(io::Error::other)?;
        let processes = Processes::new(mark, call.limits, alive);
        Followed::new(processes, child, output, call.timeout_ms)
    }

    /// Does nothing: commands end on their own.
    #[allow(clippy::unused_self)] // same signature as on Linux
    pub fn end(&self) {}
}

/// Returns a service name that is unique among the commands of all servers.
fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{MARK}{}-{count}-{:x}", std::process::id(), since.as_nanos())
}
