//! Lines of calls that are refused, bounded for each principal: a call that is refused costs its author nothing, so that
//! somebody could otherwise have a bounded audit rotate away what they did before.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Refusals of a principal for one reason that have a line of their own, within a minute.
const LINES: u32 = 60;
const MINUTE: Duration = Duration::from_mins(1);
/// How long the others wait, so that one line tells of them.
const HELD_TIME: Duration = Duration::from_secs(1);

/// Who is refused, and why, in a word.
type Key = (Arc<str>, &'static str);

/// What was refused lately.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    all: Mutex<HashMap<Key, Refused>>,
    is_holding: AtomicBool,
}

#[derive(Debug)]
struct Refused {
    since: Instant,
    lines: u32,
    held: Option<Held>,
}

/// A line that waits, and how many it stands for beside its own.
#[derive(Debug)]
struct Held {
    since: Instant,
    line: Vec<u8>,
    more: u64,
}

impl Refusals {
    /// Whether a refusal has a line of its own now. Else it is told of by one that waits, which is this one's where there is
    /// none yet.
    pub(super) fn has_line(
        &self,
        principal: &Arc<str>,
        why: &'static str,
        now: Instant,
        line: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        let mut all = self.all.lock();
        let begin = || Refused { since: now, lines: 0, held: None };
        let refused = all.entry((Arc::clone(principal), why)).or_insert_with(begin);
        if let Some(held) = &mut refused.held {
            held.more += 1;
            return false;
        }
        if now.saturating_duration_since(refused.since) >= MINUTE {
            *refused = begin();
        }
        if refused.lines < LINES {
            refused.lines += 1;
            return true;
        }
        refused.held = Some(Held { since: now, line: line(), more: 0 });
        self.is_holding.store(true, Ordering::Release);
        false
    }

    /// Whether some wait.
    pub(super) fn is_holding(&self) -> bool {
        self.is_holding.load(Ordering::Acquire)
    }

    /// The lines that have waited for a second, or all of them. Forgets who was refused nothing lately.
    pub(super) fn release(&self, now: Instant, all_of_them: bool) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut all = self.all.lock();
        let (mut is_holding, is_over) = (false, |since, time| now.saturating_duration_since(since) >= time);
        all.retain(|_, refused| {
            if let Some(held) = refused.held.take_if(|held| all_of_them || is_over(held.since, HELD_TIME)) {
                lines.extend_from_slice(&held.told());
            }
            is_holding |= refused.held.is_some();
            refused.held.is_some() || !is_over(refused.since, MINUTE)
        });
        self.is_holding.store(is_holding, Ordering::Release);
        lines
    }
}

impl Held {
    /// The line, with the number of those that it tells of beside its own call.
    fn told(mut self) -> Vec<u8> {
        if self.more > 0 {
            let end = self.line.iter().rposition(|byte| *byte == b'}').unwrap_or(self.line.len());
            self.line.splice(end..end, format!(",\"more_calls\":{}", self.more).into_bytes());
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Vec<u8> {
        b"{\"tool\":\"Bash\"}\n".to_vec()
    }

    #[test]
    fn a_minute_has_sixty_lines_of_a_principal_and_a_reason_and_the_rest_is_counted() {
        let (refusals, begun) = (Refusals::default(), Instant::now());
        let [ann, bob] = ["ann", "bob"].map(Arc::from);
        let lines = |who, why, at| (0..1000).filter(|_| refusals.has_line(who, why, at, line)).count();
        assert_eq!(lines(&ann, "limit", begun), 60);
        assert_eq!((lines(&ann, "policy", begun), lines(&bob, "limit", begun)), (60, 60));
        // Within a second nothing is told of, unless the server ends.
        assert!(refusals.is_holding() && refusals.release(begun, false).is_empty());
        let told = refusals.release(begun + HELD_TIME, false);
        let told = String::from_utf8(told).expect("text");
        assert_eq!(told.lines().count(), 3);
        assert!(told.lines().all(|line| line == r#"{"tool":"Bash","more_calls":939}"#), "{told}");
        assert!(!refusals.is_holding());
        // One more within that minute waits again, and tells of itself alone.
        assert!(!refusals.has_line(&ann, "limit", begun + HELD_TIME, line));
        assert_eq!(refusals.release(begun + HELD_TIME, true), line());
        assert_eq!(lines(&ann, "limit", begun + MINUTE), 60);
    }

    #[test]
    fn who_was_refused_nothing_lately_is_forgotten() {
        let (refusals, begun) = (Refusals::default(), Instant::now());
        for number in 0..100 {
            assert!(refusals.has_line(&Arc::from(number.to_string()), "limit", begun, line));
        }
        assert!(refusals.release(begun + MINUTE, false).is_empty());
        assert!(refusals.all.lock().is_empty());
    }
}
