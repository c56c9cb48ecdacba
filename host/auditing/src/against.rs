//! Compares an audit with copies of it: does it still have all that they have?
//!
//! Whoever may write the audit's folder can make a chain that is whole and is not the one that was written: from
//! nothing, after the log and its head were removed, or from any line on. A copy elsewhere tells: each of its lines has
//! to be in the audit, unless it was rotated away.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_audit::read::{Line as ReadLine, Reader};
use scorpiox_audit::{Hash, LineHash, Link, Record, each_row, owner};

/// Chains that are told of; the rest is counted.
const MAX_CHAINS: usize = 20;

/// The result of a comparison of an audit with its copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Against {
    /// Lines of copies that the audit has as they are.
    pub same: u64,
    /// Lines of copies that are older than the audit's first one.
    pub rotated: u64,
    /// Lines of the audit that no copy has.
    pub only_here: u64,
    /// A file in which the audit is another one than a copy.
    pub differences: Vec<Difference>,
    /// Differences that were not kept.
    pub more: u64,
    /// Lines that a person accepted as the ends of other chains, and that end none.
    pub not_found: Vec<LineHash>,
}

/// The way in which an audit differs from a copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Difference {
    /// These lines of a copy are not in the audit, and nothing else has their numbers.
    Missing(u64, u64),
    /// These are other lines than in a copy.
    Changed(u64, u64),
    /// A copy has a chain of the same user and machine of which the audit has nothing.
    OtherChain {
        /// The user and the machine of the chain.
        owner: String,
        /// The numbers of its first and its last line in the copy.
        numbers: (u64, u64),
        /// The time at which the first and the last of these calls began.
        times: (String, String),
        /// Its last line.
        last: LineHash,
    },
    /// The copies have no line of this audit.
    NothingOfIt,
}

impl Against {
    /// Reports whether the audit has all that the copies have.
    pub(super) fn is_whole(&self) -> bool {
        self.differences.is_empty() && self.not_found.is_empty()
    }

    fn add(&mut self, difference: Difference) {
        if self.differences.len() < MAX_CHAINS {
            self.differences.push(difference);
        } else {
            self.more += 1;
        }
    }
}

/// Compares the audit in a folder with copies of it. Chains of the same user that end with one of `elsewhere` may be
/// those of other audits. Without any line in the folder the chains of `account` count as its own.
pub(super) fn verify_against(
    folder: &Path,
    copies: &[PathBuf],
    elsewhere: &[LineHash],
    account: &Record,
) -> io::Result<Against> {
    let own = Own::read(folder, account)?;
    let mut found = Copied::default();
    for copy in copies {
        each_row(copy, |text, _| found.line(text, &own))?;
    }
    Ok(found.compare(&own, elsewhere))
}

/// The lines of the audit itself.
#[derive(Default)]
struct Own {
    by_number: HashMap<u64, [u8; 32]>,
    hashes: HashMap<[u8; 32], u64>,
    /// The oldest one's number, and what it says of the line before it.
    first: Option<(u64, Hash)>,
    owners: BTreeSet<String>,
}

impl Own {
    fn read(folder: &Path, account: &Record) -> io::Result<Self> {
        let mut own = Self::default();
        let mut reader = Reader::new(folder);
        while let Some(line) = reader.next()? {
            if let ReadLine::Whole(record, text) = line {
                own.line(&record, text.as_bytes());
            }
        }
        if own.owners.is_empty() {
            own.owners.insert(owner(account));
        }
        Ok(own)
    }

    fn line(&mut self, record: &Record, text: &[u8]) {
        let Some(link) = Link::read(text) else { return };
        let hash = Hash::of(text).bytes();
        self.first =
            self.first.filter(|(first, _)| *first < link.number).or(Some((link.number, link.previous)));
        self.by_number.insert(link.number, hash);
        self.hashes.insert(hash, link.number);
        self.owners.insert(owner(record));
    }
}

/// A line of a chain.
fn linked(text: &[u8]) -> Option<(Link, Record)> {
    Some((Link::read(text)?, Record::parse(std::str::from_utf8(text).ok()?)?))
}

/// A line of a copy.
struct Line {
    link: Link,
    hash: Hash,
    owner: String,
    time: String,
}

/// The lines of all copies that can be of the audit, each once.
#[derive(Default)]
struct Copied {
    lines: Vec<Line>,
    by_hash: HashMap<[u8; 32], usize>,
}

