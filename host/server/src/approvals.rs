//! Approvals of calls: the questions that are open, and the tokens that were used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Maximum number of questions that are open at once. Each of them occupies a thread of its session.
const MAX_OPEN: usize = 8;
/// Time for which a used token is remembered; older tokens are not accepted at all.
const TOKEN_TIME: Duration = Duration::from_hours(24);
/// Maximum number of remembered tokens. Beyond it, no token is accepted.
const MAX_SPENT: usize = 10_000;

/// Approvals of a process.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    open: AtomicUsize,
    spent: Mutex<BTreeMap<[u8; 32], Instant>>,
}

/// An open question.
#[derive(Debug)]
pub(crate) struct Open<'a>(&'a Approvals);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Approvals {
    /// Counts a question as open; returns `None` if too many are.
    pub(crate) fn begin(&self) -> Option<Open<'_>> {
        let begun = self
            .open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < MAX_OPEN).then_some(open + 1));
        begun.is_ok().then_some(Open(self))
    }

    /// Returns `true` if a token was not used for an approval before, and remembers it as used.
    pub(crate) fn spend(&self, token: &str) -> bool {
        let mut spent = self.spent.lock();
        spent.retain(|_, at| at.elapsed() <= TOKEN_TIME);
        spent.len() < MAX_SPENT && spent.insert(Sha256::digest(token).into(), Instant::now()).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once() {
        let approvals = Approvals::default();
        assert!(approvals.spend("a") && approvals.spend("b") && !approvals.spend("a"));
    }

    #[test]
    fn a_few_questions_are_open_at_once() {
        let approvals = Approvals::default();
        let mut open: Vec<_> = (0..MAX_OPEN).map(|_| approvals.begin().expect("room")).collect();
        assert!(approvals.begin().is_none());
        open.pop();
        assert!(approvals.begin().is_some());
    }
}
