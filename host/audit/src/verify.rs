//! Verifies the chain: finds lines that were changed, removed, moved, or added, and missing newest lines.
//!
//! Not detectable: a user with write access to all files can rebuild the complete chain, or truncate it and
//! write a matching head. Exports protect against that.

mod window;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::chain::{Hash, Link, Tip};
use crate::export::{Taken, taken};
use crate::files::{HEAD, Opened, open_all};
use crate::head::{Head, Held};
use crate::read::{MAX_LINE_BYTES, Record};
use window::Window;

/// Maximum number of breaks to report; further ones are counted.
pub(crate) const MAX_BREAKS: usize = 20;

/// Position of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// Line number in the file, starting at 1.
    pub row: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.file, self.row)
    }
}

/// Kind of a break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// The line does not match the hash in the next line or in the head.
    Changed(u64),
    /// Lines in this range are missing, and later ones exist.
    Missing(u64, u64),
    /// The line follows a line with a higher number: it was moved or copied.
    Moved(u64),
    /// Two different lines have this number.
    Twice(u64),
    /// The line is not part of the chain.
    Added,
    /// An empty line, which no server writes.
    Empty,
    /// The line feed that ended this line is missing.
    Unended(u64),
    /// The chain restarts with this line, because the head was removed.
    BegunAnew(u64),
    /// The newest lines, in this range, are missing.
    Cut(u64, u64),
    /// The oldest lines, in this range, are missing, and were not rotated away.
    OldestMissing(u64, u64),
    /// The head is missing or damaged. Missing newest lines cannot be detected.
    NoHead,
    /// The head has contents that no server writes, or in a form that no server writes.
    HeadChanged,
    /// The line with this number, the newest in the head, does not end at this size of its file.
    Shifted(u64, u64),
    /// An export has sent a line with this number, which is higher than that of the newest line.
    Exported(u64, String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |from: u64, to: u64| {
            if from == to { format!("number {from} is") } else { format!("numbers {from} to {to} are") }
        };
        match self {
            Self::Changed(number) => write!(f, "number {number} was changed"),
            Self::Missing(from, to) => write!(f, "{} missing before it", range(*from, *to)),
            Self::Moved(number) => write!(f, "number {number} was moved or copied here"),
            Self::Twice(number) => write!(f, "number {number} is there already, and is another line"),
            Self::Added => write!(f, "is not of the chain: added, or changed"),
            Self::Empty => write!(f, "is an empty line, which no server writes: added"),
            Self::Unended(number) => write!(f, "number {number} lost the line feed behind it"),
            Self::BegunAnew(number) => {
                write!(f, "the chain begins anew with number {number}: {HEAD} had been removed or damaged")
            }
            Self::Cut(from, to) => write!(f, "{} missing at the end", range(*from, *to)),
            Self::OldestMissing(from, to) => {
                write!(f, "{} missing at the beginning, and not by rotation", range(*from, *to))
            }
            Self::NoHead => {
                write!(f, "{HEAD} is missing or damaged: newest lines may be missing")
            }
            Self::HeadChanged => write!(f, "{HEAD} was changed: no server writes it so"),
            Self::Shifted(number, bytes) => write!(
                f,
                "{HEAD} has {bytes} bytes for the file up to number {number}, which are not there: bytes \
                 were added or removed, or {HEAD} was changed"
            ),
            Self::Exported(number, export) => write!(
                f,
                "{export} says that number {number} was exported, and it is not here, or was not when a server went on: newest \
                 lines, or the log with its {HEAD}, were removed, or an older copy was put back"
            ),
        }
    }
}

/// Break of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Line where the break shows; `None` for the ends of the chain.
    pub place: Option<Place>,
    /// Kind of break.
    pub what: Broken,
}

