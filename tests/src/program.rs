//! Starts the built program in directories of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

#[cfg(unix)]
use crate::container::{self, Refused};

/// Maximum time to wait for any single response before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the program's file: `SCORPIOX_BINARY`, or the output of `make build`.
pub fn binary() -> PathBuf {
    let folder = if cfg!(windows) { "../target/x86_64-pc-windows-gnu/release" } else { "../target/release" };
    let name = format!("scorpiox-code{}", std::env::consts::EXE_SUFFIX);
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    let path = std::env::var_os("SCORPIOX_BINARY").map_or_else(built, PathBuf::from);
    assert!(path.is_file(), "{} is missing; run `make build`", path.display());
    path.canonical()
}

/// Converts a path into the form that the program prints.
pub trait Canonical {
    /// Resolves links. On Windows, strips the prefix of long paths.
    fn canonical(&self) -> PathBuf;
}

impl Canonical for Path {
    fn canonical(&self) -> PathBuf {
        dunce::canonicalize(self).unwrap_or_else(|e| panic!("{}: {e}", self.display()))
    }
}

/// Policy lines needed to run commands: Windows has no sandbox, so the user must allow unsandboxed commands.
pub const ALLOWS_COMMANDS: &str = if cfg!(windows) { "[shell]\nallow_unsandboxed = true\n" } else { "" };

/// Installs the program's file at `path`. If a copy is needed, another process makes it: a file open for
/// writing cannot be executed, and a child that another test forks at that moment would inherit the open
/// descriptor.
pub fn install(path: &Path) {
    if cfg!(windows) {
        std::fs::copy(binary(), path).expect("a copy");
    } else if std::fs::hard_link(binary(), path).is_err() {
        let copied = Command::new("cp").arg(binary()).arg(path).status();
        assert!(copied.expect("cp runs").success(), "{}", path.display());
    }
}

/// Returns the directory of third-party inputs, `tests/data`.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// Describes how to start the program. Its fresh home and workspace are removed when this value is dropped.
pub struct Program {
    folder: TempDir,
    binary: PathBuf,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    #[cfg(unix)]
    refused: Option<Refused>,
    /// Directory that replaces the system's directory of programs.
    #[cfg(unix)]
    programs: Option<PathBuf>,
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}

impl Program {
    /// Creates a program whose results carry structured data next to the text, because tests read it.
    pub fn new() -> Self {
        Self::as_shipped().with("STRUCTURED", "true")
    }

    /// Creates a program without any settings, as models see it.
    pub fn as_shipped() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        for name in ["home", "workspace"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self {
            folder,
            binary: binary(),
            variables: Vec::new(),
            arguments: Vec::new(),
            #[cfg(unix)]
            refused: None,
            #[cfg(unix)]
            programs: None,
        }
    }

    /// Sets an environment variable. No other variables are inherited.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Enables commands, even on systems without a sandbox.
    pub fn with_commands(self) -> Self {
        if cfg!(windows) {
            self.put("home/.scorpiox/policy.toml", format!("version = 1\n{ALLOWS_COMMANDS}"));
        }
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Starts the program in a container that refuses the given system calls.
    #[cfg(unix)]
    pub fn refusing(mut self, refused: Refused) -> Self {
        self.refused = Some(refused);
        self
    }

    /// Installs a script as a system program, visible to this program alone. Requires root.
    #[cfg(unix)]
    pub fn with_system_program(mut self, name: &str, script: &str) -> Self {
        let path = self.put(&format!("system/{name}"), script);
        make_runnable(&path);
        self.programs = path.parent().map(Path::to_owned);
        self
    }

    /// Returns the directory of system programs that [`Self::with_system_program`] fills.
    #[cfg(unix)]
    pub fn system_programs(&self) -> PathBuf {
        self.folder.path().join("system")
    }

    /// Returns the user's home directory. The program's own directory is `.scorpiox` below it.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Writes a file relative to the parent directory of `home` and `workspace`, and creates missing
    /// directories.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        // Collecting the components uses the separators of the system.
        let file: PathBuf = self.folder.path().join(path).components().collect();
        let folder = file.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("folders");
        std::fs::write(&file, content).expect("a file");
        file
    }

