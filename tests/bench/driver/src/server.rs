//! A server over its pipes, with nothing between the measurement and the system calls.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::watchdog;

/// Larger than all answers of a round together. Only what is used of it becomes memory.
const BUFFER_BYTES: usize = 16 * 1024 * 1024;

const INITIALIZE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";
const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
const LIST_TOOLS: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";

const SKILL: &str = "---\nname: greet\ndescription: Says hello to somebody.\n---\nSay hello to $ARGUMENTS.\n";

/// A server that can be started, with a home and a workspace of its own.
pub struct Program {
    pub name: &'static str,
    binary: PathBuf,
    folder: PathBuf,
    variables: Vec<(&'static str, String)>,
    /// What starts it, with arguments; nothing when it is started itself.
    launcher: Vec<PathBuf>,
}

impl Program {
    /// `binary`, with its folders in a new folder below `parent`.
    pub fn new(name: &'static str, binary: &Path, parent: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().disable_cleanup(true).tempdir_in(parent)?.keep();
        let skill = folder.join("workspace/.claude/skills/greet");
        fs::create_dir_all(&skill)?;
        // As where the program is installed.
        fs::create_dir_all(folder.join("home/.scorpiox"))?;
        let program =
            Self { name, binary: binary.to_owned(), folder, variables: Vec::new(), launcher: Vec::new() };
        program.write_skill()?;
        Ok(program)
    }

    /// Writes the skill, as somebody does who changes it.
    pub fn write_skill(&self) -> Result<()> {
        Ok(fs::write(self.folder.join("workspace/.claude/skills/greet/SKILL.md"), SKILL)?)
    }

    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Starts it by another program: that one's path and arguments.
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

    /// Where it runs.
    #[cfg(feature = "native")]
    pub fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// The program's own folder.
    pub fn own_home(&self) -> PathBuf {
        self.folder.join("home/.scorpiox")
    }

    /// What starts it, in its folders.
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

    /// Installs a component as a plugin, and approves it. The seconds of the first look, which compiles.
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

    /// Starts it and shakes hands. The times are from before the start to the answer of
    /// `initialize`, and to the one of `tools/list` after it.
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

/// Since before the process was there.
pub struct StartTimes {
    pub initialized: Duration,
    pub listed: Duration,
    /// The most memory that was resident by the first answer, in bytes.
    pub memory: f64,
}

/// A server that runs, after the handshake.
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

    /// Sends one request and reads up to the end of its answer.
    pub fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.send(request)?;
        let mut length = 0;
        while length == 0 || self.buffer[length - 1] != b'\n' {
            length += self.receive(length)?.len();
        }
        Ok(self.received(length))
    }

    /// Waits for something to read and puts it behind the first `length` bytes of what was
    /// received.
    pub fn receive(&mut self, length: usize) -> Result<&[u8]> {
        let got = self.output.read(&mut self.buffer[length..])?;
        watchdog::step();
        ensure!(got > 0, "{} has ended, or answers with more than {BUFFER_BYTES} bytes", self.name);
        Ok(&self.buffer[length..length + got])
    }

    /// The first `length` bytes of what was received.
    pub fn received(&self, length: usize) -> &[u8] {
        &self.buffer[..length]
    }

    /// The most memory that it ever had resident, in bytes.
    pub fn peak_memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }

    /// Closes its input and waits until the process is gone. The time that takes.
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
