//! Communicates with a server over pipes, with minimal overhead above the system calls.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::watchdog;

/// Exceeds the total size of the answers in a round. Untouched pages use no memory.
const BUFFER_BYTES: usize = 16 * 1024 * 1024;

const INITIALIZE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";
const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
const LIST_TOOLS: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";

const SKILL: &str = "---\nname: greet\ndescription: Says hello to somebody.\n---\nSay hello to $ARGUMENTS.\n";

/// Server program with a separate home and workspace.
pub struct Program {
    pub name: &'static str,
    binary: PathBuf,
    folder: PathBuf,
    variables: Vec<(&'static str, String)>,
    /// Launcher with arguments; empty if the binary is started directly.
    launcher: Vec<PathBuf>,
}

impl Program {
    /// Creates a program with its directories in a new directory below `parent`.
    pub fn new(name: &'static str, binary: &Path, parent: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().disable_cleanup(true).tempdir_in(parent)?.keep();
        let skill = folder.join("workspace/.claude/skills/greet");
        fs::create_dir_all(&skill)?;
        // As created by an installation.
        fs::create_dir_all(folder.join("home/.scorpiox"))?;
        let program =
            Self { name, binary: binary.to_owned(), folder, variables: Vec::new(), launcher: Vec::new() };
        program.write_skill()?;
        Ok(program)
    }

    /// Writes the skill, which updates its modification time.
    pub fn write_skill(&self) -> Result<()> {
        Ok(fs::write(self.folder.join("workspace/.claude/skills/greet/SKILL.md"), SKILL)?)
    }

    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Starts the program through a launcher, given by its path and arguments.
    pub fn through(mut self, launcher: &[&Path]) -> Self {
        self.launcher = launcher.iter().map(|part| part.to_path_buf()).collect();
        self
    }

    /// Writes the operator's policy.
    pub fn with_policy(self, policy: &str) -> Result<Self> {
        let home = self.folder.join("home/.scorpiox");
        fs::create_dir_all(&home)?;
        fs::write(home.join("policy.toml"), format!("version = 1\n{policy}"))?;
        Ok(self)
    }

    /// Returns the workspace.
    #[cfg(feature = "native")]
    pub fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Returns the program's own directory.
    pub fn own_home(&self) -> PathBuf {
        self.folder.join("home/.scorpiox")
    }

    /// Returns the command that starts the program in its directories.
    pub fn command(&self) -> Command {
        let home = self.folder.join("home");
        let mut parts = self.launcher.iter().chain([&self.binary]);
        let mut command = Command::new(parts.next().unwrap_or(&self.binary));
        command
            .args(parts)
            .current_dir(self.folder.join("workspace"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SCORPIOX_HOME", home.join(".scorpiox"))
            .env("HOME", home)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// Installs a component as a plugin and approves it. Returns the seconds of the inspection, which
    /// includes compilation.
    pub fn install(&self, component: &Path) -> Result<f64> {
        let begin = Instant::now();
        let mut look = self.command();
        let output = look.args(["plugin", "hash"]).arg(component).output()?;
        let time = begin.elapsed();
        ensure!(output.status.success(), "no hash: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let hash = text.trim();
        let mut approve = self.command();
        let approved = approve.args(["plugin", "add"]).arg(component).args(["--yes", hash]).output()?;
        ensure!(approved.status.success(), "not approved: {}", String::from_utf8_lossy(&approved.stderr));
        Ok(time.as_secs_f64())
    }

    /// Starts the program and performs the handshake. The times run from before the start to the answers of
    /// `initialize` and of the following `tools/list`.
    pub fn start(&self) -> Result<(Server, StartTimes)> {
        let mut command = self.command();
        let begin = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("{} does not start", self.binary.display()))?;
        let input = child.stdin.take().context("no pipe")?;
        let output = child.stdout.take().context("no pipe")?;
        let mut server = Server { name: self.name, child, input, output, buffer: vec![0; BUFFER_BYTES] };
        server.exchange(INITIALIZE)?;
        let initialized = begin.elapsed();
        let memory = server.peak_memory()?;
        let looked = begin.elapsed() - initialized;
        server.send(INITIALIZED)?;
        let tools = server.exchange(LIST_TOOLS)?;
        let listed = begin.elapsed() - looked;
        let text = String::from_utf8_lossy(tools);
        ensure!(text.contains("\"tools\":["), "{} does not list its tools: {text}", self.name);
        Ok((server, StartTimes { initialized, listed, memory }))
    }
}

/// Times since the start of the process was requested.
pub struct StartTimes {
    pub initialized: Duration,
    pub listed: Duration,
    /// Peak resident memory at the first answer, in bytes.
    pub memory: f64,
}

/// Running server after the handshake.
pub struct Server {
    pub name: &'static str,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    buffer: Vec<u8>,
}

impl Server {
    pub fn send(&mut self, lines: &[u8]) -> Result<()> {
        watchdog::step();
        self.input.write_all(lines).with_context(|| format!("{} does not read", self.name))
    }

    /// Sends one request and reads to the end of its answer.
    pub fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.send(request)?;
        let mut length = 0;
        while length == 0 || self.buffer[length - 1] != b'\n' {
            length += self.receive(length)?.len();
        }
        Ok(self.received(length))
    }

    /// Waits for input and appends it after the first `length` received bytes.
    pub fn receive(&mut self, length: usize) -> Result<&[u8]> {
        let got = self.output.read(&mut self.buffer[length..])?;
        watchdog::step();
        ensure!(got > 0, "{} has ended, or answers with more than {BUFFER_BYTES} bytes", self.name);
        Ok(&self.buffer[length..length + got])
    }

    /// Returns the first `length` received bytes.
    pub fn received(&self, length: usize) -> &[u8] {
        &self.buffer[..length]
    }

    /// Returns the peak resident memory in bytes.
    pub fn peak_memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }

    /// Closes the input, waits for the process to exit, and returns the time that took.
    pub fn close(self) -> Result<Duration> {
        let Self { name, mut child, input, output, .. } = self;
        let begin = Instant::now();
        drop(input);
        let status = child.wait()?;
        let time = begin.elapsed();
        watchdog::step();
        drop(output);
        ensure!(status.success(), "{name} ended with {status}");
        Ok(time)
    }
}