impl Copied {
    fn line(&mut self, text: &[u8], own: &Own) {
        let Some((link, record)) = linked(text) else { return };
        let (hash, owner) = (Hash::of(text), owner(&record));
        if own.owners.contains(&owner) && !self.by_hash.contains_key(&hash.bytes()) {
            self.by_hash.insert(hash.bytes(), self.lines.len());
            self.lines.push(Line { link, hash, owner, time: record.time });
        }
    }

    /// Of each line the first one of its chain: the oldest that the copies have.
    fn roots(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by_key(|at| self.lines[*at].link.number);
        let mut roots: Vec<usize> = (0..self.lines.len()).collect();
        for at in order {
            let link = self.lines[at].link;
            let before = self.by_hash.get(&link.previous.bytes()).copied();
            if let Some(before) = before.filter(|before| self.lines[*before].link.number < link.number) {
                roots[at] = roots[before];
            }
        }
        roots
    }

    fn compare(&self, own: &Own, elsewhere: &[LineHash]) -> Against {
        let mut found = Against::default();
        let roots = self.roots();
        let mut chains: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, root) in roots.iter().enumerate() {
            chains.entry(*root).or_default().push(at);
        }
        let mut chains: Vec<_> = chains.into_iter().collect();
        chains.sort_unstable_by_key(|(root, _)| *root);
        let mut accepted = Vec::new();
        for (_, mut lines) in chains {
            lines.sort_by_key(|at| self.lines[*at].link.number);
            if self.is_of(own, &lines) {
                self.compare_chain(own, &lines, &mut found);
            } else if let Some(said) = elsewhere.iter().find(|said| self.ends_with(&lines, **said)) {
                accepted.push(*said);
            } else {
                found.add(self.other(&lines));
            }
        }
        let is_in_a_copy = |hash: &&[u8; 32]| self.by_hash.contains_key(*hash);
        let shared = own.hashes.keys().filter(is_in_a_copy).count();
        found.only_here = (own.hashes.len() - shared) as u64;
        // What was made anew, and reached no copy yet, looks like an audit that nobody copied.
        if found.same == 0 && found.rotated == 0 && !own.hashes.is_empty() && found.differences.is_empty() {
            found.add(Difference::NothingOfIt);
        }
        found.not_found = elsewhere.iter().filter(|hash| !accepted.contains(hash)).copied().collect();
        found
    }

    /// Reports whether a chain is the audit's: they have a line in common, or the audit begins just behind it.
    fn is_of(&self, own: &Own, lines: &[usize]) -> bool {
        let before = own.first.map(|(_, previous)| previous);
        lines.iter().any(|at| {
            let hash = self.lines[*at].hash;
            own.hashes.contains_key(&hash.bytes()) || before == Some(hash)
        })
    }

    fn ends_with(&self, lines: &[usize], said: LineHash) -> bool {
        lines.last().is_some_and(|at| LineHash::from(self.lines[*at].hash) == said)
    }

    fn compare_chain(&self, own: &Own, lines: &[usize], found: &mut Against) {
        let first = own.first.map_or(0, |(first, _)| first);
        let (mut missing, mut changed) = (Vec::new(), Vec::new());
        for at in lines {
            let Line { link, hash, .. } = &self.lines[*at];
            match own.by_number.get(&link.number) {
                _ if own.hashes.contains_key(&hash.bytes()) => found.same += 1,
                _ if link.number < first => found.rotated += 1,
                Some(_) => push(&mut changed, link.number),
                None => push(&mut missing, link.number),
            }
        }
        for (from, to) in changed {
            found.add(Difference::Changed(from, to));
        }
        for (from, to) in missing {
            found.add(Difference::Missing(from, to));
        }
    }

    fn other(&self, lines: &[usize]) -> Difference {
        let line = |at: Option<&usize>| at.and_then(|at| self.lines.get(*at));
        let (Some(first), Some(last)) = (line(lines.first()), line(lines.last())) else {
            return Difference::NothingOfIt;
        };
        Difference::OtherChain {
            owner: first.owner.clone(),
            numbers: (first.link.number, last.link.number),
            times: (first.time.clone(), last.time.clone()),
            last: last.hash.into(),
        }
    }
}

/// Adds a number to ranges that are in order.
fn push(ranges: &mut Vec<(u64, u64)>, number: u64) {
    match ranges.last_mut() {
        Some((_, to)) if to.checked_add(1) == Some(number) => *to = number,
        Some((_, to)) if *to == number => {}
        _ => ranges.push((number, number)),
    }
}

#[cfg(test)]
mod tests;
