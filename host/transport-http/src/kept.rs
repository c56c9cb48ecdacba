//! Bounds the answers retained after delivery, which a client can read again after losing its connection.
//!
//! When the budget is exceeded, the oldest answers without a reader are dropped: first those of the principal
//! that exceeds its share, then those of all principals.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::bounds::PART;
use crate::stream::Stream;

/// Maximum total size of retained answers in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Minimum overhead of an answer in bytes.
const BESIDE: usize = 1024;

/// All retained answers.
pub(crate) struct KeptAnswers {
    kept: Mutex<Kept>,
    most: usize,
    /// Budget of one principal in bytes.
    most_of_one: usize,
}

#[derive(Default)]
struct Kept {
    last: u64,
    /// Answers by number, oldest first.
    answers: BTreeMap<u64, Answer>,
    bytes: usize,
    of: HashMap<Arc<str>, OfOne>,
}

/// Answers of one principal.
#[derive(Default)]
struct OfOne {
    bytes: usize,
    numbers: BTreeSet<u64>,
}

struct Answer {
    principal: Arc<str>,
    bytes: usize,
    stream: Weak<Stream>,
}

/// Budget entry of an answer, released on drop. The stream owns it.
pub(crate) struct Stay {
    all: Arc<KeptAnswers>,
    number: u64,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.all.kept.lock().remove(self.number);
    }
}

impl KeptAnswers {
    /// Creates the budget for one principal, or for several (`are_many`) that must not use up each other's
    /// share.
    pub(crate) fn new(are_many: bool) -> Arc<Self> {
        Self::with(MAX_BYTES, if are_many { MAX_BYTES / PART } else { MAX_BYTES })
    }

    fn with(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), most, most_of_one })
    }

    /// Makes room for an answer about to be written to a stream.
    pub(crate) fn stay(self: &Arc<Self>, principal: &Arc<str>, stream: &Arc<Stream>, bytes: usize) -> Stay {
        let answer = Answer {
            principal: Arc::clone(principal),
            bytes: bytes + BESIDE,
            stream: Arc::downgrade(stream),
        };
        let mut kept = self.kept.lock();
        let number = kept.add(answer);
        let seen = kept.make_room(self.most, self.most_of_one, principal);
        drop(kept);
        // Dropping the last reference to a stream releases its entry, which takes the lock.
        drop(seen);
        Stay { all: Arc::clone(self), number }
    }
}

impl Kept {
    fn add(&mut self, answer: Answer) -> u64 {
        self.last += 1;
        self.bytes += answer.bytes;
        let of_one = self.of.entry(Arc::clone(&answer.principal)).or_default();
        of_one.bytes += answer.bytes;
        of_one.numbers.insert(self.last);
        self.answers.insert(self.last, answer);
        self.last
    }

    fn remove(&mut self, number: u64) {
        let Some(answer) = self.answers.remove(&number) else { return };
        self.bytes -= answer.bytes;
        let Some(of_one) = self.of.get_mut(&answer.principal) else { return };
        of_one.bytes -= answer.bytes;
        of_one.numbers.remove(&number);
        if of_one.numbers.is_empty() {
            self.of.remove(&answer.principal);
        }
    }

    /// Returns the oldest answer from a number on that must be dropped: of principal `one`, or of all
    /// principals, if they exceed `most` bytes.
    fn next(&self, from: u64, one: Option<&str>, most: usize) -> Option<u64> {
        let Some(one) = one else {
            return (self.bytes > most)
                .then(|| self.answers.range(from..).next())?
                .map(|(number, _)| *number);
        };
        let of_one = self.of.get(one).filter(|of_one| of_one.bytes > most)?;
        of_one.numbers.range(from..).next().copied()
    }

    /// Drops the oldest answers until the budget is met. Returns the inspected streams.
    fn make_room(&mut self, most: usize, most_of_one: usize, principal: &str) -> Vec<Arc<Stream>> {
        let mut seen = Vec::new();
        for (one, most) in [(Some(principal), most_of_one), (None, most)] {
            let mut from = 0;
            while let Some(number) = self.next(from, one, most) {
                let stream = self.answers.get(&number).and_then(|answer| answer.stream.upgrade());
                if stream.as_ref().is_none_or(|stream| stream.forget()) {
                    self.remove(number);
                }
                seen.extend(stream);
                from = number + 1;
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 100 * BESIDE;

    /// Creates a retained answer of a principal whose client has disconnected.
    fn said(all: &Arc<KeptAnswers>, principal: &str) -> Arc<Stream> {
        let stream = Stream::kept();
        stream.stays(all.stay(&principal.into(), &stream, BYTES - BESIDE));
        stream.end(Some(vec![b'x'; BYTES - BESIDE].into()));
        stream
    }

    fn are_there(streams: &[Arc<Stream>]) -> Vec<bool> {
        streams.iter().map(|stream| !stream.is_forgotten()).collect()
    }

    #[test]
    fn the_oldest_go_that_nobody_reads() {
        let all = KeptAnswers::with(4 * BYTES, 4 * BYTES);
        let mut streams = vec![said(&all, "a")];
        streams[0].begin_reading();
        streams.extend(["a", "b", "c", "b", "b"].map(|principal| said(&all, principal)));
        assert_eq!(are_there(&streams), [true, false, false, true, true, true]);
        streams.remove(3);
        streams.push(said(&all, "a"));
        assert_eq!(are_there(&streams), [true, false, false, true, true, true], "that one left its room");
        drop(streams);
        let kept = all.kept.lock();
        assert!(kept.answers.is_empty() && kept.bytes == 0 && kept.of.is_empty());
    }

    #[test]
    fn one_of_several_principals_takes_the_room_of_none() {
        let all = KeptAnswers::with(4 * BYTES, 2 * BYTES);
        let streams = ["a", "b", "b", "b", "a", "b"].map(|principal| said(&all, principal));
        assert_eq!(are_there(&streams), [true, false, false, true, true, true]);
    }

    #[test]
    fn an_answer_that_is_larger_than_all_room_is_said() {
        let all = KeptAnswers::with(BYTES / 2, BYTES / 2);
        let stream = Stream::kept();
        let reading = stream.begin_reading();
        stream.stays(all.stay(&"a".into(), &stream, BYTES));
        stream.end(Some(vec![b'x'; BYTES].into()));
        assert!(!stream.is_forgotten());
        stream.end_reading(reading);
        said(&all, "b");
        assert!(stream.is_forgotten(), "its reader is gone");
    }
}
