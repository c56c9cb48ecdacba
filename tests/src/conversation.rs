//! Replays conversations from files: the messages sent to the server and the messages expected back.
//!
//! A file in `tests/conversations` has four kinds of lines:
//!
//! | line | meaning |
//! | --- | --- |
//! | `> …` | sent verbatim |
//! | `< …` | expected message: JSON, over as many lines as are readable |
//! | `! …` | an external event, see [`Outside`] |
//! | `# …`, blank | for the reader |
//!
//! Messages are read at the position of their `<` lines, so `>` lines without a `<` between them are sent
//! back to back. At the end of the file the input is closed. The remaining messages must be listed there too,
//! and the server must exit successfully.
//!
//! Parts that vary between runs are written as `<VERSION>`, `<TIME>`, `<MILLIS>`, `<DURATION>`, `<WORKSPACE>`
//! and `<HOME>`. With `BLESS=1`, the received messages are written into the file, and `< ?` stands for a
//! message that is not known yet.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::program::{Canonical as _, Program, Started};
use crate::schema::{Checker, Seen};
use crate::store::WriteLock;

/// Maximum width of a written line in characters, if the message can be broken.
const WIDTH: usize = 118;

/// Range of numbers treated as milliseconds since 1970: from 2017 to 2128.
const MILLIS: std::ops::Range<u64> = 1_500_000_000_000..5_000_000_000_000;

/// Parsed line.
enum Line {
    Note(String),
    Sent(String),
    /// Messages of a run of consecutive lines; `None` for a message that is not known yet.
    Expected(Vec<Option<Value>>),
    Outside(Outside),
}

/// External event, outside of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// Another server starts a write transaction and leaves it open.
    HoldLock,
    ReleaseLock,
    CloseInput,
}

const OUTSIDE: [(&str, Outside); 3] = [
    ("another server begins to write", Outside::HoldLock),
    ("it has written", Outside::ReleaseLock),
    ("the client closes the input", Outside::CloseInput),
];

/// Returns the directory of the conversation files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conversations")
}

/// Runs the named conversation with `program` and returns every message received.
pub fn run(name: &str, program: &Program) -> Vec<Seen> {
    let path = folder().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut run = Run {
        program,
        server: program.start(),
        checker: Checker::default(),
        volatile: Volatile::of(program),
        lock: None,
        bless,
    };
    let mut written = String::new();
    for (number, line) in parse(&text, &path) {
        let place = format!("{}:{number}", path.display());
        written.push_str(&run.line(line, &place));
    }
    let left = run.end();
    assert!(bless || left.is_empty(), "{} ends, but this came too:\n{left}", path.display());
    written.push_str(&left);
    if bless && written != text {
        std::fs::write(&path, written).expect("the conversation is written");
    }
    run.checker.seen
}

fn parse(text: &str, path: &Path) -> Vec<(usize, Line)> {
    let mut lines = Vec::new();
    let mut numbered: VecDeque<_> = (1..).zip(text.lines()).collect();
    while let Some((number, line)) = numbered.pop_front() {
        let place = || format!("{}:{number}", path.display());
        let parsed = match line.split_once(' ').unwrap_or((line, "")) {
            (">", sent) => Line::Sent(sent.to_owned()),
            ("!", what) => {
                let known = OUTSIDE.iter().find(|(text, _)| *text == what);
                Line::Outside(known.unwrap_or_else(|| panic!("{}: unknown: {what}", place())).1)
            }
            ("<", first) => {
                let mut block = vec![first];
                while let Some(more) = numbered.front().and_then(|(_, line)| line.strip_prefix("< ")) {
                    block.push(more);
                    numbered.pop_front();
                }
                Line::Expected(messages(&block, &place()))
            }
            _ if line.is_empty() || line.starts_with('#') => Line::Note(line.to_owned()),
            _ => panic!("{}: a line starts with >, <, ! or #", place()),
        };
        lines.push((number, parsed));
    }
    lines
}

/// Parses the messages in a run of lines.
fn messages(block: &[&str], place: &str) -> Vec<Option<Value>> {
    let mut messages = Vec::new();
    for part in block.split_inclusive(|line| *line == "?") {
        let (json, unknown) = match part.split_last() {
            Some((&"?", json)) => (json, true),
            _ => (part, false),
        };
        let text = json.join("\n");
        for message in serde_json::Deserializer::from_str(&text).into_iter() {
            messages.push(Some(message.unwrap_or_else(|e| panic!("{place}: not JSON: {e}"))));
        }
        messages.extend(unknown.then_some(None));
    }
    messages
}

struct Run<'a> {
    program: &'a Program,
    server: Started,
    checker: Checker,
    volatile: Volatile,
    lock: Option<WriteLock>,
    bless: bool,
}

