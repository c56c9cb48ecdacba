//! Limits the lines of refused requests of unknown callers. Anybody who reaches the port can cause them, so all of
//! them share one budget in a process, whatever the action, the reason and the workspace.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of separate lines in a burst.
const BURST: u64 = 60;
/// Time after which one more line may be written: with [`MAX_WHAT_BYTES`] and [`MAX_WHY_BYTES`] less than 1.5 MiB
/// a day.
const REFILL_TIME: Duration = Duration::from_mins(1);

/// Maximum length of the address and the path in a line, as JSON.
const MAX_WHAT_BYTES: usize = 120;
/// Maximum length of the reason in a line, as JSON. It may contain headers.
const MAX_WHY_BYTES: usize = 200;

/// Budget of lines for all unknown callers of a process.
#[derive(Debug)]
pub struct UnknownCallers {
    budget: Mutex<Budget>,
    /// `true` if a line has been held back since the last [`UnknownCallers::take_new`].
    has_new: AtomicBool,
}

#[derive(Debug)]
struct Budget {
    lines: u64,
    refilled: Instant,
    held: Option<Held>,
}

/// Line held back, and the reasons of the further refusals it represents.
#[derive(Debug)]
struct Held {
    line: Vec<u8>,
    more: BTreeMap<&'static str, u64>,
}

impl Default for UnknownCallers {
    fn default() -> Self {
        let budget = Budget { lines: BURST, refilled: Instant::now(), held: None };
        Self { budget: Mutex::new(budget), has_new: AtomicBool::new(false) }
    }
}

impl Budget {
    fn refill(&mut self, now: Instant) {
        let more = now.saturating_duration_since(self.refilled).as_secs() / REFILL_TIME.as_secs();
        self.lines = (self.lines + more).min(BURST);
        self.refilled += Duration::from_secs(more * REFILL_TIME.as_secs());
    }

    /// Takes a line from the budget. Returns `false` if none is left.
    fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let has_line = self.lines > 0;
        self.lines -= u64::from(has_line);
        has_line
    }
}

impl UnknownCallers {
    /// Returns `true` if the refusal gets its own line. Otherwise a held line covers it; if there is none,
    /// `line` becomes it.
    pub(super) fn has_line(&self, why: &'static str, now: Instant, line: impl FnOnce() -> Vec<u8>) -> bool {
        let mut budget = self.budget.lock();
        if let Some(held) = &mut budget.held {
            *held.more.entry(why).or_default() += 1;
            return false;
        }
        if budget.take(now) {
            return true;
        }
        budget.held = Some(Held { line: line(), more: BTreeMap::new() });
        self.has_new.store(true, Ordering::Release);
        false
    }

    /// Returns `true` once after a line was held back.
    pub(super) fn take_new(&self) -> bool {
        self.has_new.load(Ordering::Relaxed) && self.has_new.swap(false, Ordering::AcqRel)
    }

    /// Releases the held line if the budget has one again, or at shutdown. Returns `true` if it is still held.
    pub(super) fn release(&self, now: Instant, at_shutdown: bool, push: impl FnOnce(&[u8])) -> bool {
        let mut budget = self.budget.lock();
        if budget.held.is_none() {
            return false;
        }
        if !budget.take(now) && !at_shutdown {
            return true;
        }
        if let Some(held) = budget.held.take() {
            push(&held.told());
        }
        false
    }
}

impl Held {
    /// Returns the line, including the number of further refusals, and their numbers by reason.
    fn told(mut self) -> Vec<u8> {
        if !self.more.is_empty() {
            let all: u64 = self.more.values().sum();
            let by_reason: Vec<_> = self.more.iter().map(|(why, more)| format!("\"{why}\":{more}")).collect();
            let more = format!(",\"more_calls\":{all},\"more_faults\":{{{}}}", by_reason.join(","));
            let end = self.line.iter().rposition(|byte| *byte == b'}').unwrap_or(self.line.len());
            self.line.splice(end..end, more.into_bytes());
        }
        self.line
    }
}

