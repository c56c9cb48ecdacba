//! Whether the chain is whole: what was changed, taken away, moved or added, and whether the newest lines are there.
//!
//! What cannot be found: whoever may write all files of the folder can make the whole chain anew, or end it anywhere
//! with a head that fits. Against that lines are exported.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::chain::{Hash, Link, Tip};
use crate::export::taken;
use crate::files::{HEAD, Opened, open_all};
use crate::head::{Head, Held};
use crate::read::{MAX_LINE_BYTES, Record};

/// Places that are told of; the rest is counted.
pub(crate) const MAX_BREAKS: usize = 20;

/// Where a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of its file.
    pub file: String,
    /// Which line of the file it is, from 1.
    pub row: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.file, self.row)
    }
}

/// How the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// This line is not what the line after it, or the head, says.
    Changed(u64),
    /// These lines are not there, and others after them are.
    Missing(u64, u64),
    /// This line stands behind one with a higher number: it was moved, or copied.
    Moved(u64),
    /// Two lines have this number, and are not the same.
    Twice(u64),
    /// A line that has no place in the chain.
    Added,
    /// An empty line, which no server writes.
    Empty,
    /// The line feed behind this line is not there: it was written with one.
    Unended(u64),
    /// The chain begins anew with this line: the head had been taken away.
    BegunAnew(u64),
    /// These lines, the newest, are not there.
    Cut(u64, u64),
    /// These lines, the oldest, are not there, and nothing rotated them away.
    OldestMissing(u64, u64),
    /// The head is missing or damaged: whether newest lines are missing is not known.
    NoHead,
    /// The head says what a server would have written in other bytes.
    HeadChanged,
    /// An export had taken a line of this number, and the newest one has a lower number.
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
            Self::Exported(number, export) => write!(
                f,
                "{export} says that number {number} was exported, and it is not here: newest lines, or the log with \
                 its {HEAD}, were removed"
            ),
        }
    }
}

/// A place where the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The line where it shows; none for what is about the chain's ends.
    pub place: Option<Place>,
    /// How.
    pub what: Broken,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Lines of the chain.
    pub lines: u64,
    /// Files that have lines.
    pub files: u64,
    /// When the call of the first line began, and that of the last.
    pub times: Option<(String, String)>,
    /// The number of the first line and where it is, where older ones were rotated away.
    pub begins: Option<(u64, Place)>,
    /// Lines of before there was a chain.
    pub before: u64,
    /// Numbers of lines that are there although the head says that they were rotated away.
    pub unrotated: Option<(u64, u64)>,
    /// Pieces of lines whose writer was ended while it wrote. No line of the chain is among them.
    pub torn: u64,
    /// The first places where it is broken.
    pub breaks: Vec<Break>,
    /// Places that were not kept.
    pub more_breaks: u64,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// Reads all lines of the folder. Writes nothing, so that it may be a copy.
pub fn verify(folder: &Path) -> io::Result<Verified> {
    let Snapshot { head, files, beside } = snapshot(folder)?;
    let mut check = Check::default();
    for Opened { name, file, bytes, .. } in files {
        check.file(&name, file, bytes, head.as_ref())?;
    }
    Ok(check.finish(head.as_ref(), beside))
}

/// The files of a folder.
struct Snapshot {
    head: Option<Head>,
    files: Vec<Opened>,
    beside: Beside,
}

/// The files there beside the lines and the head.
struct Beside {
    /// True if the head has the very bytes that a server writes.
    is_head_as_written: bool,
    /// The number of the line that an export is behind, with the file that says so.
    exported: Option<(u64, String)>,
}

