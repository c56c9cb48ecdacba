//! Tells audits apart by the links of their lines: machines can have the same name, and a user several homes.

use std::collections::{BTreeMap, HashMap};

use scorpiox_audit::{Hash, Link};

type HashBytes = [u8; 32];

/// Lines that follow one another in a chain.
#[derive(Debug)]
struct Piece {
    owner: String,
    /// Numbers of the first and the last line.
    numbers: (u64, u64),
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
    pub(super) fn add(&mut self, owner: &str, line: &[u8]) -> Option<usize> {
        let (link, hash) = (Link::read(line)?, Hash::of(line));
        let before =
            (link.previous != Hash::NONE).then(|| self.by_end.remove(&link.previous.bytes())).flatten();
        let after = self.by_begin.remove(&hash.bytes());
        let alone = Piece {
            owner: owner.to_owned(),
            numbers: (link.number, link.number),
            first: hash,
            last: hash,
            joined: None,
        };
        let (at, previous) = match (before, after) {
            (Some(before), Some(after)) => {
                let Piece { numbers: (_, number), last, .. } = self.pieces[after];
                self.pieces[after].joined = Some(before);
                (self.pieces[before].numbers.1, self.pieces[before].last) = (number, last);
                (before, None)
            }
            (Some(before), None) => {
                (self.pieces[before].numbers.1, self.pieces[before].last) = (link.number, hash);
                (before, None)
            }
            (None, Some(after)) => {
                (self.pieces[after].numbers.0, self.pieces[after].first) = (link.number, hash);
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

    /// Returns the hash of the oldest line of each piece's audit. Pieces of an owner are of one audit, with lines
    /// missing between them, unless they have lines of the same numbers.
    pub(super) fn finish(self) -> Vec<Hash> {
        let mut apart: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, piece) in self.pieces.iter().enumerate().filter(|(_, piece)| piece.joined.is_none()) {
            apart.entry(&piece.owner).or_default().push(at);
        }
        let mut found: Vec<Hash> = self.pieces.iter().map(|piece| piece.first).collect();
        for mut pieces in apart.into_values() {
            pieces.sort_by_key(|at| self.pieces[*at].numbers);
            // Last number of each audit, and its oldest line.
            let mut audits: Vec<(u64, Hash)> = Vec::new();
            for at in pieces {
                let Piece { numbers: (first, last), first: oldest, .. } = self.pieces[at];
                let earlier = audits.iter_mut().filter(|(end, _)| *end < first).max_by_key(|(end, _)| *end);
                match earlier {
                    Some((end, oldest)) => {
                        *end = last;
                        found[at] = *oldest;
                    }
                    None => audits.push((last, oldest)),
                }
            }
        }
        for at in 0..found.len() {
            let mut root = at;
            while let Some(joined) = self.pieces[root].joined {
                root = joined;
            }
            found[at] = found[root];
        }
        found
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
        let pieces: Vec<_> =
            lines.iter().map(|line| audits.add("ana on m1", line.as_bytes()).unwrap()).collect();
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
    fn missing_lines_make_no_other_audit_and_lines_with_the_same_number_do() {
        let (one, two) = (chain("a", 9), chain("b", 9));
        let count =
            |lines: &[&String]| audits(lines).into_iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(count(&[&one[0], &one[1], &one[4], &one[5], &one[8]]), 1);
        assert_eq!(count(&[&one[8], &one[0], &one[4]]), 1);
        assert_eq!(count(&[&one[0], &two[0]]), 2);
        assert_eq!(count(&[&one[0], &one[4], &two[4], &two[6], &one[8]]), 2);
        let mut forked = chain("a", 9);
        forked.truncate(3);
        let other = format!(r#"{{"text":"c","n":3,"prev":"{}"}}"#, Hash::of(one[1].as_bytes()));
        assert_eq!(count(&[&one[0], &one[1], &one[2], &one[3], &other]), 2);
    }

    #[test]
    fn a_line_that_is_not_chained_is_of_no_audit() {
        assert_eq!(Audits::default().add("ana", b"{}"), None);
    }
}
