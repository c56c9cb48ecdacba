use std::fs;
use std::path::PathBuf;

use super::*;
use crate::files::{CURRENT, take_away};
use crate::{Bounds, Log};

/// Audit directory to be manipulated.
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

    /// Creates a directory with `lines` lines in one file.
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

    /// Changes the lines of the current file.
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

    fn head(&self) -> Head {
        Head::read(&File::open(self.path(HEAD)).unwrap()).unwrap().unwrap()
    }

    fn write_head(&self, head: Head) {
        crate::head::HeadFile::new(self.root.path()).lock().unwrap().write(&head).unwrap();
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
    // A second server.
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
    // The length stays the same, so only the hash reveals the change.
    let mut folder = Folder::of(9);
    folder.change(|lines| lines[8] = lines[8].replace("t8", "x8"));
    folder.write(3);
    assert_eq!(folder.breaks(), [Broken::Changed(9)]);
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
    // The number and hash fit the previous line, but not the next one.
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
    let text = fs::read_to_string(folder.path(CURRENT)).unwrap();
    // Killed before writing the head, and within a line.
    for cut in [0, 1, 50] {
        fs::write(folder.path(HEAD), &head).unwrap();
        fs::write(folder.path(CURRENT), &text[..text.len() - cut]).unwrap();
        let before = folder.verify();
        assert!(before.is_whole(), "{cut}: {before:?}");
        folder.write(2);
        let found = folder.verify();
        assert!(found.is_whole(), "{cut}: {found:?}");
        let lines = 8 - u64::from(cut > 1);
        assert_eq!((found.lines, found.torn), (lines, u64::from(cut > 1)), "{cut}");
        assert!(folder.head().tip.number == lines && fs::read(folder.path(HEAD)).unwrap().len() == 256);
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
    // The second server has checked the file, and is killed before it terminates the torn line.
    let bounds = Bounds { file_bytes: 1 << 20, files: 8 };
    Log::new(folder.root.path().to_owned(), bounds).look().unwrap();
    folder.log = Log::new(folder.root.path().to_owned(), bounds);
    folder.write(2);
    let found = folder.verify();
    assert!(found.is_whole() && (found.lines, found.torn) == (5, 1), "{found:?}");
}

const OLD: &str = "{\"time\":\"2026-01-01T00:00:00.000Z\",\"tool\":\"forged\"}\n";

#[test]
fn a_line_without_a_link_in_front_is_added_where_older_ones_were_rotated_away() {
    let mut folder = Folder::new(500, 3);
    folder.write(30);
    let oldest = folder.full().remove(0);
    let text = fs::read_to_string(&oldest).unwrap();
    for count in [1, 3, MAX_BREAKS + 5] {
        fs::write(&oldest, OLD.repeat(count) + &text).unwrap();
        let found = folder.verify();
        let is_in_front = |told: &Break| {
            told.what == Broken::Added && Some(oldest.file_name().unwrap()) == named(told).map(AsRef::as_ref)
        };
        assert!(!found.breaks.is_empty() && found.breaks.iter().all(is_in_front), "{found:?}");
        assert_eq!((found.breaks.len() as u64 + found.more_breaks, found.before), (count as u64, 0));
    }
    // As a file of its own.
    fs::write(&oldest, &text).unwrap();
    fs::write(folder.path(&crate::files::full_name(1)), OLD).unwrap();
    assert_eq!(folder.breaks(), [Broken::Added]);
}

/// Returns the name of the file in which a break shows.
fn named(told: &Break) -> Option<&str> {
    told.place.as_ref().map(|place| place.file.as_str())
}

#[test]
fn a_line_without_a_link_is_added_where_rotation_left_no_line_at_all() {
    let mut folder = Folder::new(300, 1);
    folder.write(9);
    let head = folder.head();
    // The server is killed before it writes into the new file.
    fs::write(folder.path(CURRENT), "").unwrap();
    folder.write_head(Head { first: head.tip.number + 1, bytes: 0, ..head });
    assert!(folder.verify().is_whole(), "{:?}", folder.verify());
    fs::write(folder.path(CURRENT), OLD).unwrap();
    assert_eq!(folder.breaks(), [Broken::Added]);
}

#[test]
fn older_lines_stay_allowed_while_number_1_is_there() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(CURRENT), OLD.repeat(3)).unwrap();
    let log = Log::new(root.path().to_owned(), Bounds { file_bytes: 500, files: 9 });
    let mut folder = Folder { root, log };
    folder.write(9);
    let found = folder.verify();
    assert!(found.is_whole() && found.before == 3 && found.files > 2, "{found:?}");
    // Rotation was about to remove the oldest file.
    folder.write_head(Head { first: 4, ..folder.head() });
    let found = folder.verify();
    assert!(found.is_whole() && found.before == 3 && found.unrotated == Some((1, 3)), "{found:?}");
}

#[test]
fn a_head_that_no_server_could_write_is_told_of() {
    let folder = Folder::of(5);
    let head = folder.head();
    let of = |tip: Tip| Head { tip, ..head };
    let none = Tip { hash: Hash::NONE, ..head.tip };
    for (changed, told) in [
        (of(none), Broken::BegunAnew(6)),
        (of(Tip { number: 3, ..none }), Broken::BegunAnew(4)),
        (of(Tip { number: 0, ..head.tip }), Broken::HeadChanged),
        (Head { first: 0, ..head }, Broken::HeadChanged),
        (Head { first: 7, ..head }, Broken::HeadChanged),
        (Head { bytes: head.bytes + 1, ..head }, Broken::Shifted(5, head.bytes + 1)),
        (Head { bytes: head.bytes - 1, ..head }, Broken::Shifted(5, head.bytes - 1)),
        (Head { bytes: 1, ..head }, Broken::Shifted(5, 1)),
        (Head { bytes: u64::MAX, ..head }, Broken::Shifted(5, u64::MAX)),
    ] {
        folder.write_head(changed);
        assert_eq!(folder.breaks(), [told], "{changed:?}");
    }
    folder.write_head(head);
    assert!(folder.verify().is_whole());
}

#[test]
fn the_size_in_the_head_is_right_in_a_copy_and_however_old_the_head_is() {
    let mut folder = Folder::new(500, 100);
    let mut heads = Vec::new();
    for _ in 0..12 {
        folder.write(1);
        heads.push(folder.head());
    }
    for head in heads {
        folder.write_head(Head { inode: 1, ..head });
        assert!(folder.verify().is_whole(), "{head:?}: {:?}", folder.verify());
        // A newer size than that of the line.
        folder.write_head(Head { bytes: head.bytes + 400, ..head });
        assert_eq!(folder.breaks(), [Broken::Shifted(head.tip.number, head.bytes + 400)]);
    }
}

#[test]
fn pieces_that_were_added_among_the_lines_change_the_size() {
    let folder = Folder::of(5);
    folder.change(|lines| lines.insert(2, "{\"time\":\"2026-11-22T".to_owned()));
    let found = folder.verify();
    let what = Broken::Shifted(5, folder.head().bytes);
    assert_eq!((found.torn, found.breaks), (1, vec![Break { place: None, what }]));
}