    /// Starts a separate copy of the program, located in the directory `bin` next to `home`.
    pub fn with_own_binary(mut self) -> Self {
        let own = self.folder.path().join(format!("bin/scorpiox-code{}", std::env::consts::EXE_SUFFIX));
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
        install(&own);
        self.binary = own;
        self
    }

    /// Starts the program from a shell script that runs other commands first.
    #[cfg(unix)]
    pub fn after(mut self, script: &str) -> Self {
        let text = format!("#!/bin/bash\nset -e\n{script}\nexec '{}' \"$@\"\n", self.binary.display());
        let path = self.put("bin/start", text);
        make_runnable(&path);
        self.binary = path;
        self
    }

    /// Returns the command, not started yet.
    pub fn command(&self) -> Command {
        let mut command = self.bare_command();
        command
            .args(&self.arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env(if cfg!(windows) { "USERPROFILE" } else { "HOME" }, self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(system_variables())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        #[cfg(unix)]
        if let Some(refused) = self.refused {
            container::refuse(&mut command, refused);
        }
        command
    }

    /// Returns the program, or a shell that mounts the system programs of the test before it executes the
    /// program.
    #[cfg(unix)]
    fn bare_command(&self) -> Command {
        let Some(programs) = &self.programs else { return Command::new(&self.binary) };
        let mut command = Command::new("/usr/bin/unshare");
        let mount = "/usr/bin/mount --bind \"$0\" /usr/local/bin && exec \"$@\"";
        command.args(["--mount", "--", "/bin/sh", "-c", mount]).arg(programs).arg(&self.binary);
        command
    }

    #[cfg(windows)]
    fn bare_command(&self) -> Command {
        Command::new(&self.binary)
    }

    /// Starts the program as a server.
    pub fn start(&self) -> Started {
        Started::spawn(self.command())
    }

    /// Starts the program as a server that keeps its directories alive.
    pub fn serve(self) -> Served {
        Served { server: self.start(), program: self }
    }

    /// Runs a subcommand to completion and returns its exit status, standard output and standard error.
    pub fn run(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = started(&mut command).wait_with_output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status, text(output.stdout), text(output.stderr))
    }
}

/// Server together with its directories, which are removed when it is dropped.
pub struct Served {
    server: Started,
    pub program: Program,
}

impl std::ops::Deref for Served {
    type Target = Started;

    fn deref(&self) -> &Started {
        &self.server
    }
}

impl std::ops::DerefMut for Served {
    fn deref_mut(&mut self) -> &mut Started {
        &mut self.server
    }
}

/// Outcome of waiting for a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Message(Value),
    Nothing,
    End,
}

/// Running server process. Killed when dropped.
pub struct Started {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// All received messages, for later checks.
    pub received: Vec<Value>,
}

/// Starts a program whose file may have been written just before. A process that another test forks at that
/// moment inherits the open file until it calls exec, so a start that fails with "text file busy" is retried.
fn started(command: &mut Command) -> Child {
    let begun = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy && begun.elapsed() < PATIENCE =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            started => return started.expect("the program starts"),
        }
    }
}

