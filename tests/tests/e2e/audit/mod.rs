//! Tests of the audit: the recorded lines and their display.

#[cfg(unix)] // signals, modes, and the journal
mod exports;
#[cfg(unix)] // signals, modes and links
mod files;
#[cfg(unix)] // commands, links
mod lines;
mod shown;
mod stats;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

/// Maximum time until a line is on disk or usage figures are written.
const PATIENCE: Duration = Duration::from_secs(10);

fn folder(program: &Program) -> PathBuf {
    program.home().join(".scorpiox/audit")
}

/// Returns the text of all audit files.
fn text(program: &Program) -> String {
    let Ok(entries) = fs::read_dir(folder(program)) else { return String::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort_unstable();
    paths.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

/// Returns all lines as soon as there are at least `count`.
pub fn lines(program: &Program, count: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let text = text(program);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines: Vec<Value> = whole
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect();
        if lines.len() >= count {
            return lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{} lines of {count}:\n{text}", lines.len());
        thread::sleep(Duration::from_millis(5));
    }
}

fn start(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

/// Returns a program with this audit policy.
fn with_policy(policy: &str) -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{policy}"));
    program
}

fn create(server: &mut Started, name: &str) {
    server.text("TaskManager", json!({ "action": "create", "text": name }));
}
