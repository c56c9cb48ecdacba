//! Whether the chain of a copy is whole: of one file that an export wrote, or that somebody took from a log server.
//!
//! Lines may have come more than once, in another order, and with what a log server puts before them. Which line is
//! the newest is not known here: what was cut off at the end, or changed in the last line, is not found.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::chain::{Hash, Link};
use crate::read::{MAX_LINE_BYTES, Record};
use crate::verify::{Break, Broken, MAX_BREAKS, Place, Verified};

/// What each line begins with.
const BEGIN: &[u8] = b"{\"time\":\"";

/// Bytes of a time.
const TIME_BYTES: usize = 24;

/// What is kept of a line.
struct Seen {
    hash: Hash,
    previous: Hash,
    row: u64,
}

/// Reads all lines of a file.
pub fn verify_copy(path: &Path) -> io::Result<Verified> {
    let mut check = Check {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        ..Check::default()
    };
    let mut rows = BufReader::new(File::open(path)?);
    let (mut line, mut row) = (Vec::new(), 0);
    loop {
        line.clear();
        if rows.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(check.finish());
        }
        row += 1;
        if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            // Longer than any line.
            rows.skip_until(b'\n')?;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.trim_ascii().is_empty() {
            check.line(text, row);
        }
    }
}

#[derive(Default)]
struct Check {
    name: String,
    found: Verified,
    seen: BTreeMap<u64, Seen>,
    /// The numbers and times of the first and the last line.
    ends: Option<[(u64, String); 2]>,
}

impl Check {
    fn line(&mut self, text: &[u8], row: u64) {
        // A log server may have put its own words before it.
        let begin = text.windows(BEGIN.len()).position(|bytes| bytes == BEGIN).unwrap_or(0);
        let text = &text[begin..];
        let Some(link) = Link::read(text) else {
            // What was cut is no record any more.
            let is_record = std::str::from_utf8(text).ok().and_then(Record::parse).is_some();
            return if is_record { self.broken(row, Broken::Added) } else { self.found.torn += 1 };
        };
        let hash = Hash::of(text);
        match self.seen.entry(link.number) {
            Entry::Occupied(known) if known.get().hash == hash => self.found.again += 1,
            Entry::Occupied(_) => self.broken(row, Broken::Twice(link.number)),
            Entry::Vacant(place) => {
                place.insert(Seen { hash, previous: link.previous, row });
                self.end(link.number, text);
            }
        }
    }

    /// Keeps the time of a line that is the first or the last one so far.
    fn end(&mut self, number: u64, text: &[u8]) {
        let time = || {
            let time = text.strip_prefix(BEGIN).and_then(|rest| rest.get(..TIME_BYTES)).unwrap_or_default();
            (number, String::from_utf8_lossy(time).into_owned())
        };
        match &mut self.ends {
            None => self.ends = Some([time(), time()]),
            Some([first, _]) if number < first.0 => *first = time(),
            Some([_, last]) if number > last.0 => *last = time(),
            Some(_) => {}
        }
    }

    fn broken(&mut self, row: u64, what: Broken) {
        let place = Place { file: self.name.clone(), row };
        if self.found.breaks.len() < MAX_BREAKS {
            self.found.breaks.push(Break { place: Some(place), what });
        } else {
            self.found.more_breaks += 1;
        }
    }

    fn finish(mut self) -> Verified {
        let mut last: Option<(u64, Seen)> = None;
        for (number, seen) in std::mem::take(&mut self.seen) {
            match &last {
                None if number > 1 && seen.previous != Hash::NONE => {
                    let place = Place { file: self.name.clone(), row: seen.row };
                    self.found.begins = Some((number, place));
                }
                None if number > 1 => self.broken(seen.row, Broken::BegunAnew(number)),
                Some(_) if seen.previous == Hash::NONE => {
                    self.broken(seen.row, Broken::BegunAnew(number));
                }
                Some((before, _)) if before + 1 < number => {
                    self.broken(seen.row, Broken::Missing(before + 1, number - 1));
                }
                Some((before, was)) if was.hash != seen.previous => {
                    self.broken(was.row, Broken::Changed(*before));
                }
                _ => {}
            }
            self.found.lines += 1;
            last = Some((number, seen));
        }
        self.found.files = u64::from(last.is_some());
        self.found.times = self.ends.map(|[first, last]| (first.1, last.1));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Tip;

    /// So many lines of a chain.
    fn chain(count: usize) -> Vec<String> {
        let line =
            |number| format!("{{\"time\":\"2026-11-22T21:54:{number:02}.442Z\",\"pid\":1,\"tool\":\"x\"}}\n");
        let lines: String = (0..count).map(line).collect();
        let (mut tip, mut out) = (Tip::START, Vec::new());
        tip.link(lines.as_bytes(), &mut out, usize::MAX);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    fn verified(lines: &[String]) -> Verified {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("copy.jsonl");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        verify_copy(&path).unwrap()
    }

    #[test]
    fn a_copy_is_whole_in_any_order_with_words_before_its_lines_and_lines_that_came_again() {
        let lines = chain(9);
        let mut copy = lines.clone();
        copy.swap(3, 4);
        copy.extend_from_slice(&lines[2..6]);
        for line in &mut copy {
            line.insert_str(0, "Nov 22 21:54:00 m1 scorpiox-code[1]: ");
        }
        let found = verified(&copy);
        assert!(found.is_whole(), "{found:?}");
        assert_eq!((found.lines, found.again, found.files), (9, 4, 1));
        let (first, last) = found.times.unwrap();
        assert_eq!((&first[17..19], &last[17..19]), ("00", "08"));
        let later = verified(&lines[4..]);
        assert!(later.is_whole() && later.begins.unwrap().0 == 5);
        assert_eq!(verified(&[]).lines, 0);
    }

    #[test]
    fn what_was_done_to_a_copy_is_found() {
        let lines = chain(9);
        let broken = |change: &dyn Fn(&mut Vec<String>)| {
            let mut copy = lines.clone();
            change(&mut copy);
            verified(&copy).breaks.iter().map(|found| found.what.clone()).collect::<Vec<_>>()
        };
        assert_eq!(broken(&|copy| drop(copy.remove(4))), [Broken::Missing(5, 5)]);
        assert_eq!(broken(&|copy| copy[4] = copy[4].replace("\"x\"", "\"y\"")), [Broken::Changed(5)]);
        let other = |copy: &mut Vec<String>| copy.push(copy[4].replace("\"x\"", "\"y\""));
        assert_eq!(broken(&other), [Broken::Twice(5)]);
        let added = |copy: &mut Vec<String>| copy.push("{\"tool\":\"x\"}".to_owned());
        assert_eq!(broken(&added), [Broken::Added]);
        // One that was cut on the way is as good as none.
        assert_eq!(broken(&|copy| copy[4].truncate(60)), [Broken::Missing(5, 5)]);
        let anew = |copy: &mut Vec<String>| {
            let begin = copy[4].len() - 66;
            copy[4].replace_range(begin.., &format!("{}\"}}", "0".repeat(64)));
        };
        assert_eq!(broken(&anew), [Broken::BegunAnew(5), Broken::Changed(5)]);
    }
}
