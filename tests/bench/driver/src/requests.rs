//! Prepares requests before the timed section.

use anyhow::{Result, bail, ensure};

/// Maximum number of requests in flight.
pub const WINDOW: usize = 64;

/// First ID. All IDs have the same length, so that none is part of another.
const FIRST_ID: usize = 1_000_000;

/// Lines that are sent in rotation.
pub struct Requests {
    /// All lines followed by the first ones again, so that any [`WINDOW`] consecutive lines form one slice.
    lines: Vec<u8>,
    starts: Vec<usize>,
    count: usize,
    /// Text that every correct answer contains.
    expected: &'static str,
    next: usize,
}

impl Requests {
    /// Repeats the same `body` (`"method":…,"params":…`) `count` times.
    pub fn repeat(count: usize, body: &str, expected: &'static str) -> Self {
        Self::new(count, expected, |_| body.to_owned())
    }

    /// Creates `count` requests with these bodies.
    pub fn new(count: usize, expected: &'static str, body: impl Fn(usize) -> String) -> Self {
        let mut lines = Vec::new();
        let mut starts = vec![0];
        for index in (0..count).chain((0..WINDOW).map(|extra| extra % count)) {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{}}}\n", FIRST_ID + index, body(index));
            lines.extend_from_slice(line.as_bytes());
            starts.push(lines.len());
        }
        Self { lines, starts, count, expected, next: 0 }
    }

    /// Returns the next `amount` lines, at most [`WINDOW`].
    pub fn take(&mut self, amount: usize) -> &[u8] {
        let first = self.next;
        self.next = (first + amount) % self.count;
        &self.lines[self.starts[first]..self.starts[first + amount]]
    }

    /// Fails unless `answer` is correct for the last line returned by `take`.
    pub fn check_last(&self, answer: &[u8]) -> Result<()> {
        let id = FIRST_ID + (self.next + self.count - 1) % self.count;
        let text = String::from_utf8_lossy(answer);
        ensure!(text.contains(&format!("\"id\":{id}")), "not the answer to request {id}: {}", shorten(&text));
        self.check_all(answer, 1)
    }

    /// Fails unless `answers` has `amount` lines, each of which is a correct answer to some request.
    pub fn check_all(&self, answers: &[u8], amount: usize) -> Result<()> {
        let text = String::from_utf8_lossy(answers);
        let wrong = text.lines().find(|line| !line.contains(self.expected));
        if let Some(line) = wrong {
            bail!("{:?} is not in the answer: {}", self.expected, shorten(line));
        }
        let lines = text.lines().count();
        ensure!(lines == amount, "{lines} answers to {amount} requests");
        Ok(())
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(500).collect()
}

/// Formats the body of a call.
pub fn call(tool: &str, arguments: &str) -> String {
    format!("\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}")
}