impl Run<'_> {
    /// Executes a line and returns it in its canonical form.
    fn line(&mut self, line: Line, place: &str) -> String {
        match line {
            Line::Note(text) => text + "\n",
            Line::Sent(text) => {
                self.checker.sent(&text);
                self.server.send_raw(format!("{text}\n").as_bytes());
                format!("> {text}\n")
            }
            Line::Outside(what) => {
                self.outside(what);
                let (text, _) = OUTSIDE.iter().find(|(_, known)| *known == what).expect("known");
                format!("! {text}\n")
            }
            Line::Expected(messages) => messages.iter().map(|m| self.expect(m.as_ref(), place)).collect(),
        }
    }

    fn outside(&mut self, what: Outside) {
        match what {
            Outside::HoldLock => self.lock = Some(WriteLock::hold(self.program)),
            Outside::ReleaseLock => self.lock.take().expect("it was held").release(),
            Outside::CloseInput => self.server.close_input(),
        }
    }

    fn expect(&mut self, expected: Option<&Value>, place: &str) -> String {
        let message = self.server.next().unwrap_or_else(|| panic!("{place}: the output has ended"));
        let came = self.written(&message);
        if !self.bless {
            let expected = expected.map_or_else(|| "< ?\n".to_owned(), block);
            assert!(
                came == expected,
                "{place}: something else came (BLESS=1 accepts it)\n--- expected\n{expected}--- came\n{came}"
            );
        }
        came
    }

    /// Checks a message and returns its representation in a file.
    fn written(&mut self, message: &Value) -> String {
        self.checker.received(message);
        block(&self.volatile.taken_out(message))
    }

    /// Closes the input and returns the messages received after the last line.
    fn end(&mut self) -> String {
        self.lock = None;
        self.server.close_input();
        let mut left = String::new();
        while let Some(message) = self.server.next() {
            left.push_str(&self.written(&message));
        }
        let (status, _) = self.server.wait();
        assert!(status.success(), "the server ended with {status}");
        left
    }
}

/// Values that differ between runs.
struct Volatile {
    folders: Vec<(String, &'static str)>,
}

impl Volatile {
    fn of(program: &Program) -> Self {
        let both =
            |path: PathBuf, name| [path.canonical(), path].map(|path| (path.display().to_string(), name));
        let folders = [both(program.workspace(), "<WORKSPACE>"), both(program.home(), "<HOME>")];
        Self { folders: folders.into_iter().flatten().collect() }
    }

    fn taken_out(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if number.as_u64().is_some_and(|n| MILLIS.contains(&n)) => {
                "<MILLIS>".into()
            }
            Value::Array(values) => values.iter().map(|value| self.taken_out(value)).collect(),
            Value::Object(members) => {
                let is_us = members.get("name").is_some_and(|name| name == "scorpiox-code");
                let member = |(key, value): (&String, &Value)| {
                    let value =
                        if is_us && key == "version" { "<VERSION>".into() } else { self.taken_out(value) };
                    (key.clone(), value)
                };
                Value::Object(members.iter().map(member).collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        static TIME: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").expect("a pattern"));
        static DURATION: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\b(for|after|in) (\d+s|\d+m\d\ds|\d+h\d\dm|\d+d\d\dh)\b").expect("a pattern")
        });
        let text = TIME.replace_all(text, "<TIME>");
        let mut text = DURATION.replace_all(&text, "$1 <DURATION>").into_owned();
        for (folder, name) in &self.folders {
            text = text.replace(folder, name);
        }
        if cfg!(windows) {
            static PATH: LazyLock<Regex> =
                LazyLock::new(|| Regex::new(r"<(WORKSPACE|HOME)>[^\s`]*").expect("a pattern"));
            text = PATH.replace_all(&text, |path: &Captures<'_>| path[0].replace('\\', "/")).into_owned();
        }
        text
    }
}

/// Formats a message as lines of a file.
fn block(message: &Value) -> String {
    let mut text = String::new();
    write(message, 0, 0, &mut text);
    text.lines().map(|line| format!("< {line}\n")).collect()
}

/// Writes JSON on one line if it fits, otherwise with one line per member. `before` is the number of
/// characters already on the line.
fn write(value: &Value, indent: usize, before: usize, out: &mut String) {
    let short = value.to_string();
    if indent + before + short.chars().count() <= WIDTH {
        return out.push_str(&short);
    }
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(values) => values.iter().map(|value| (String::new(), value)).collect(),
        Value::Object(members) => {
            members.iter().map(|(k, v)| (format!("{}:", Value::from(k.as_str())), v)).collect()
        }
        _ => return out.push_str(&short),
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let inner = indent + 2;
    out.push(open);
    for (at, (name, part)) in parts.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(inner));
        out.push_str(name);
        write(part, inner, name.chars().count() + 1, out);
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_changes_from_run_to_run_is_taken_out() {
        let volatile = Volatile { folders: vec![("/tmp/x".to_owned(), "<HOME>")] };
        let message = json!({
            "text": "at 2026-01-02T03:04:05Z for 1m02s in /tmp/x/y, fires every 30s",
            "fired_at": 1_763_000_000_000_u64,
            "info": { "name": "scorpiox-code", "version": "1.2.3" },
            "other": { "name": "else", "version": "1.2.3" },
        });
        let expected = json!({
            "text": "at <TIME> for <DURATION> in <HOME>/y, fires every 30s",
            "fired_at": "<MILLIS>",
            "info": { "name": "scorpiox-code", "version": "<VERSION>" },
            "other": { "name": "else", "version": "1.2.3" },
        });
        assert_eq!(volatile.taken_out(&message), expected);
    }

    #[test]
    fn messages_are_written_over_lines_and_read_again() {
        let long = json!({ "a": "x".repeat(100), "b": [1, 2, { "c": "y".repeat(90) }], "d": {} });
        let short = json!({ "e": [] });
        let text = block(&long) + &block(&short) + "< ?\n";
        assert!(text.lines().count() > 5, "{text}");
        let lines = parse(&text, Path::new("x"));
        let [(1, Line::Expected(messages))] = &lines[..] else { panic!("one row of lines") };
        assert_eq!(*messages, [Some(long), Some(short), None]);
    }
}
