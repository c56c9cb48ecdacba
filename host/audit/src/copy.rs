//! Verifies the chains in a copy of the audit log: a file written by an export, or fetched from a log server.
//!
//! Lines may be duplicated, reordered, and prefixed by a log server. They may come from several audit logs,
//! that is from several users, machines, and homes. The newest line is unknown here, so truncation at the end
//! and changes to the last line go undetected. The start of a chain is known: its first line, or the line
//! after one that the user names.

mod lines;
mod rows;
mod sort;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

use crate::chain::{Hash, Link};
use crate::read::Record;
use crate::verify::{Break, Broken, MAX_BREAKS, Place};

pub use lines::Copies;
pub use rows::each as each_row;

/// Hash by which the user refers to a line: the `sha256sum` of the line without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineHash(Hash);

impl From<Hash> for LineHash {
    fn from(hash: Hash) -> Self {
        Self(hash)
    }
}

impl FromStr for LineHash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hash = Hash::parse(text.to_ascii_lowercase().as_bytes()).filter(|hash| *hash != Hash::NONE);
        hash.map(Self)
            .ok_or("write the 64 hexadecimal digits of a line's SHA-256, as `prev` of the next line has them")
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Result of verifying a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Chains found, ordered by their first line in the file.
    pub chains: Vec<Chain>,
    /// Number of duplicate lines.
    pub again: u64,
    /// Number of refused calls that the audit log could not record. Their lines are not chained.
    pub apart: u64,
    /// Number of rows that are not audit lines.
    pub other: u64,
    /// Lines that belong to no chain.
    pub added: Breaks,
    /// Requested starting points at which no chain begins.
    pub not_found: Vec<LineHash>,
}

/// Chain found in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Owner: user, UID, and machine.
    pub owner: String,
    /// Number of lines.
    pub lines: u64,
    /// Sequence numbers of the first and the last line.
    pub numbers: (u64, u64),
    /// Start times of the calls in the first and the last line.
    pub times: (String, String),
    /// Beginning of the chain.
    pub begins: Begins,
    /// Hash of the last line.
    pub last: LineHash,
    /// Breaks of the chain.
    pub breaks: Breaks,
}

/// Beginning of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begins {
    /// The very first line, or a restart of the chain. A restart is also a break.
    First,
    /// The line after this one, as the user permitted.
    AsSaid(LineHash),
    /// The line after this one, which is missing. The place is that of the chain's first line.
    Later(LineHash, Place),
}

/// Breaks found: the first `MAX_BREAKS`, and a count of the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaks {
    /// First breaks found.
    pub told: Vec<Break>,
    /// Number of further breaks.
    pub more: u64,
}

impl Breaks {
    fn add(&mut self, place: Place, what: Broken) {
        if self.told.len() < MAX_BREAKS {
            self.told.push(Break { place: Some(place), what });
        } else {
            self.more += 1;
        }
    }
}

impl Chain {
    /// Returns `true` if all lines from the permitted beginning on are present and unchanged.
    pub fn is_whole(&self) -> bool {
        self.breaks.told.is_empty() && !matches!(self.begins, Begins::Later(..))
    }
}

impl Copied {
    /// Returns `true` if the copy contains at least one chain and is intact.
    pub fn is_whole(&self) -> bool {
        !self.chains.is_empty()
            && self.chains.iter().all(Chain::is_whole)
            && self.added.told.is_empty()
            && self.not_found.is_empty()
    }
}

/// Verifies all lines of a file. A chain may begin with its first line, or after one of the lines in `from`.
pub fn verify_copy(path: &Path, from: &[LineHash]) -> io::Result<Copied> {
    let mut read =
        Read { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), ..Read::default() };
    rows::each(path, |text, row| read.line(text, row))?;
    Ok(read.finish(from))
}

/// State retained for each line.
struct Seen {
    link: Link,
    hash: Hash,
    row: u64,
    /// Index into `Read::owners`.
    owner: usize,
    time: String,
}

#[derive(Default)]
struct Read {
    name: String,
    found: Copied,
    seen: Vec<Seen>,
    by_hash: HashMap<[u8; 32], usize>,
    /// Distinct users on machines.
    owners: Vec<String>,
}

impl Read {
    fn line(&mut self, text: &[u8], row: u64) {
        // A truncated line is not a record.
        let Some(record) = std::str::from_utf8(text).ok().and_then(Record::parse) else {
            self.found.other += 1;
            return;
        };
        let Some(link) = Link::read(text) else {
            if record.is_unrecorded() {
                self.found.apart += 1;
                return;
            }
            let place = Place { file: self.name.clone(), row };
            return self.found.added.add(place, Broken::Added);
        };
        let hash = Hash::of(text);
        if self.by_hash.contains_key(&hash.bytes()) {
            self.found.again += 1;
            return;
        }
        let owner = owner(&record);
        let known = self.owners.iter().position(|other| *other == owner);
        let owner = known.unwrap_or_else(|| {
            self.owners.push(owner);
            self.owners.len() - 1
        });
        self.by_hash.insert(hash.bytes(), self.seen.len());
        self.seen.push(Seen { link, hash, row, owner, time: record.time });
    }

    fn finish(mut self, from: &[LineHash]) -> Copied {
        self.found.chains = sort::chains(&self.seen, &self.by_hash, &self.owners, &self.name, from);
        let begins =
            |hash: &LineHash| self.found.chains.iter().any(|chain| chain.begins == Begins::AsSaid(*hash));
        self.found.not_found = from.iter().filter(|hash| !begins(hash)).copied().collect();
        self.found
    }
}

/// Formats the author of a line. A user without a name is identified by UID; old lines have neither.
pub fn owner(record: &Record) -> String {
    let user = match (record.user.as_str(), record.uid) {
        ("", None) => "an unknown user".to_owned(),
        ("", Some(uid)) => format!("user {uid}"),
        (user, None) => user.to_owned(),
        (user, Some(uid)) => format!("{user} ({uid})"),
    };
    if record.machine.is_empty() { user } else { format!("{user} on {}", record.machine) }
}

#[cfg(test)]
mod tests;
