//! Relayed texts that are known and not yet read, in the order in which they are read.
//!
//! Answers come before cancellations. Within each kind the groups (usually principals) take turns, so a group
//! with many texts delays its own only.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::relay::{ACTS, Kind};

/// Maximum number of unread texts. The rows beyond it are looked at when there is room again.
pub(crate) const MOST_UNREAD: usize = 65_536;

/// Bytes of a group in a mark.
pub(crate) const GROUP: usize = 8;

type Group = [u8; GROUP];

/// An unread text: its mark, and the time at which it was written.
struct Entry {
    mark: Vec<u8>,
    written: Instant,
}

/// Texts of one kind, by group. `order` has each group that has texts once.
#[derive(Default)]
struct Turns {
    of: HashMap<Group, VecDeque<Entry>>,
    order: VecDeque<Group>,
}

impl Turns {
    fn add(&mut self, group: Group, entry: Entry) {
        let texts = self.of.entry(group).or_default();
        if texts.is_empty() {
            self.order.push_back(group);
        }
        texts.push_back(entry);
    }

    fn next(&mut self) -> Option<Entry> {
        let group = self.order.pop_front()?;
        let texts = self.of.get_mut(&group)?;
        let entry = texts.pop_front();
        if texts.is_empty() {
            self.of.remove(&group);
        } else {
            self.order.push_back(group);
        }
        entry
    }

    fn oldest(&self) -> Option<Instant> {
        self.of.values().filter_map(|texts| texts.front()).map(|entry| entry.written).min()
    }

    /// Removes the texts that act no more. Returns their number.
    fn expire(&mut self) -> usize {
        let mut expired = 0;
        self.of.retain(|_, texts| {
            let before = texts.len();
            texts.retain(|entry| entry.written.elapsed() <= ACTS);
            expired += before - texts.len();
            !texts.is_empty()
        });
        let of = &self.of;
        self.order.retain(|group| of.contains_key(group));
        expired
    }
}

/// All unread texts.
#[derive(Default)]
pub(crate) struct Unread {
    answers: Turns,
    cancellations: Turns,
    count: usize,
}

impl Unread {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= MOST_UNREAD
    }

    /// Adds a text that was written some time ago.
    pub(crate) fn add(&mut self, mark: Vec<u8>, age: Duration) {
        let now = Instant::now();
        let (kind, group) = kind_and_group(&mark);
        let entry = Entry { mark, written: now.checked_sub(age).unwrap_or(now) };
        match kind {
            Kind::Answer => self.answers.add(group, entry),
            Kind::Cancellation => self.cancellations.add(group, entry),
        }
        self.count += 1;
    }

    /// Takes the marks of the texts whose turn it is, at most `most`.
    pub(crate) fn next(&mut self, most: usize) -> Vec<Vec<u8>> {
        let next = || self.answers.next().or_else(|| self.cancellations.next());
        let marks: Vec<_> = std::iter::from_fn(next).take(most).map(|entry| entry.mark).collect();
        self.count -= marks.len();
        marks
    }

    /// Returns the time at which the oldest answer was written.
    pub(crate) fn oldest_answer(&self) -> Option<Instant> {
        self.answers.oldest()
    }

    /// Removes the texts that act no more. Returns the number of answers among them.
    pub(crate) fn expire(&mut self) -> usize {
        let answers = self.answers.expire();
        self.count -= answers + self.cancellations.expire();
        answers
    }
}

/// Returns the mark of a new text: the byte of its kind, its group, and random bytes.
pub(crate) fn mark_of(kind: Kind, group: Group, random: &[u8]) -> Vec<u8> {
    let kind = match kind {
        Kind::Answer => 0,
        Kind::Cancellation => 1,
    };
    [&[kind], &group[..], random].concat()
}

/// Returns the kind and the group of a mark. Marks of older versions are only random, and are those of answers
/// in a group of their own.
fn kind_and_group(mark: &[u8]) -> (Kind, Group) {
    let mut group = Group::default();
    match mark.split_first() {
        Some((kind, rest)) if rest.len() > 2 * GROUP => {
            let (own, _) = rest.split_at(GROUP);
            group.copy_from_slice(own);
            (if *kind == 0 { Kind::Answer } else { Kind::Cancellation }, group)
        }
        _ => (Kind::Answer, group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(unread: &mut Unread, kind: Kind, group: u8, number: u8) {
        unread.add(mark_of(kind, [group; GROUP], &[number; 16]), Duration::ZERO);
    }

    /// Returns the group and the number of the next texts.
    fn next(unread: &mut Unread, most: usize) -> Vec<(u8, u8)> {
        unread.next(most).iter().map(|mark| (mark[1], mark[24])).collect()
    }

    #[test]
    fn groups_take_turns_and_answers_come_before_cancellations() {
        let mut unread = Unread::default();
        for number in 0..4 {
            add(&mut unread, Kind::Cancellation, 1, number);
            add(&mut unread, Kind::Answer, 2, number);
        }
        add(&mut unread, Kind::Answer, 3, 0);
        add(&mut unread, Kind::Cancellation, 3, 1);
        assert_eq!(next(&mut unread, 3), [(2, 0), (3, 0), (2, 1)]);
        add(&mut unread, Kind::Answer, 4, 0);
        assert_eq!(next(&mut unread, 4), [(2, 2), (4, 0), (2, 3), (1, 0)]);
        assert_eq!(next(&mut unread, 9), [(3, 1), (1, 1), (1, 2), (1, 3)]);
        assert!(unread.is_empty() && unread.oldest_answer().is_none());
    }

    #[test]
    fn texts_that_act_no_more_are_counted_and_go() {
        let mut unread = Unread::default();
        let old = ACTS + Duration::from_secs(1);
        for (kind, age) in [(Kind::Answer, old), (Kind::Cancellation, old), (Kind::Answer, Duration::ZERO)] {
            unread.add(mark_of(kind, [1; GROUP], &[0; 16]), age);
        }
        assert!(unread.oldest_answer().is_some_and(|oldest| oldest.elapsed() >= old));
        assert_eq!(unread.expire(), 1);
        assert_eq!(unread.next(9).len(), 1);
        assert!(unread.is_empty() && unread.expire() == 0);
    }

    #[test]
    fn a_mark_of_an_older_version_is_one_of_an_answer() {
        assert_eq!(kind_and_group(&[1; 16]), (Kind::Answer, [0; GROUP]));
        assert_eq!(kind_and_group(&[]), (Kind::Answer, [0; GROUP]));
        let mark = mark_of(Kind::Cancellation, [7; GROUP], &[1; 16]);
        assert_eq!(kind_and_group(&mark), (Kind::Cancellation, [7; GROUP]));
    }
}
