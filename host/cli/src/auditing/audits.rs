//! Tells audits apart by the links of their lines: machines can have the same name, and a user several homes.

use std::collections::HashMap;

use scorpiox_audit::{Hash, Link};

type HashBytes = [u8; 32];

/// Lines that follow one another in a chain.
#[derive(Debug)]
struct Piece {
    /// Hashes of the first and the last line.
    first: Hash,
    last: Hash,
    /// Piece that this one was joined to.
    joined: Option<usize>,
}

/// Pieces of chains, from lines in any order.
#[derive(Debug, Default)]
pub(super) struct Audits {
    pieces: Vec<Piece>,
    /// Piece by the hash of its last line, and by the hash of the line before its first.
    by_end: HashMap<HashBytes, usize>,
    by_begin: HashMap<HashBytes, usize>,
}

impl Audits {
    /// Adds a line and returns the number of its piece. Returns `None` for a line that is not chained.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<usize> {
        let (link, hash) = (Link::read(text)?, Hash::of(text));
        let before =
            (link.previous != Hash::NONE).then(|| self.by_end.remove(&link.previous.bytes())).flatten();
        let after = self.by_begin.remove(&hash.bytes());
        let alone = Piece { first: hash, last: hash, joined: None };
        let (at, previous) = match (before, after) {
            (Some(before), Some(after)) => {
                self.pieces[after].joined = Some(before);
                self.pieces[before].last = self.pieces[after].last;
                (before, None)
            }
            (Some(before), None) => {
                self.pieces[before].last = hash;
                (before, None)
            }
            (None, Some(after)) => {
                self.pieces[after].first = hash;
                (after, Some(link.previous))
            }
            (None, None) => {
                self.pieces.push(alone);
                (self.pieces.len() - 1, Some(link.previous))
            }
        };
        self.by_end.insert(self.pieces[at].last.bytes(), at);
        if let Some(previous) = previous.filter(|previous| *previous != Hash::NONE) {
            self.by_begin.insert(previous.bytes(), at);
        }
        Some(at)
    }

    /// Returns the hash of the oldest line of each piece's chain. Where lines are missing, another chain begins: nothing
    /// proves that the lines behind the gap are of the same audit.
    pub(super) fn finish(self) -> Vec<Hash> {
        let root = |mut at: usize| {
            while let Some(joined) = self.pieces[at].joined {
                at = joined;
            }
            at
        };
        (0..self.pieces.len()).map(|at| self.pieces[root(at)].first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `count` chained lines with a text.
    fn chain(text: &str, count: u64) -> Vec<String> {
        let mut previous = Hash::NONE;
        (1..=count)
            .map(|number| {
                let line = format!(r#"{{"text":"{text}","n":{number},"prev":"{previous}"}}"#);
                previous = Hash::of(line.as_bytes());
                line
            })
            .collect()
    }

    /// Adds lines and returns the audit of each.
    fn audits(lines: &[&String]) -> Vec<String> {
        let mut audits = Audits::default();
        let pieces: Vec<_> = lines.iter().map(|line| audits.add(line.as_bytes()).unwrap()).collect();
        let found = audits.finish();
        pieces.into_iter().map(|at| found[at].to_string()).collect()
    }

    #[test]
    fn lines_are_of_the_audit_that_they_are_linked_to_in_any_order() {
        let (one, two) = (chain("a", 9), chain("b", 7));
        let is_one = |line: &String| one.contains(line);
        let mut lines: Vec<&String> = one.iter().chain(&two).collect();
        for step in [1, 3, 5, 7, 11] {
            // Each step and the length have no common divisor.
            let mixed: Vec<&String> = (0..lines.len()).map(|at| lines[at * step % lines.len()]).collect();
            let found = audits(&mixed);
            let first = |chain: &[String]| Hash::of(chain[0].as_bytes()).to_string();
            for (line, audit) in mixed.iter().zip(&found) {
                assert_eq!(*audit, first(if is_one(line) { &one } else { &two }), "step {step}: {line}");
            }
        }
        lines.reverse();
        assert_eq!(audits(&lines).iter().collect::<std::collections::BTreeSet<_>>().len(), 2);
    }

    #[test]
    fn only_links_join_lines() {
        let (one, two) = (chain("a", 9), chain("b", 9));
        let count =
            |lines: &[&String]| audits(lines).into_iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(count(&[&one[1], &one[0], &one[2]]), 1);
        // The numbers of another audit may go on where those of this one end.
        assert_eq!(count(&[&one[0], &one[1], &two[2], &two[3]]), 2);
        assert_eq!(count(&[&one[0], &one[1], &one[4], &one[5]]), 2);
        let other = format!(r#"{{"text":"c","n":3,"prev":"{}"}}"#, Hash::of(one[1].as_bytes()));
        assert_eq!(count(&[&one[0], &one[1], &one[2], &one[3], &other]), 2, "it diverges");
    }

    #[test]
    fn a_line_that_is_not_chained_is_of_no_audit() {
        assert_eq!(Audits::default().add(b"{}"), None);
    }
}