/// Returns the object of a line: the address and the beginning of the path.
pub(super) fn what(from: IpAddr, path: &str) -> String {
    begin(&format!("{from} {path}"), MAX_WHAT_BYTES)
}

/// Returns the beginning of a reason.
pub(super) fn why(why: &str) -> String {
    begin(why, MAX_WHY_BYTES)
}

/// Returns the beginning of a text, so that it has at most `max` bytes as JSON.
fn begin(text: &str, max: usize) -> String {
    let mut length = 0;
    let end = text.char_indices().find(|(_, c)| {
        // Other characters that JSON escapes are removed from lines.
        length += c.len_utf8() + usize::from(matches!(c, '"' | '\\'));
        length > max
    });
    end.map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const REASONS: [&str; 8] = [
        "no-token",
        "bad-token",
        "forbidden",
        "scope",
        "too-many-tries",
        "bad-form",
        "no-keys",
        "no-workspace",
    ];
    const DAY: Duration = Duration::from_hours(24);

    fn line() -> Vec<u8> {
        b"{\"tool\":\"http request\"}\n".to_vec()
    }

    /// Floods for a time, with a release each second as by the writer thread, and returns the lines.
    fn flood(callers: &UnknownCallers, begun: Instant, time: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for second in 0..time.as_secs() {
            let now = begun + Duration::from_secs(second);
            callers.release(now, false, |line| lines.push(String::from_utf8(line.to_vec()).expect("text")));
            let own = REASONS.iter().filter(|why| callers.has_line(why, now, line)).count();
            lines.extend(std::iter::repeat_n("own".to_owned(), own));
        }
        lines
    }

    #[test]
    fn a_day_of_refusals_for_all_reasons_has_a_line_a_minute() {
        let callers = UnknownCallers::default();
        let begun = callers.budget.lock().refilled;
        let lines = flood(&callers, begun, DAY);
        assert_eq!(lines.iter().filter(|line| *line == "own").count(), 60);
        let minutes = usize::try_from(DAY.as_secs() / 60).expect("small");
        assert!((minutes - 1..=minutes).contains(&(lines.len() - 60)), "{}", lines.len());
        let summary = lines.last().expect("a line");
        // Eight a second for a minute, of which the line is one.
        assert!(summary.contains(r#","more_calls":479,"more_faults":{"bad-form":60,"#), "{summary}");
        assert!(serde_json::from_str::<serde_json::Value>(summary).is_ok(), "{summary}");
        // The last one is not lost when the server ends.
        assert!(callers.take_new() && !callers.take_new());
        let mut last = Vec::new();
        assert!(!callers.release(begun + DAY, true, |line| last.extend_from_slice(line)));
        assert!(!last.is_empty() && !callers.release(begun + DAY, true, |_| panic!("twice")));
    }

    #[test]
    fn rest_fills_the_budget_again_and_not_beyond_a_burst() {
        let callers = UnknownCallers::default();
        let begun = callers.budget.lock().refilled;
        assert_eq!(flood(&callers, begun, Duration::from_secs(1)).len(), 8);
        let rested = begun + DAY;
        assert_eq!((0..100).filter(|_| callers.has_line("scope", rested, line)).count(), 60);
    }

    #[test]
    fn hostile_fields_are_cut_by_their_length_in_a_line() {
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(what(from, "/mcp"), "127.0.0.1 /mcp");
        for hostile in ["\"", "\\", "a", "é", "\u{10ffff}"].map(|part| part.repeat(10_000)) {
            for (text, max) in [(what(from, &hostile), MAX_WHAT_BYTES), (why(&hostile), MAX_WHY_BYTES)] {
                let length = serde_json::to_string(&text).expect("JSON").len();
                assert!(length <= max + 2 + '…'.len_utf8(), "{length}: {text}");
                assert!(length + 8 > max, "{length}: {text}");
            }
        }
    }
}