/// Result of the verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of lines in the chain.
    pub lines: u64,
    /// Number of files with lines.
    pub files: u64,
    /// Start times of the calls in the first and the last line.
    pub times: Option<(String, String)>,
    /// Number and position of the first line, if older lines were rotated away.
    pub begins: Option<(u64, Place)>,
    /// Number of lines written before chains were introduced.
    pub before: u64,
    /// Range of lines that exist although they should have been rotated away, according to the head.
    pub unrotated: Option<(u64, u64)>,
    /// Number of fragments left by writers that were killed while writing. They contain no chained lines.
    pub torn: u64,
    /// First breaks found.
    pub breaks: Vec<Break>,
    /// Number of further breaks.
    pub more_breaks: u64,
}

impl Verified {
    /// Returns `true` if no breaks were found.
    pub fn is_whole(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// Verifies all lines in a directory. Writes nothing, so the directory may be a read-only copy.
pub fn verify(folder: &Path) -> io::Result<Verified> {
    let Snapshot { head, files, beside } = snapshot(folder)?;
    let mut check = Check { window: head.as_ref().map(Window::of), ..Check::default() };
    for Opened { name, file, bytes, .. } in files {
        check.file(&name, file, bytes, head.as_ref())?;
    }
    Ok(check.finish(head.as_ref(), beside))
}

/// Files of an audit directory.
struct Snapshot {
    head: Option<Head>,
    files: Vec<Opened>,
    beside: Beside,
}

/// Information from the other files of the directory.
struct Beside {
    /// `true` if the head consists of exactly the bytes that a server writes.
    is_head_as_written: bool,
    /// Exports, each with the name of its position file.
    exported: Vec<(Taken, String)>,
}

/// Opens the head and all files in a consistent state.
fn snapshot(folder: &Path) -> io::Result<Snapshot> {
    let head = match File::open(folder.join(HEAD)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other?),
    };
    let _held = head.as_ref().and_then(Held::to_read);
    let read = head.as_ref().map(Head::read).transpose()?.flatten();
    let is_head_as_written = match (&head, &read) {
        (Some(file), Some(head)) => head.is_written_so(file)?,
        _ => true,
    };
    let beside = Beside { is_head_as_written, exported: positions(folder) };
    Ok(Snapshot { head: read, files: open_all(folder)?, beside })
}

#[derive(Default)]
struct Check {
    found: Verified,
    /// Previous line and its position.
    last: Option<(Tip, Place)>,
    /// Ranges of line numbers seen.
    seen: Vec<(u64, u64)>,
    /// Ranges of line numbers missing at their position, and where the gap shows.
    gaps: Vec<(u64, u64, Place)>,
    /// Line described by the head.
    at_head: Option<(Hash, Place)>,
    /// Sizes that the head may have recorded.
    window: Option<Window>,
    /// First lines without a link in front of the chain.
    in_front: Vec<Place>,
    /// Text of the first and of the last line.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl Check {
    fn file(&mut self, name: &str, file: File, bytes: u64, head: Option<&Head>) -> io::Result<()> {
        let mut rows = BufReader::new(file.take(bytes));
        let (mut line, mut row, mut has_lines) = (Vec::new(), 0, false);
        let mut to = 0;
        loop {
            line.clear();
            if rows.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            row += 1;
            let from = to;
            to += line.len() as u64;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
                // Longer than any audit line.
                to += rows.skip_until(b'\n')? as u64;
            }
            let place = || Place { file: name.to_owned(), row };
            if text.trim_ascii().is_empty() {
                self.broken(Some(place()), Broken::Empty);
                continue;
            }
            has_lines = true;
            let number = self.line(text, place, head);
            if let Some(window) = &mut self.window {
                window.row(number, from, to);
            }
            // The head is written after the line feeds of all lines it covers.
            let is_told = |number: &u64| head.is_some_and(|head| head.tip.number >= *number);
            if let Some(number) = number.filter(|number| line.last() != Some(&b'\n') && is_told(number)) {
                self.broken(Some(place()), Broken::Unended(number));
            }
        }
        self.found.files += u64::from(has_lines);
        Ok(())
    }

