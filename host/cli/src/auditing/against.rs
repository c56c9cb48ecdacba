//! Compares an audit with copies of it, to check that it still contains all their records.
//!
//! A user who can write to the audit's directory can create a valid chain that differs from the original one:
//! a new one after removing the log and its head, or one that diverges after any line. A copy in another
//! location reveals this: each of its lines must be in the audit, unless it was rotated away.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_audit::read::{Line as ReadLine, Reader};
use scorpiox_audit::{Hash, LineHash, Link, Record, each_row, owner};

/// Maximum number of reported differences. The others are only counted.
const MAX_CHAINS: usize = 20;

/// Result of comparing an audit with its copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Against {
    /// Number of lines of copies that are unchanged in the audit.
    pub same: u64,
    /// Number of lines of copies that are older than the first line of the audit.
    pub rotated: u64,
    /// Number of lines of the audit that are in no copy.
    pub only_here: u64,
    /// Number of lines of the audit's user in copies that no chain holds, so that they cannot be compared.
    pub unchained: u64,
    /// Differences between the audit and the copies.
    pub differences: Vec<Difference>,
    /// Number of further differences that are not stored.
    pub more: u64,
    /// Hashes given with `--elsewhere` that are not the last line of any other chain.
    pub not_found: Vec<LineHash>,
}

/// A difference between an audit and a copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Difference {
    /// Lines of a copy, in a range of numbers, that are missing in the audit.
    Missing(u64, u64),
    /// Lines of a copy, in a range of numbers, that differ from those in the audit.
    Changed(u64, u64),
    /// A chain in a copy, of the same user and machine, of which the audit contains nothing.
    OtherChain {
        /// User and machine of the chain.
        owner: String,
        /// Numbers of its first and last line in the copy.
        numbers: (u64, u64),
        /// Start times of the first and the last call.
        times: (String, String),
        /// Hash of its last line.
        last: LineHash,
    },
    /// The copies contain no line of this audit.
    NothingOfIt,
}

impl Against {
    /// Returns `true` if the audit contains everything that the copies contain.
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

/// Compares the audit in a directory with copies of it. Chains of the same user that end with a hash in
/// `elsewhere` are accepted as those of other audits. If the directory contains no lines, chains of `account`
/// count as its own.
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

/// Lines of the audit itself.
#[derive(Default)]
struct Own {
    by_number: HashMap<u64, [u8; 32]>,
    hashes: HashMap<[u8; 32], u64>,
    /// Number of the oldest line, and the hash of its predecessor.
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

/// Parses a line of a chain.
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

/// Lines of all copies that may belong to the audit, without duplicates.
#[derive(Default)]
struct Copied {
    lines: Vec<Line>,
    by_hash: HashMap<[u8; 32], usize>,
    unchained: u64,
}

impl Copied {
    fn line(&mut self, text: &[u8], own: &Own) {
        let Some((link, record)) = linked(text) else {
            let record = std::str::from_utf8(text).ok().and_then(Record::parse);
            self.unchained += u64::from(record.is_some_and(|record| own.owners.contains(&owner(&record))));
            return;
        };
        let (hash, owner) = (Hash::of(text), owner(&record));
        if own.owners.contains(&owner) && !self.by_hash.contains_key(&hash.bytes()) {
            self.by_hash.insert(hash.bytes(), self.lines.len());
            self.lines.push(Line { link, hash, owner, time: record.time });
        }
    }

    /// Returns the index of the chain's first line, for each line. A chain starts with its oldest line in the
    /// copies.
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
        let mut found = Against { unchained: self.unchained, ..Against::default() };
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
        // An audit that was recreated and not copied since looks like an audit that was never copied.
        if found.same == 0 && found.rotated == 0 && !own.hashes.is_empty() && found.differences.is_empty() {
            found.add(Difference::NothingOfIt);
        }
        found.not_found = elsewhere.iter().filter(|hash| !accepted.contains(hash)).copied().collect();
        found
    }

    /// Returns `true` if a chain belongs to the audit: they share a line, or the audit continues the chain.
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

/// Adds a number to ascending ranges.
fn push(ranges: &mut Vec<(u64, u64)>, number: u64) {
    match ranges.last_mut() {
        Some((_, to)) if to.checked_add(1) == Some(number) => *to = number,
        Some((_, to)) if *to == number => {}
        _ => ranges.push((number, number)),
    }
}

#[cfg(test)]
mod tests;
