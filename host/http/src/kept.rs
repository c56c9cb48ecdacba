//! Answers that stay after they were said: a client that lost its connection can read them again.
//!
//! There is room for some. Where more come, the oldest go that nobody reads: those of a principal that has more than its
//! part, else those of all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::stream::Stream;
use scorpiox_http_bounds::PART;

/// Bytes of all answers that stay.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// What an answer takes beside its own bytes, at least.
const BESIDE: usize = 1024;

/// All answers that stay.
pub(crate) struct KeptAnswers {
    kept: Mutex<Kept>,
    most: usize,
    /// Most of one principal.
    most_of_one: usize,
}

#[derive(Default)]
struct Kept {
    last: u64,
    /// By their age.
    answers: BTreeMap<u64, Answer>,
    bytes: usize,
    of: HashMap<Arc<str>, OfOne>,
}

/// What one principal has.
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

/// The room of an answer, until it is dropped. A stream has it.
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
    /// For one principal, or for several of whom none is to take the room of the others.
    pub(crate) fn new(are_many: bool) -> Arc<Self> {
        Self::with(MAX_BYTES, if are_many { MAX_BYTES / PART } else { MAX_BYTES })
    }

    fn with(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), most, most_of_one })
    }

    /// Makes room for an answer that is about to be said on a stream.
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
        // Whoever holds a stream last gives back its room, which takes the lock.
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

    /// The oldest from a number on that has to go: of one that has more than `most`, or of all that have.
    fn next(&self, from: u64, one: Option<&str>, most: usize) -> Option<u64> {
        let Some(one) = one else {
            return (self.bytes > most)
                .then(|| self.answers.range(from..).next())?
                .map(|(number, _)| *number);
        };
        let of_one = self.of.get(one).filter(|of_one| of_one.bytes > most)?;
        of_one.numbers.range(from..).next().copied()
    }

    /// Has the oldest forgotten until there is room again. The streams that it looked at.
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

    /// An answer of a principal, as it is when its client is gone.
    fn said(all: &Arc<KeptAnswers>, principal: &str) -> Arc<Stream> {
        let stream = Stream::kept();
        stream.stays(all.stay(&principal.into(), &stream, BYTES - BESIDE));
        stream.end(Some(vec![b'x'; BYTES - BESIDE]));
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
        stream.end(Some(vec![b'x'; BYTES]));
        assert!(!stream.is_forgotten());
        stream.end_reading(reading);
        said(&all, "b");
        assert!(stream.is_forgotten(), "its reader is gone");
    }
}
