//! Limits the lines of refused calls for each principal. Refused calls cost the caller nothing, so a flood of
//! them could rotate earlier lines out of the audit log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Maximum number of separate lines per minute for a principal and a reason.
const LINES: u32 = 60;
const MINUTE: Duration = Duration::from_mins(1);
/// Time that a summary line is held back to collect further refusals.
pub(super) const HELD_TIME: Duration = Duration::from_secs(1);

/// Maximum time to wait for a summary line.
const RELEASE_TIME: Duration = Duration::from_secs(5);

/// Number of entries above which expired ones are removed.
const MOST: usize = 4096;

/// Principal and reason of the refusals.
type Key = (Arc<str>, &'static str);

/// Recent refusals.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    all: Mutex<HashMap<Key, Refused>>,
    /// `true` if lines have been held back since the last [`Refusals::take_new`].
    has_new: AtomicBool,
    /// `true` if lines are held back.
    is_holding: AtomicBool,
    /// Signals that held lines were released.
    released: Condvar,
}

#[derive(Debug)]
struct Refused {
    since: Instant,
    lines: u32,
    held: Option<Held>,
}

/// Line held back, and the number of further refusals it represents.
#[derive(Debug)]
struct Held {
    since: Instant,
    line: Vec<u8>,
    more: u64,
}

impl Refused {
    fn begin(now: Instant) -> Self {
        Self { since: now, lines: 0, held: None }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.held.is_none() && now.saturating_duration_since(self.since) >= MINUTE
    }
}

impl Refusals {
    /// Returns `true` if the refusal gets its own line. Otherwise a held line covers it; if there is none,
    /// `line` becomes it.
    pub(super) fn has_line(
        &self,
        principal: &Arc<str>,
        why: &'static str,
        now: Instant,
        line: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        let mut all = self.all.lock();
        if all.len() >= MOST {
            all.retain(|_, refused| !refused.is_over(now));
        }
        let refused = all.entry((Arc::clone(principal), why)).or_insert_with(|| Refused::begin(now));
        if let Some(held) = &mut refused.held {
            held.more += 1;
            return false;
        }
        if refused.is_over(now) {
            *refused = Refused::begin(now);
        }
        if refused.lines < LINES {
            refused.lines += 1;
            return true;
        }
        refused.held = Some(Held { since: now, line: line(), more: 0 });
        self.is_holding.store(true, Ordering::Release);
        self.has_new.store(true, Ordering::Release);
        false
    }

    /// Returns `true` once after lines were held back.
    pub(super) fn take_new(&self) -> bool {
        self.has_new.load(Ordering::Relaxed) && self.has_new.swap(false, Ordering::AcqRel)
    }

    /// Waits until the held line that covers the refusal is released. It is due after [`HELD_TIME`], but the
    /// writer thread may be late. Returns `false` on timeout.
    pub(super) fn wait_for_release(&self, principal: &Arc<str>, why: &'static str) -> bool {
        let key = (Arc::clone(principal), why);
        let mut all = self.all.lock();
        let Some(since) = all.get(&key).and_then(|refused| Some(refused.held.as_ref()?.since)) else {
            return true;
        };
        let is_held = |all: &mut HashMap<Key, Refused>| {
            all.get(&key).and_then(|refused| refused.held.as_ref()).is_some_and(|held| held.since == since)
        };
        !self.released.wait_while_for(&mut all, is_held, RELEASE_TIME).timed_out()
    }

    /// Releases lines held for [`HELD_TIME`], or all lines. Returns `true` if lines remain.
    pub(super) fn release(&self, now: Instant, all_of_them: bool, mut push: impl FnMut(&[u8])) -> bool {
        if !self.is_holding.load(Ordering::Acquire) {
            return false;
        }
        let mut all = self.all.lock();
        let is_due = |held: &mut Held| all_of_them || now.saturating_duration_since(held.since) >= HELD_TIME;
        let mut others_wait = false;
        for refused in all.values_mut() {
            if let Some(held) = refused.held.take_if(is_due) {
                push(&held.told());
            }
            others_wait |= refused.held.is_some();
        }
        self.is_holding.store(others_wait, Ordering::Release);
        self.released.notify_all();
        others_wait
    }
}