    /// Takes a line. Returns its number if it is one of the chain.
    fn line(&mut self, text: &[u8], place: impl Fn() -> Place, head: Option<&Head>) -> Option<u64> {
        let Some(link) = Link::read(text) else {
            self.unlinked(text, place);
            return None;
        };
        let tip = Tip { number: link.number, hash: Hash::of(text) };
        match self.last.take() {
            None if link.number > 1 && link.previous != Hash::NONE => {
                self.found.begins = Some((link.number, place()));
            }
            None if link.number > 1 => self.broken(Some(place()), Broken::BegunAnew(link.number)),
            None => {}
            Some((last, at)) => self.follow(link, &last, at, &place),
        }
        self.found.lines += 1;
        match self.seen.last_mut() {
            Some((_, to)) if to.checked_add(1) == Some(link.number) => *to = link.number,
            _ => self.seen.push((link.number, link.number)),
        }
        if head.is_some_and(|head| head.tip.number == link.number) {
            self.at_head = Some((tip.hash, place()));
        }
        match &mut self.ends {
            Some((_, last)) => {
                last.clear();
                last.extend_from_slice(text);
            }
            None => self.ends = Some((text.to_vec(), text.to_vec())),
        }
        self.last = Some((tip, place()));
        Some(link.number)
    }

    fn follow(&mut self, link: Link, last: &Tip, at: Place, place: &impl Fn() -> Place) {
        match last.number.checked_add(1) {
            Some(next) if next > link.number => self.broken(Some(place()), Broken::Moved(link.number)),
            None => self.broken(Some(place()), Broken::Moved(link.number)),
            _ if link.previous == Hash::NONE => {
                self.broken(Some(place()), Broken::BegunAnew(link.number));
            }
            Some(next) if next < link.number => self.gaps.push((next, link.number - 1, place())),
            Some(_) if link.previous != last.hash => self.broken(Some(at), Broken::Changed(last.number)),
            Some(_) => {}
        }
    }

    /// Handles a line without a link: it predates the chain, is torn, or was added.
    fn unlinked(&mut self, text: &[u8], place: impl Fn() -> Place) {
        let is_record = std::str::from_utf8(text).ok().and_then(Record::parse).is_some();
        match (is_record, &self.last) {
            (true, None) => {
                self.found.before += 1;
                if self.in_front.len() < MAX_BREAKS {
                    self.in_front.push(place());
                }
            }
            (false, _) if is_piece(text) => self.found.torn += 1,
            _ => self.broken(Some(place()), Broken::Added),
        }
    }

    fn broken(&mut self, place: Option<Place>, what: Broken) {
        if self.found.breaks.len() < MAX_BREAKS {
            self.found.breaks.push(Break { place, what });
        } else {
            self.found.more_breaks += 1;
        }
    }

    fn finish(mut self, head: Option<&Head>, beside: Beside) -> Verified {
        self.seen.sort_unstable();
        for (from, to, place) in std::mem::take(&mut self.gaps) {
            // Lines found elsewhere were moved, and are reported there.
            for (from, to) in without(from, to, &self.seen) {
                self.broken(Some(place.clone()), Broken::Missing(from, to));
            }
        }
        self.check_front(head);
        self.check_ends(head);
        let newest = self.seen.iter().map(|run| run.1).max().unwrap_or(0);
        let newest = head.map_or(newest, |head| newest.max(head.tip.number));
        if !beside.is_head_as_written || head.is_some_and(|head| !head.is_possible()) {
            self.broken(None, Broken::HeadChanged);
        }
        let missing = beside.exported.into_iter().filter_map(|(taken, export)| {
            let number = if taken.newest > newest { taken.newest } else { taken.lost };
            (number > 0).then_some((number, export))
        });
        if let Some((number, export)) = missing.max_by_key(|(number, _)| *number) {
            self.broken(None, Broken::Exported(number, export));
        }
        // Any other break may have moved the lines.
        let is_shifted = self.found.is_whole() && self.window.take().is_some_and(|window| !window.fits());
        if let Some(head) = head.filter(|_| is_shifted) {
            self.broken(None, Broken::Shifted(head.tip.number, head.bytes));
        }
        let time = |line: &[u8]| Record::parse(std::str::from_utf8(line).ok()?).map(|record| record.time);
        self.found.times = self.ends.and_then(|(first, last)| Some((time(&first)?, time(&last)?)));
        self.found
    }

