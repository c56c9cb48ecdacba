//! Whether the chains of a copy are whole: of one file that an export wrote, or that somebody took from a log server.
//!
//! Lines may have come more than once, in another order, and with what a log server puts before them, and they may
//! be of several audits: of other users, machines and homes. Which line is the newest is not known here: what was cut
//! off at the end, or changed in the last line, is not found. Where a chain begins is known: with its first line, or
//! behind a line that somebody names.

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

/// The hash of a line, by which a person names it: as `sha256sum` prints it of the line without its line feed.
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

/// What was found in a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Each chain by itself, in the order of its first line in the file.
    pub chains: Vec<Chain>,
    /// Lines that came again.
    pub again: u64,
    /// Calls that were refused because the audit took no line of them: they came without a place in the chain.
    pub apart: u64,
    /// What is no line of an audit.
    pub other: u64,
    /// Lines that are of no chain.
    pub added: Breaks,
    /// Where a chain was to begin, and none does.
    pub not_found: Vec<LineHash>,
}

/// One chain of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Whose it is: the user, with the number, and the machine.
    pub owner: String,
    /// How many lines are there.
    pub lines: u64,
    /// The numbers of the first and the last one.
    pub numbers: (u64, u64),
    /// When the calls of the first and the last one began.
    pub times: (String, String),
    /// How it begins.
    pub begins: Begins,
    /// The last line.
    pub last: LineHash,
    /// Where it is broken.
    pub breaks: Breaks,
}

/// How a chain begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begins {
    /// With the first line that was ever written, or anew, which is a break.
    First,
    /// Behind this line, as somebody said that it may.
    AsSaid(LineHash),
    /// Behind this line, which is not there. Here.
    Later(LineHash, Place),
}

/// Places where something is broken: the first ones, and how many more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaks {
    /// The first ones.
    pub told: Vec<Break>,
    /// Those that were not kept.
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
    /// Whether all lines from its first one, or from where it may begin, are there as they were written.
    pub fn is_whole(&self) -> bool {
        self.breaks.told.is_empty() && !matches!(self.begins, Begins::Later(..))
    }
}

impl Copied {
    /// Whether there is something, and all of it is whole.
    pub fn is_whole(&self) -> bool {
        !self.chains.is_empty()
            && self.chains.iter().all(Chain::is_whole)
            && self.added.told.is_empty()
            && self.not_found.is_empty()
    }
}

/// Reads all lines of a file. A chain may begin with its first line, or behind one of `from`.
pub fn verify_copy(path: &Path, from: &[LineHash]) -> io::Result<Copied> {
    let mut read =
        Read { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), ..Read::default() };
    rows::each(path, |text, row| read.line(text, row))?;
    Ok(read.finish(from))
}

/// What is kept of a line.
struct Seen {
    link: Link,
    hash: Hash,
    row: u64,
    /// Which of the owners.
    owner: usize,
    time: String,
}

#[derive(Default)]
struct Read {
    name: String,
    found: Copied,
    seen: Vec<Seen>,
    by_hash: HashMap<[u8; 32], usize>,
    /// Users on machines, each once.
    owners: Vec<String>,
}

impl Read {
    fn line(&mut self, text: &[u8], row: u64) {
        // What was cut is no record any more.
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

/// Who wrote a line: who has no name has a number, and older lines have neither.
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