/// The head, and all files as they were at the same moment.
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
    /// The line before, with its place.
    last: Option<(Tip, Place)>,
    /// Numbers that were seen: from, to.
    seen: Vec<(u64, u64)>,
    /// Numbers that were not where they should be: from, to, and where that shows.
    gaps: Vec<(u64, u64, Place)>,
    /// The line that the head speaks of.
    at_head: Option<(Hash, Place)>,
    /// The text of the first line, and of the last.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl Check {
    fn file(&mut self, name: &str, file: File, bytes: u64, head: Option<&Head>) -> io::Result<()> {
        let mut rows = BufReader::new(file.take(bytes));
        let (mut line, mut row, mut has_lines) = (Vec::new(), 0, false);
        loop {
            line.clear();
            if rows.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            row += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
                // Longer than any line.
                rows.skip_until(b'\n')?;
            }
            let place = || Place { file: name.to_owned(), row };
            if text.trim_ascii().is_empty() {
                self.broken(Some(place()), Broken::Empty);
                continue;
            }
            has_lines = true;
            self.line(text, place, head);
            // The head is written when the line feeds of the lines before it are.
            let number = self.last.as_ref().filter(|(_, at)| at.row == row).map(|(tip, _)| tip.number);
            let is_told = |number: &u64| head.is_some_and(|head| head.tip.number >= *number);
            if let Some(number) = number.filter(|number| line.last() != Some(&b'\n') && is_told(number)) {
                self.broken(Some(place()), Broken::Unended(number));
            }
        }
        self.found.files += u64::from(has_lines);
        Ok(())
    }

    fn line(&mut self, text: &[u8], place: impl Fn() -> Place, head: Option<&Head>) {
        let Some(link) = Link::read(text) else { return self.unlinked(text, place) };
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

    /// A line without a link: of before the chain, torn, or added.
    fn unlinked(&mut self, text: &[u8], place: impl Fn() -> Place) {
        let is_record = std::str::from_utf8(text).ok().and_then(Record::parse).is_some();
        match (is_record, &self.last) {
            (true, None) => self.found.before += 1,
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
            // What is elsewhere was moved, which is told of there.
            for (from, to) in without(from, to, &self.seen) {
                self.broken(Some(place.clone()), Broken::Missing(from, to));
            }
        }
        self.check_ends(head);
        let newest = self.seen.iter().map(|run| run.1).max().unwrap_or(0);
        let newest = head.map_or(newest, |head| newest.max(head.tip.number));
        if !beside.is_head_as_written {
            self.broken(None, Broken::HeadChanged);
        }
        if let Some((number, export)) = beside.exported.filter(|(number, _)| *number > newest) {
            self.broken(None, Broken::Exported(number, export));
        }
        let time = |line: &[u8]| Record::parse(std::str::from_utf8(line).ok()?).map(|record| record.time);
        self.found.times = self.ends.and_then(|(first, last)| Some((time(&first)?, time(&last)?)));
        self.found
    }

    fn check_ends(&mut self, head: Option<&Head>) {
        let (first, last) = (self.seen.first().map(|run| run.0), self.seen.iter().map(|run| run.1).max());
        let Some(head) = head else {
            // Where there is no chain yet there is no head.
            if first.is_some() {
                self.broken(None, Broken::NoHead);
            }
            return;
        };
        // A server that is killed while it rotates leaves such lines, too.
        self.found.unrotated = first.filter(|first| *first < head.first).map(|first| (first, head.first - 1));
        if let Some(first) = first.filter(|first| *first > head.first) {
            self.broken(None, Broken::OldestMissing(head.first, first - 1));
        }
        let last = last.unwrap_or(head.first.saturating_sub(1));
        if last < head.tip.number {
            self.broken(None, Broken::Cut(last + 1, head.tip.number));
        }
        let newest = self.at_head.take().filter(|(hash, _)| *hash != head.tip.hash);
        if let Some((_, place)) = newest {
            let number = head.tip.number;
            // The line after it has said so already, where there is one.
            let is_told = self.found.breaks.iter().any(|told| told.what == Broken::Changed(number));
            if !is_told && head.tip.hash != Hash::NONE {
                self.broken(Some(place), Broken::Changed(number));
            }
        }
    }
}

/// The farthest line that an export had taken.
fn positions(folder: &Path) -> Option<(u64, String)> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let read = names.filter_map(|name| Some((taken(folder, &name)?, name)));
    read.max_by_key(|(number, _)| *number)
}

/// What is left of some numbers without those that were seen, which are sorted.
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

/// What each line begins with.
const BEGIN: &[u8] = b"{\"time\":\"";

/// Whether a text can be the beginning of a line, and is no whole one.
fn is_piece(text: &[u8]) -> bool {
    let begins = text.starts_with(BEGIN) || !text.is_empty() && BEGIN.starts_with(text);
    begins && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err()
}

#[cfg(test)]
mod tests;