impl Started {
    /// Starts a command that is the program, or that executes it.
    pub fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = started(&mut command);
        let input = child.stdin.take();
        let output = child.stdout.take().expect("a pipe");
        let mut errors = child.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        // Drains standard error so that the program never blocks on it. The text is printed if a test fails.
        thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            if !text.is_empty() {
                eprintln!("--- standard error of the program ---\n{text}");
            }
        });
        Self { child, input, lines, next_id: 1, received: Vec::new() }
    }

    /// Sends a message to a program that may have exited; `true` if the write succeeded.
    pub fn try_send(&mut self, message: &Value) -> bool {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush()).is_ok()
    }

    /// Sends raw bytes.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the program reads");
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Returns the next message of any kind; `None` when the output has ended.
    #[allow(clippy::should_implement_trait)] // not an iterator: it waits, and panics after `PATIENCE`
    pub fn next(&mut self) -> Option<Value> {
        match self.next_within(PATIENCE) {
            Next::Message(message) => Some(message),
            Next::End => None,
            Next::Nothing => panic!("the program gave no message within {PATIENCE:?}"),
        }
    }

    /// Returns the outcome of waiting for `time`.
    pub fn next_within(&mut self, time: Duration) -> Next {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
                self.received.push(message.clone());
                Next::Message(message)
            }
            Err(RecvTimeoutError::Disconnected) => Next::End,
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
        }
    }

    /// Returns the next message as raw text.
    pub fn raw_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a message")
    }

    /// Skips `count` messages without inspecting them.
    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.lines.recv_timeout(PATIENCE).expect("a message");
        }
    }

    /// Returns the next notification of this method. Messages that arrive before it are stored in `received`.
    pub fn notification(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().unwrap_or_else(|| panic!("the output ended before {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }

    /// `true` if no message arrives for `time`.
    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        match self.lines.recv_timeout(time) {
            Ok(line) => panic!("unexpected message: {line}"),
            Err(_) => true,
        }
    }

    /// Sends a request and returns its ID.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Returns the response to the request `id`. Messages that arrive before it are stored in `received`, where
    /// the answers to other requests are found: requests are answered in any order.
    pub fn answer(&mut self, id: u64) -> Value {
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(earlier) = self.received.iter().find(|message| is_answer(message)) {
            return earlier.clone();
        }
        loop {
            let message = self.next().unwrap_or_else(|| panic!("the output ended before the answer to {id}"));
            if is_answer(&message) {
                return message;
            }
        }
    }

    /// Sends a request and returns the response.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Performs the handshake and returns the result of `initialize`.
    pub fn initialize(&mut self, revision: &str) -> Value {
        self.initialize_with(revision, json!({}))
    }

    /// Performs the handshake with these client capabilities.
    pub fn initialize_with(&mut self, revision: &str, capabilities: Value) -> Value {
        self.introduce("tests", revision, capabilities)
    }

    /// Performs the handshake with this client name.
    pub fn introduce(&mut self, name: &str, revision: &str, capabilities: Value) -> Value {
        let client = json!({ "name": name, "version": "1" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let answer = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// Calls a tool in the handshake era and returns the result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_none(), "{tool} gave a protocol error: {answer}");
        answer["result"].clone()
    }

    /// Returns the text of a call that must succeed.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["content"][0]["text"].as_str().expect("text").to_owned()
    }

    /// Closes the input, like a client that has finished.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the process to exit and returns its status and the time that took.
    pub fn wait(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let status = ends_within(&mut self.child, PATIENCE).expect("the program does not end");
        (status, start.elapsed())
    }

    /// Returns the peak memory of the process in KiB, if the system reports it.
    pub fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Kills the process, like `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().expect("the process is there");
    }

    /// Sends a signal.
    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process is there");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Joins rows that are wrapped to fit the width of a terminal.
pub fn unwrapped(text: &str) -> String {
    text.replace("\n        ", " ")
}

/// Adds the `_meta` members that every request of the revision without a handshake carries.
pub fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
    params
}

/// Returns the exit status of a child if it exits within `time`.
#[cfg(unix)]
pub fn ends_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let pid = Pid::from_child(child);
    // A pidfd becomes readable when the process exits.
    let process = pidfd_open(pid, PidfdFlags::empty()).expect("a child of ours");
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let time = Timespec::try_from(time).expect("a short time");
    let ended = poll(&mut polled, Some(&time)).expect("a descriptor of ours") > 0;
    ended.then(|| child.wait().expect("a child of ours"))
}

/// Returns the exit status of a child if it exits within `time`.
#[cfg(windows)]
pub fn ends_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + time;
    loop {
        match child.try_wait().expect("a child of ours") {
            None if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
            ended => return ended,
        }
    }
}

#[cfg(unix)]
fn make_runnable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("sets");
}

/// Returns the variables that every Windows program needs to start.
fn system_variables() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = if cfg!(windows) { &["SystemRoot", "SystemDrive", "TEMP", "TMP"][..] } else { &[] };
    names.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}
