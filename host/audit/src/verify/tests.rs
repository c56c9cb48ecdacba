use std::fs;
use std::path::PathBuf;

use super::*;
use crate::files::{CURRENT, take_away};
use crate::{Bounds, Log};

/// A folder with lines, which are changed then.
struct Folder {
    root: tempfile::TempDir,
    log: Log,
}

impl Folder {
    fn new(file_bytes: u64, files: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        let log = Log::new(root.path().to_owned(), Bounds { file_bytes, files });
        Self { root, log }
    }

    /// With so many lines in one file.
    fn of(lines: usize) -> Self {
        let mut folder = Self::new(1 << 20, 8);
        folder.write(lines);
        folder
    }

    fn write(&mut self, lines: usize) {
        for line in 0..lines {
            let time = format!("2026-11-22T02:08:{:02}.000Z", line % 60);
            let mut line = format!("{{\"time\":\"{time}\",\"tool\":\"t{line}\"}}\n").into_bytes();
            self.log.append(&mut line).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Changes the lines of a file.
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) {
        let path = self.path(CURRENT);
        let mut lines: Vec<_> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }

    fn verify(&self) -> Verified {
        verify(self.root.path()).unwrap()
    }

    fn breaks(&self) -> Vec<Broken> {
        self.verify().breaks.into_iter().map(|told| told.what).collect()
    }

    fn full(&self) -> Vec<PathBuf> {
        crate::files::full(self.root.path()).unwrap().into_iter().map(|(_, path)| path).collect()
    }
}

#[test]
fn a_chain_is_whole_over_all_its_files_and_whoever_writes() {
    assert_eq!(verify(Path::new("/nowhere")).unwrap(), Verified::default());
    let mut folder = Folder::new(500, 100);
    folder.write(10);
    // Another server.
    folder.log = Log::new(folder.root.path().to_owned(), Bounds { file_bytes: 500, files: 100 });
    folder.write(10);
    let found = folder.verify();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!((found.lines, found.before, found.torn), (20, 0, 0));
    assert!(found.files > 3 && found.begins.is_none());
    let times = ("2026-11-22T02:08:00.000Z".to_owned(), "2026-11-22T02:08:09.000Z".to_owned());
    assert_eq!(found.times, Some(times));
}

#[test]
fn a_line_that_was_changed_is_found_also_the_newest_and_the_oldest() {
    for at in [0, 2, 4] {
        let folder = Folder::of(5);
        folder.change(|lines| lines[at] = lines[at].replace("\"tool\":\"t", "\"tool\":\"x"));
        let found = folder.verify();
        let place = Some(Place { file: CURRENT.to_owned(), row: at as u64 + 1 });
        assert_eq!(found.breaks, [Break { place, what: Broken::Changed(at as u64 + 1) }]);
    }
}

#[test]
fn lines_that_were_taken_away_are_found_wherever_they_were() {
    let folder = Folder::of(9);
    folder.change(|lines| drop(lines.drain(3..5)));
    assert_eq!(folder.breaks(), [Broken::Missing(4, 5)]);
    let folder = Folder::of(9);
    folder.change(|lines| lines.truncate(7));
    assert_eq!(folder.breaks(), [Broken::Cut(8, 9)]);
    let folder = Folder::of(9);
    folder.change(|lines| drop(lines.drain(..2)));
    assert_eq!(folder.breaks(), [Broken::OldestMissing(1, 2)]);
    let folder = Folder::of(9);
    take_away(&folder.path(CURRENT));
    assert_eq!(folder.breaks(), [Broken::Cut(1, 9)]);
}

#[test]
fn writing_on_heals_nothing() {
    let mut folder = Folder::of(9);
    folder.change(|lines| lines.truncate(7));
    folder.write(3);
    assert_eq!(folder.breaks(), [Broken::Missing(8, 9)]);
    let mut folder = Folder::of(9);
    folder.change(|lines| lines[8] = lines[8].replace("t8", "x8"));
    folder.write(3);
    assert_eq!(folder.breaks(), [Broken::Changed(9)]);
    // Of the same length, so that only the hash shows it.
    let mut folder = Folder::of(9);
    take_away(&folder.path(CURRENT));
    folder.write(1);
    assert_eq!(folder.breaks(), [Broken::OldestMissing(1, 9)]);
}

#[test]
fn lines_that_were_moved_or_copied_are_found_where_they_are() {
    let folder = Folder::of(9);
    folder.change(|lines| lines.swap(3, 4));
    assert_eq!(folder.breaks(), [Broken::Moved(4)]);
    let folder = Folder::of(9);
    folder.change(|lines| {
        let line = lines.remove(7);
        lines.insert(1, line);
    });
    let found = folder.verify();
    let place = Some(Place { file: CURRENT.to_owned(), row: 3 });
    assert_eq!(found.breaks, [Break { place, what: Broken::Moved(2) }]);
    let folder = Folder::of(9);
    folder.change(|lines| {
        let line = lines[2].clone();
        lines.push(line);
    });
    assert_eq!(folder.breaks(), [Broken::Moved(3)]);
}

#[test]
fn lines_that_were_added_are_found() {
    let folder = Folder::of(5);
    folder.change(|lines| lines.insert(2, "{\"tool\":\"x\"}".to_owned()));
    assert_eq!(folder.breaks(), [Broken::Added]);
    // With a number and a hash that fit the line before, it does not fit the one after.
    let folder = Folder::of(5);
    folder.change(|lines| {
        let (mut tip, mut out) = (Tip::read(lines[1].as_bytes()).unwrap(), Vec::new());
        tip.link(b"{\"tool\":\"x\"}", &mut out, usize::MAX);
        lines.insert(2, String::from_utf8(out).unwrap().trim_end().to_owned());
    });
    assert_eq!(folder.breaks(), [Broken::Moved(3)]);
}

#[test]
fn what_rotation_removed_is_no_break_and_what_somebody_removed_is() {
    let mut folder = Folder::new(500, 3);
    folder.write(30);
    let found = folder.verify();
    assert!(found.is_whole() && found.files == 3, "{found:?}");
    let (number, place) = found.begins.unwrap();
    assert!(number > 10 && place.row == 1, "{number} {place}");
    let oldest = folder.full().remove(0);
    take_away(&oldest);
    let [Broken::OldestMissing(from, to)] = folder.breaks()[..] else { panic!("{:?}", folder.breaks()) };
    assert!(from == number && to > from);
    let mut folder = Folder::new(500, 9);
    folder.write(12);
    take_away(&folder.full()[1]);
    assert!(matches!(folder.breaks()[..], [Broken::Missing(..)]), "{:?}", folder.breaks());
}

#[test]
fn files_that_changed_places_are_found() {
    let mut folder = Folder::new(500, 9);
    folder.write(12);
    let full = folder.full();
    let other = folder.path("other");
    for (from, to) in [(&full[0], &other), (&full[1], &full[0]), (&other, &full[1])] {
        fs::rename(from, to).unwrap();
    }
    assert!(folder.breaks().contains(&Broken::Moved(1)), "{:?}", folder.breaks());
}

#[test]
fn lines_of_before_the_chain_are_read_and_told_of() {
    let root = tempfile::tempdir().unwrap();
    let old = "{\"time\":\"2026-01-01T00:00:00.000Z\",\"tool\":\"old\"}\n";
    fs::write(root.path().join(CURRENT), old.repeat(3)).unwrap();
    let log = Log::new(root.path().to_owned(), Bounds::default());
    let mut folder = Folder { root, log };
    assert_eq!((folder.verify().before, folder.verify().is_whole()), (3, true));
    folder.write(2);
    let found = folder.verify();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!((found.before, found.lines), (3, 2));
}

#[test]
fn a_writer_that_is_killed_breaks_nothing() {
    let mut folder = Folder::of(3);
    let head = fs::read(folder.path(HEAD)).unwrap();
    folder.write(3);
    // Before the head was written; and within a line.
    fs::write(folder.path(HEAD), head).unwrap();
    let text = fs::read_to_string(folder.path(CURRENT)).unwrap();
    for cut in [0, 1, 50] {
        fs::write(folder.path(CURRENT), &text[..text.len() - cut]).unwrap();
        let before = folder.verify();
        assert!(before.is_whole(), "{cut}: {before:?}");
        folder.write(2);
        let found = folder.verify();
        assert!(found.is_whole(), "{cut}: {found:?}");
        let lines = 8 - u64::from(cut > 1);
        assert_eq!((found.lines, found.torn), (lines, u64::from(cut > 1)), "{cut}");
        fs::write(folder.path(CURRENT), &text).unwrap();
        let begin = &fs::read(folder.path(HEAD)).unwrap();
        let head = Head::read(&File::open(folder.path(HEAD)).unwrap()).unwrap().unwrap();
        assert!(head.tip.number == lines && begin.len() == 256);
        // As it was when the writer was killed.
        let old = Tip::read(text.lines().nth(2).unwrap().as_bytes()).unwrap();
        let mut file = crate::head::HeadFile::new(folder.root.path());
        file.lock().unwrap().write(&Head { tip: old, ..head }).unwrap();
    }
}

#[test]
fn a_head_that_was_taken_away_is_told_of_before_and_after_the_next_line() {
    for damage in [None, Some("{}")] {
        let mut folder = Folder::of(5);
        match damage {
            None => take_away(&folder.path(HEAD)),
            Some(text) => fs::write(folder.path(HEAD), text).unwrap(),
        }
        folder.change(|lines| lines.truncate(3));
        assert_eq!(folder.breaks(), [Broken::NoHead]);
        folder.write(2);
        assert_eq!(folder.breaks(), [Broken::BegunAnew(4)]);
    }
    let mut folder = Folder::new(500, 9);
    folder.write(12);
    take_away(&folder.path(HEAD));
    take_away(&folder.path(CURRENT));
    folder.write(1);
    assert!(matches!(folder.breaks()[..], [Broken::BegunAnew(8..)]), "{:?}", folder.breaks());
}

#[test]
fn many_breaks_are_counted() {
    let folder = Folder::of(100);
    folder.change(|lines| lines.reverse());
    let found = folder.verify();
    assert_eq!((found.breaks.len(), found.more_breaks), (MAX_BREAKS, 99 - MAX_BREAKS as u64));
    assert!(found.breaks.iter().all(|told| told.place.is_some()));
}

#[test]
fn numbers_that_were_seen_are_not_missing() {
    let seen = [(1, 3), (5, 5), (8, 9), (u64::MAX, u64::MAX)];
    assert_eq!(without(2, 9, &seen), [(4, 4), (6, 7)]);
    assert_eq!(without(4, 4, &seen), [(4, 4)]);
    assert_eq!(without(8, 9, &seen), []);
    assert_eq!(without(10, u64::MAX, &seen), [(10, u64::MAX - 1)]);
    assert_eq!(without(4, 4, &[]), [(4, 4)]);
}

#[test]
fn a_line_that_no_server_wrote_is_not_taken_for_one_that_was_killed() {
    for added in ["garbage", "{\"time\":\"x\"}", "{}"] {
        let folder = Folder::of(4);
        folder.change(|lines| lines.insert(1, added.to_owned()));
        assert!(folder.breaks().iter().any(|broken| matches!(broken, Broken::Added)), "{added:?}");
    }
}

#[test]
fn two_servers_that_are_killed_while_they_write_break_nothing() {
    let mut folder = Folder::of(3);
    let text = fs::read_to_string(folder.path(CURRENT)).unwrap();
    fs::write(folder.path(CURRENT), text + "{\"time\":\"2026-11-22T").unwrap();
    // The second one has looked, and is killed before it has ended the line of the first.
    let bounds = Bounds { file_bytes: 1 << 20, files: 8 };
    Log::new(folder.root.path().to_owned(), bounds).look().unwrap();
    folder.log = Log::new(folder.root.path().to_owned(), bounds);
    folder.write(2);
    let found = folder.verify();
    assert!(found.is_whole() && (found.lines, found.torn) == (5, 1), "{found:?}");
}
