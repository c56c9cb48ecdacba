//! The real program, in folders of its own.

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

/// Longest time that any single answer may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program's file: `SCORPIOX_BINARY`, else the one that `make build` made.
pub fn binary() -> PathBuf {
    let folder = if cfg!(windows) { "../target/x86_64-pc-windows-gnu/release" } else { "../target/release" };
    let name = format!("scorpiox-code{}", std::env::consts::EXE_SUFFIX);
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    let path = std::env::var_os("SCORPIOX_BINARY").map_or_else(built, PathBuf::from);
    assert!(path.is_file(), "{} is missing; run `make build`", path.display());
    path.canonical()
}

/// A path as the program writes it.
pub trait Canonical {
    /// Where it is, links followed. On Windows without the prefix of long paths.
    fn canonical(&self) -> PathBuf;
}

impl Canonical for Path {
    fn canonical(&self) -> PathBuf {
        dunce::canonicalize(self).unwrap_or_else(|e| panic!("{}: {e}", self.display()))
    }
}

/// What a policy says where commands are to run: there is no sandbox for them on Windows, and the user allows that.
pub const ALLOWS_COMMANDS: &str = if cfg!(windows) { "[shell]\nallow_unsandboxed = true\n" } else { "" };

/// Puts the program's file at `path`. Where that has to be a copy, another process makes it: a program cannot be run
/// while anybody may write it, as a child of another test may that begins meanwhile.
pub fn install(path: &Path) {
    if cfg!(windows) {
        std::fs::copy(binary(), path).expect("a copy");
    } else if std::fs::hard_link(binary(), path).is_err() {
        let copied = Command::new("cp").arg(binary()).arg(path).status();
        assert!(copied.expect("cp runs").success(), "{}", path.display());
    }
}

/// The folder of real inputs, if it is there.
pub fn shared_data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !path.exists() {
        eprintln!("skipped: the shared test data is not beside the project");
        return None;
    }
    path.canonicalize().ok()
}

/// How to start the program: a fresh home and workspace that vanish with this value.
pub struct Program {
    folder: TempDir,
    binary: PathBuf,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    #[cfg(unix)]
    refused: Option<Refused>,
    /// What is in the place of the system's own folder of programs.
    #[cfg(unix)]
    programs: Option<PathBuf>,
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}

impl Program {
    /// One whose results carry data beside their text, by a setting, since tests read that.
    pub fn new() -> Self {
        Self::as_shipped().with("STRUCTURED", "true")
    }

    /// One without any setting: what models are sent.
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

    /// Sets an environment variable. Nothing else is inherited.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Lets commands run, also where there is no sandbox for them.
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

    /// Starts it in a container that refuses namespaces.
    #[cfg(unix)]
    pub fn refusing(mut self, refused: Refused) -> Self {
        self.refused = Some(refused);
        self
    }

    /// Puts a program where the system has its own, for this program alone; the folder that it is in.
    /// Only root can do that.
    #[cfg(unix)]
    pub fn with_system_program(mut self, name: &str, script: &str) -> Self {
        let path = self.put(&format!("system/{name}"), script);
        make_runnable(&path);
        self.programs = path.parent().map(Path::to_owned);
        self
    }

    /// The folder of those programs.
    #[cfg(unix)]
    pub fn system_programs(&self) -> PathBuf {
        self.folder.path().join("system")
    }

    /// The user's home folder; the program's own folder is `.scorpiox` below it.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Writes a file, named from the folder that holds `home` and `workspace`; makes the
    /// folders on the way.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        // With the separators of the system.
        let file: PathBuf = self.folder.path().join(path).components().collect();
        let folder = file.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("folders");
        std::fs::write(&file, content).expect("a file");
        file
    }

    /// Starts a program of its own instead, which lies in the folder `bin` beside `home`.
    pub fn with_own_binary(mut self) -> Self {
        let own = self.folder.path().join(format!("bin/scorpiox-code{}", std::env::consts::EXE_SUFFIX));
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
        install(&own);
        self.binary = own;
        self
    }

    /// Starts it from a shell script, which does something first.
    #[cfg(unix)]
    pub fn after(mut self, script: &str) -> Self {
        let text = format!("#!/bin/bash\nset -e\n{script}\nexec '{}' \"$@\"\n", self.binary.display());
        let path = self.put("bin/start", text);
        make_runnable(&path);
        self.binary = path;
        self
    }

    /// The command, to be started in any way.
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

    /// The program, or what puts the test's programs in place before it becomes the program.
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

    /// Starts it as a server.
    pub fn start(&self) -> Started {
        Started::spawn(self.command())
    }

    /// Starts it as a server that keeps its folders.
    pub fn serve(self) -> Served {
        Served { server: self.start(), program: self }
    }

    /// Runs a command of it to its end: exit status, standard output, standard error.
    pub fn run(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = started(&mut command).wait_with_output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status, text(output.stdout), text(output.stderr))
    }
}

