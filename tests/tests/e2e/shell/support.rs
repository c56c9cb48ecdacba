//! Shared support for the shell tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use scorpiox_tests::container::Refused;
use scorpiox_tests::{Next, Program, Started};
use serde_json::{Value, json};

/// Maximum number of characters of a result that a failed test shows.
const MOST_SHOWN_CHARS: usize = 2000;

/// All tiers, strongest first.
pub const TIERS: [&str; 3] = ["T1", "T1b", "T2"];

/// Returns a program in an environment that supports this tier and none above it.
pub fn in_tier(tier: &str) -> Program {
    match tier {
        "T1" => Program::new(),
        "T1b" => Program::new().refusing(Refused::OwnUserNamespaces),
        _ => Program::new().refusing(Refused::AllNamespaces),
    }
}

/// Runs the test in each tier and prints the tier.
pub fn in_each_tier(test: impl Fn(&Program, &mut Started)) {
    in_tiers(&TIERS, test);
}

/// Runs the test in the tiers in which commands own their files, and may change modes and times.
pub fn where_modes_change(test: impl Fn(&Program, &mut Started)) {
    in_tiers(&["T1", "T1b"], test);
}

fn in_tiers(tiers: &[&str], test: impl Fn(&Program, &mut Started)) {
    for &tier in tiers {
        eprintln!("--- {tier}");
        let program = in_tier(tier);
        let mut server = start(&program);
        let ran = bash(&mut server, "true");
        assert_eq!(ran.data["tier"], tier, "{}\n{}", ran.text, program.run(&["doctor"]).1);
        test(&program, &mut server);
    }
}

/// Writes the operator's policy.
pub fn with_policy(program: Program, policy: &str) -> Program {
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{policy}"));
    program
}

/// Returns a server after its handshake.
pub fn start(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

/// Outcome of a command.
#[derive(Debug)]
pub struct Ran {
    pub text: String,
    pub data: Value,
    /// `true` if it failed: with a nonzero exit code, by a signal, or with a marked result.
    pub is_error: bool,
    /// `true` if the result is marked as an error: the command did not run, or was ended externally.
    pub is_marked: bool,
}

impl Ran {
    pub fn of(result: &Value) -> Self {
        let data = result["structuredContent"].clone();
        let is_marked = result["isError"] == true;
        Self {
            text: result["content"][0]["text"].as_str().expect("a text").to_owned(),
            is_error: is_marked || !data.is_null() && data["exit_code"] != 0,
            is_marked,
            data,
        }
    }

    /// Returns the output of the command.
    pub fn output(&self) -> &str {
        self.data["output"].as_str().unwrap_or_else(|| panic!("no output: {self:?}"))
    }

    /// Returns the output of a command that must have succeeded.
    #[track_caller]
    pub fn succeeded(&self) -> &str {
        assert!(!self.is_error, "{}", self.text);
        assert_eq!(self.data["exit_code"], 0, "{}", self.text);
        self.output()
    }

    /// Returns the start of the outcome for display, because outputs can be long.
    fn shown(&self) -> String {
        format!("{self:?}").chars().take(MOST_SHOWN_CHARS).collect()
    }

    pub fn exit_code(&self) -> i64 {
        self.data["exit_code"].as_i64().unwrap_or_else(|| panic!("no exit code: {}", self.shown()))
    }

    /// Returns the text of a call that was refused before anything ran.
    #[track_caller]
    pub fn refused(&self) -> &str {
        assert!(self.is_marked, "{}", self.text);
        assert!(self.data.is_null(), "{}", self.text);
        &self.text
    }
}

/// Runs a command.
pub fn bash(server: &mut Started, command: &str) -> Ran {
    Ran::of(&server.call("Bash", json!({ "command": command })))
}

/// Runs a command with this timeout, and waits for the timeout plus the usual response time.
pub fn bash_for(server: &mut Started, command: &str, timeout_ms: u64) -> Ran {
    let arguments = json!({ "command": command, "timeout": timeout_ms });
    let id = server.request("tools/call", json!({ "name": "Bash", "arguments": arguments }));
    let end = Instant::now() + Duration::from_millis(timeout_ms) + Duration::from_secs(30);
    loop {
        match server.next_within(end.saturating_duration_since(Instant::now())) {
            Next::Message(answer) if answer["id"] == id => return Ran::of(&answer["result"]),
            Next::Message(_) => {}
            Next::End | Next::Nothing => panic!("no answer to {command:?}"),
        }
    }
}

/// Starts a background command and returns its task ID.
pub fn background(server: &mut Started, command: &str) -> u64 {
    let result = server.call("BackgroundBash", json!({ "command": command }));
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"]["task_id"].as_u64().expect("a number")
}

/// Reads a task until its output contains this text or the task ends; returns everything read.
pub fn read_until(server: &mut Started, task: u64, wanted: &str) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    let mut all = String::new();
    loop {
        let read = server.call("ReadBgOutput", json!({ "task_id": task }));
        all.push_str(read["structuredContent"]["output"].as_str().expect("a text"));
        let is_over =
            read["structuredContent"]["status"] != "running" && read["structuredContent"]["more"] == false;
        if all.contains(wanted) || is_over {
            return all;
        }
        assert!(Instant::now() < until, "{wanted:?} does not come: {all}");
        wait_a_little();
    }
}

/// Reads a task to its end and returns all texts that a client sees.
pub fn read_to_end(server: &mut Started, task: u64) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    let mut all = String::new();
    loop {
        let read = server.call("ReadBgOutput", json!({ "task_id": task }));
        all.push_str(read["content"][0]["text"].as_str().expect("a text"));
        let read = &read["structuredContent"];
        if read["status"] != "running" && read["more"] == false {
            return all;
        }
        assert!(Instant::now() < until, "the task does not end: {all}");
        wait_a_little();
    }
}

/// Returns the IDs of running processes on this machine with `word` in their arguments or their environment.
pub fn processes_with(word: &str) -> Vec<u32> {
    let contains = |bytes: Vec<u8>| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    numbers
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let file = |name| fs::read(format!("/proc/{pid}/{name}")).is_ok_and(contains);
            file("cmdline") || file("environ")
        })
        .collect()
}

/// Polls until a condition holds; `false` on a timeout.
pub fn comes_true(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + time;
    while !condition() {
        if Instant::now() > until {
            return false;
        }
        wait_a_little();
    }
    true
}

/// Pauses between polls of a state that has no change notification.
fn wait_a_little() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Returns a word that is unique to the processes of this test.
pub fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("mark-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the descendants of a process, without the process itself, as IDs and names.
pub fn descendants(of: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut open = vec![of];
    while let Some(pid) = open.pop() {
        let tasks = PathBuf::from(format!("/proc/{pid}/task"));
        for thread in fs::read_dir(tasks).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            for child in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
                let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
                found.push((child, name.trim().to_owned()));
                open.push(child);
            }
        }
    }
    found
}

/// Starts a server in a folder.
pub fn start_in(program: &Program, folder: &Path) -> Started {
    let mut command = program.command();
    command.current_dir(folder);
    let mut server = Started::spawn(command);
    server.initialize("2025-11-25");
    server
}

/// Runs the machine's git, as the person.
pub fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=n", "-c", "user.email=n@example.com"]).args(words);
    assert!(git.output().expect("git").status.success(), "{words:?}");
}
