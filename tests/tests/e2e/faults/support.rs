//! Shared support for the fault tests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use scorpiox_tests::Program;
use scorpiox_tests::program::ends_within;
use serde_json::{Value, json};

/// Maximum memory of the server, regardless of its client's behavior.
pub const MAX_RSS: u64 = 64 * 1024 * 1024;

/// Reproducible random numbers (`SplitMix64`).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// Returns `true` in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub fn duration(&mut self, at_most: Duration) -> Duration {
        Duration::from_micros(self.number() % (at_most.as_micros() as u64 + 1))
    }
}

/// Returns the seed of all random choices.
pub fn seed() -> u64 {
    std::env::var("SCORPIOX_TEST_SEED").map_or(20_261_120, |text| text.parse().expect("a number"))
}

/// Formats a request as a line.
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    let message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
    format!("{message}\n")
}

/// Formats a tool call as a line.
pub fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Formats a call that creates a task as a line.
pub fn create(id: impl Into<Value>, name: &str) -> String {
    call(id, "TaskManager", json!({ "action": "create", "text": name }))
}

/// Returns the lines of the handshake. Its request has the ID `"hello"`.
pub fn handshake() -> String {
    let client = json!({ "name": "faults", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    format!("{}{ready}\n", request("hello", "initialize", params))
}

/// Returns the text of a result that must be a tool error.
pub fn refusal(answer: &Value) -> String {
    assert_eq!(answer["result"]["isError"], true, "must be refused: {answer}");
    answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

/// Server whose output is read only on demand. Killed when dropped.
pub struct Bare {
    pub child: Child,
    pub input: Option<ChildStdin>,
    pub output: BufReader<ChildStdout>,
}

impl Bare {
    pub fn start(program: &Program) -> Self {
        Self::spawn(program.command())
    }

    pub fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::with_capacity(64 * 1024, child.stdout.take().expect("a pipe"));
        Self { child, input, output }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process is there");
    }

    pub fn send(&mut self, text: &str) -> io::Result<()> {
        self.input.as_mut().expect("the input is open").write_all(text.as_bytes())
    }

    /// Returns the next message; `None` at the end, or if a kill truncated the line.
    pub fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the output can be read");
        let line = line.strip_suffix('\n')?;
        Some(serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}")))
    }

    /// Returns all messages up to the end of the output.
    pub fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Returns the exit status and the elapsed time if the process exits within `time`.
    pub fn end_within(&mut self, time: Duration) -> Option<(ExitStatus, Duration)> {
        let start = Instant::now();
        ends_within(&mut self.child, time).map(|status| (status, start.elapsed()))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a complete session: sends `input` and closes it. Returns the messages, the standard error and the
/// exit status.
pub fn session(program: &Program, input: &str) -> (Vec<Value>, String, ExitStatus) {
    let mut command = program.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let (mut pipe, input) = (child.stdin.take().expect("a pipe"), input.to_owned());
    let writer = thread::spawn(move || pipe.write_all(input.as_bytes()));
    let mut errors = child.stderr.take().expect("a pipe");
    let errors = thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let messages = output.lines().map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"));
    let messages = messages.collect();
    writer.join().expect("no panic").expect("the program reads its whole input");
    (messages, errors.join().expect("no panic").expect("UTF-8"), child.wait().expect("a child of ours"))
}

/// Returns the current and the peak memory in bytes.
pub fn memory(pid: Pid) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).expect("it runs");
    let bytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("in the status");
        let number = line.split_whitespace().nth(1).expect("a number");
        number.parse::<u64>().expect("a number") * 1024
    };
    (bytes("VmRSS:"), bytes("VmHWM:"))
}

pub fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}

/// Returns the only database below the program's own directory.
pub fn database(own_home: &Path) -> PathBuf {
    let entries = fs::read_dir(own_home.join("state")).expect("a folder for state");
    let mut files = entries.map(|entry| entry.expect("an entry").path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "db"));
    file.expect("a database")
}

pub fn database_of(program: &Program) -> PathBuf {
    database(&program.home().join(".scorpiox"))
}

fn open(file: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags).expect("a database")
}

/// SQLite's write lock, held by the test process.
pub struct WriteLock(Connection);

impl WriteLock {
    pub fn hold(file: &Path) -> Self {
        let connection = open(file);
        connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        Self(connection)
    }

    /// Releases the lock.
    pub fn release(self) {
        self.0.execute_batch("ROLLBACK").expect("the lock is held");
    }
}

/// Checkpoints everything into the database file, like the exit of the last server, and calls `change`.
pub fn settled(file: &Path, change: impl FnOnce(&Connection)) {
    let connection = open(file);
    change(&connection);
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
}

/// Tasks and steps stored in the database.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Name by ID.
    pub tasks: BTreeMap<u64, String>,
    /// Task and text by ID.
    pub steps: BTreeMap<u64, (u64, String)>,
}

/// Reads the database and asserts that it is intact and that its records are consistent.
pub fn stored(file: &Path) -> Stored {
    let connection = open(file);
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a verdict");
    assert_eq!(verdict, "ok", "integrity of {}", file.display());
    let mut query =
        connection.prepare("SELECT key, value FROM kv WHERE namespace = 'task-manager'").expect("kv");
    let entry = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
    let mut found = Stored::default();
    let mut meta = json!({ "t": 0, "s": 0 });
    let mut counted = BTreeMap::new();
    for entry in query.query_map([], entry).expect("rows") {
        let (key, value) = entry.expect("a row");
        let parts: Vec<_> = key.split('/').collect();
        let number = |text: &str| text.parse::<u64>().expect("an id");
        let value = || serde_json::from_slice::<Value>(&value).expect("JSON");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        match parts[..] {
            ["meta"] => meta = value(),
            ["t", _, id] => {
                counted.insert(number(id), value()["s"].as_u64().unwrap_or(0));
                assert!(found.tasks.insert(number(id), text(&value()["n"])).is_none(), "two tasks #{id}");
            }
            ["s", _, task, id] => {
                let step = (number(task), text(&value()["x"]));
                assert!(found.steps.insert(number(id), step).is_none(), "two steps {id}");
            }
            _ => {}
        }
    }
    assert_eq!(meta["t"], found.tasks.len(), "the counter of tasks");
    assert_eq!(meta["s"], found.steps.len(), "the counter of steps");
    for (task, count) in counted {
        let steps = found.steps.values().filter(|(of, _)| *of == task).count();
        assert_eq!(count, steps as u64, "the steps of task {task}");
    }
    found
}