    /// Reports the lines without a link in front of the chain, unless they may be older than the chain. Older
    /// lines go before number 1 does.
    fn check_front(&mut self, head: Option<&Head>) {
        let first = self.seen.first().map(|run| run.0).or(head.map(|head| head.first));
        if first.is_none_or(|first| first <= 1) {
            return;
        }
        let count = std::mem::take(&mut self.found.before);
        let places = std::mem::take(&mut self.in_front);
        self.found.more_breaks += count - places.len() as u64;
        for place in places {
            self.broken(Some(place), Broken::Added);
        }
    }

    fn check_ends(&mut self, head: Option<&Head>) {
        let (first, last) = (self.seen.first().map(|run| run.0), self.seen.iter().map(|run| run.1).max());
        let Some(head) = head else {
            // A directory without chained lines has no head.
            if first.is_some() {
                self.broken(None, Broken::NoHead);
            }
            return;
        };
        // A server killed during rotation leaves such lines.
        self.found.unrotated = first.filter(|first| *first < head.first).map(|first| (first, head.first - 1));
        let oldest = head.first.max(1);
        if let Some(first) = first.filter(|first| *first > oldest) {
            self.broken(None, Broken::OldestMissing(oldest, first - 1));
        }
        let last = last.unwrap_or(head.first.saturating_sub(1));
        if last < head.tip.number {
            self.broken(None, Broken::Cut(last + 1, head.tip.number));
        }
        let newest = self.at_head.take().filter(|(hash, _)| *hash != head.tip.hash);
        if let Some((_, place)) = newest {
            let number = head.tip.number;
            // If the line has a successor, the successor has already revealed the change.
            let is_told = self.found.breaks.iter().any(|told| told.what == Broken::Changed(number));
            if !is_told && head.tip.hash != Hash::NONE {
                self.broken(Some(place), Broken::Changed(number));
            }
        }
        // A server that finds no head, and is killed before it writes a line, leaves such a head.
        if let Some(anew) = head.begins_anew() {
            let is_told = self.found.breaks.iter().any(|told| told.what == Broken::BegunAnew(anew));
            if !is_told {
                self.broken(None, Broken::BegunAnew(anew));
            }
        }
    }
}

/// Returns the exports of a folder.
fn positions(folder: &Path) -> Vec<(Taken, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((taken(folder, &name)?, name))).collect()
}

/// Subtracts the ranges in `seen`, which are sorted, from `from..=to`.
fn without(from: u64, to: u64, seen: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut left, mut next) = (Vec::new(), Some(from));
    for (begin, end) in seen {
        let Some(from) = next.filter(|next| *next <= to && *begin <= to) else { break };
        if *end < from {
            continue;
        }
        if *begin > from {
            left.push((from, begin - 1));
        }
        next = end.checked_add(1);
    }
    left.extend(next.filter(|next| *next <= to).map(|next| (next, to)));
    left
}

/// Beginning of every audit line.
const BEGIN: &[u8] = b"{\"time\":\"";

/// Returns `true` if the text may be the beginning of a line and is not a complete one.
fn is_piece(text: &[u8]) -> bool {
    let begins = text.starts_with(BEGIN) || !text.is_empty() && BEGIN.starts_with(text);
    begins && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err()
}

#[cfg(test)]
mod tests;