/// A server together with its folders, which vanish after it.
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

/// What came, if anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Message(Value),
    Nothing,
    End,
}

/// A server that runs. Killed when dropped.
pub struct Started {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// Every message that came, for checks afterwards.
    pub received: Vec<Value>,
}

/// Starts a program that may just have been written: another test that begins a process at that moment holds the file
/// open for as long as it takes to become another program.
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
    /// Starts a command that is the program, or that becomes it.
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
        // Read to the end so that the program never waits for it; shown when a test fails.
        thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            if !text.is_empty() {
                eprintln!("--- standard error of the program ---\n{text}");
            }
        });
        Self { child, input, lines, next_id: 1, received: Vec::new() }
    }

    /// Sends a message to a program that may have ended already; whether it took it.
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

    /// The next message, whatever it is; `None` when the output has ended.
    #[allow(clippy::should_implement_trait)] // no iterator: it waits, and for no longer than patience lasts
    pub fn next(&mut self) -> Option<Value> {
        match self.next_within(PATIENCE) {
            Next::Message(message) => Some(message),
            Next::End => None,
            Next::Nothing => panic!("the program gave no message within {PATIENCE:?}"),
        }
    }

    /// What comes within `time`.
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

    /// The next message as it came.
    pub fn raw_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a message")
    }

    /// Takes `count` messages without looking at them.
    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.lines.recv_timeout(PATIENCE).expect("a message");
        }
    }

    /// The next notification of this method; other messages on the way are kept in
    /// `received`.
    pub fn notification(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().unwrap_or_else(|| panic!("the output ended before {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Whether nothing comes for `time`.
    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        match self.lines.recv_timeout(time) {
            Ok(line) => panic!("unexpected message: {line}"),
            Err(_) => true,
        }
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The answer to the request `id`; other messages on the way are kept in `received`.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().unwrap_or_else(|| panic!("the output ended before the answer to {id}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// A request and its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The handshake; gives the result of `initialize`.
    pub fn initialize(&mut self, revision: &str) -> Value {
        self.initialize_with(revision, json!({}))
    }

    /// The handshake of a client with these capabilities.
    pub fn initialize_with(&mut self, revision: &str, capabilities: Value) -> Value {
        self.introduce("tests", revision, capabilities)
    }

    /// The handshake of a client that calls itself so.
    pub fn introduce(&mut self, name: &str, revision: &str, capabilities: Value) -> Value {
        let client = json!({ "name": name, "version": "1" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let answer = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// Calls a tool in the handshake era and gives the result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_none(), "{tool} gave a protocol error: {answer}");
        answer["result"].clone()
    }

    /// The text of a call that must succeed.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["content"][0]["text"].as_str().expect("text").to_owned()
    }

    /// Ends the input, as a client does that has finished.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the process: its status, and how long it took.
    pub fn wait(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let status = ends_within(&mut self.child, PATIENCE).expect("the program does not end");
        (status, start.elapsed())
    }

    /// The most memory that it had at once, in KiB, where the system says so.
    pub fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Kills it, as `kill -9` does.
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

/// A text in which rows that were wrapped, since they are wider than a terminal, are one row again.
pub fn unwrapped(text: &str) -> String {
    text.replace("\n        ", " ")
}

/// Parameters with what every request of the revision without a handshake carries.
pub fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
    params
}

/// How a child ends, if it does within `time`.
#[cfg(unix)]
pub fn ends_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let pid = Pid::from_child(child);
    // A descriptor of a process can be read from when the process has ended.
    let process = pidfd_open(pid, PidfdFlags::empty()).expect("a child of ours");
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let time = Timespec::try_from(time).expect("a short time");
    let ended = poll(&mut polled, Some(&time)).expect("a descriptor of ours") > 0;
    ended.then(|| child.wait().expect("a child of ours"))
}

/// How a child ends, if it does within `time`.
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

/// Without these no program of Windows starts.
fn system_variables() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let names = if cfg!(windows) { &["SystemRoot", "SystemDrive", "TEMP", "TMP"][..] } else { &[] };
    names.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}