impl Held {
    /// Returns the line, including the number of further refusals.
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
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn line() -> Vec<u8> {
        b"{\"tool\":\"Bash\"}\n".to_vec()
    }

    fn released(refusals: &Refusals, now: Instant, all_of_them: bool) -> (String, bool) {
        let mut told = String::new();
        let others = refusals
            .release(now, all_of_them, |line| told.push_str(std::str::from_utf8(line).expect("text")));
        (told, others)
    }

    #[test]
    fn a_minute_has_sixty_lines_of_a_principal_and_a_reason_and_the_rest_is_counted() {
        let (refusals, begun) = (Refusals::default(), Instant::now());
        let [ann, bob] = ["ann", "bob"].map(Arc::from);
        let lines = |who, why, at| (0..1000).filter(|_| refusals.has_line(who, why, at, line)).count();
        assert_eq!(lines(&ann, "limit", begun), 60);
        assert_eq!((lines(&ann, "policy", begun), lines(&bob, "limit", begun)), (60, 60));
        // The writer is notified once. Lines are held for a second.
        assert!(refusals.take_new() && !refusals.take_new());
        assert_eq!(released(&refusals, begun, false), (String::new(), true));
        let (told, others) = released(&refusals, begun + HELD_TIME, false);
        assert!(!others && told.lines().count() == 3, "{told}");
        assert!(told.lines().all(|line| line == r#"{"tool":"Bash","more_calls":939}"#), "{told}");
        // A further refusal within the minute is held again and has its own line. Shutdown releases it
        // immediately.
        assert!(!refusals.has_line(&ann, "limit", begun + HELD_TIME, line));
        assert_eq!(released(&refusals, begun + HELD_TIME, true), ("{\"tool\":\"Bash\"}\n".to_owned(), false));
        assert_eq!(lines(&ann, "limit", begun + MINUTE), 60);
    }

    #[test]
    fn who_needs_a_line_waits_until_the_one_that_tells_of_it_is_handed_on() {
        let (refusals, begun) = (Refusals::default(), Instant::now());
        let ann = Arc::from("ann");
        assert!((0..LINES).all(|_| refusals.has_line(&ann, "ok", begun, line)));
        assert!(refusals.wait_for_release(&ann, "ok"), "none waits");
        assert!(!refusals.has_line(&ann, "ok", begun, line));
        let (told, tells) = mpsc::channel();
        thread::scope(|scope| {
            let (refusals, ann) = (&refusals, &ann);
            scope.spawn(move || told.send(refusals.wait_for_release(ann, "ok")));
            for at in [begun, begun + HELD_TIME / 2] {
                refusals.release(at, false, |_| ());
                let early = tells.recv_timeout(Duration::from_millis(50));
                assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout), "it does not wait");
            }
            refusals.release(begun + HELD_TIME, false, |_| ());
            assert_eq!(tells.recv_timeout(RELEASE_TIME), Ok(true));
        });
    }

    #[test]
    fn who_was_refused_nothing_lately_is_forgotten_and_who_waits_is_not() {
        let (refusals, begun) = (Refusals::default(), Instant::now());
        let waits = Arc::from("waits");
        assert_eq!((0..62).filter(|_| refusals.has_line(&waits, "limit", begun, line)).count(), 60);
        for number in 1..MOST {
            assert!(refusals.has_line(&Arc::from(number.to_string()), "limit", begun, line));
        }
        assert!(refusals.has_line(&Arc::from("another"), "limit", begun + MINUTE, line));
        assert_eq!(refusals.all.lock().len(), 2);
        assert!(released(&refusals, begun + MINUTE, false).0.contains("\"more_calls\":1"));
    }
}
