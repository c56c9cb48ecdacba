use std::fs;

use proptest::prelude::*;

use super::*;
use scorpiox_audit::{Bounds, Log, verify};

/// Names of the audit's files, as documented.
const CURRENT: &str = "audit.jsonl";
const HEAD: &str = "audit.head";

/// Returns the names of the log files, the oldest first.
fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    names.sort_unstable();
    names
}

/// Removes a file or a directory.
#[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
fn take_away(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// An audit of a single user, and a copy of it in another location.
struct Audited {
    root: tempfile::TempDir,
    log: Log,
    bounds: Bounds,
    /// Number in the next line's tool name, so that all lines differ.
    begun: usize,
}

impl Audited {
    fn new(bounds: Bounds) -> Self {
        let root = tempfile::tempdir().unwrap();
        let log = Log::new(root.path().join("audit"), bounds);
        Self { root, log, bounds, begun: 0 }
    }

    fn of(lines: usize) -> Self {
        let mut audited = Self::new(Bounds::default());
        audited.write("ana", lines);
        audited
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("audit")
    }

    fn copy(&self) -> PathBuf {
        self.root.path().join("copy.jsonl")
    }

    fn write(&mut self, user: &str, lines: usize) {
        for line in self.begun..self.begun + lines {
            let time = format!("2026-11-22T02:08:{:02}.000Z", line % 60);
            let line = format!(
                "{{\"time\":\"{time}\",\"user\":\"{user}\",\"uid\":7,\"machine\":\"m1\",\"tool\":\"t{line}\"}}\n"
            );
            self.log.append(&mut line.into_bytes()).unwrap();
        }
    }

    /// Appends the content of the directory to the copy, like an export.
    fn export(&self) {
        let mut text = fs::read(self.copy()).unwrap_or_default();
        for name in names(&self.folder()) {
            text.extend(fs::read(self.folder().join(name)).unwrap());
        }
        fs::write(self.copy(), text).unwrap();
    }

    /// Removes the log and the head, so that a server starts a new chain.
    fn wipe(&mut self) {
        take_away(&self.folder());
        self.log = Log::new(self.folder(), self.bounds);
        self.begun += 100;
    }

    fn against(&self) -> Against {
        verify_against(&self.folder(), &[self.copy()], &[], &account()).unwrap()
    }

    fn is_whole(&self) -> bool {
        verify(&self.folder()).unwrap().is_whole() && self.against().is_whole()
    }
}

fn account() -> Record {
    Record { user: "ana".to_owned(), uid: Some(7), machine: "m1".to_owned(), ..Record::default() }
}

#[test]
fn an_audit_that_has_what_its_copy_has_is_whole() {
    let mut audited = Audited::of(9);
    audited.export();
    audited.write("ana", 3);
    let found = audited.against();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!((found.same, found.only_here, found.rotated), (9, 3, 0));
    // Lines of other users in the same copy must not be reported as missing.
    let mut other = Audited::new(Bounds::default());
    other.write("bob", 4);
    let theirs = fs::read(other.folder().join(CURRENT)).unwrap();
    fs::write(audited.copy(), [fs::read(audited.copy()).unwrap(), theirs].concat()).unwrap();
    assert!(audited.against().is_whole());
}

#[test]
fn a_log_that_was_removed_with_its_head_is_found_by_its_copy() {
    let mut audited = Audited::of(9);
    audited.export();
    audited.wipe();
    // Before a server continues, after it continued, and after the new lines reached the copy.
    for step in 0..3 {
        if step == 1 {
            audited.write("ana", 4);
        } else if step == 2 {
            audited.export();
        }
        assert!(verify(&audited.folder()).unwrap().is_whole(), "the chain alone cannot know");
        let found = audited.against();
        let [Difference::OtherChain { numbers: (1, 9), owner, last, .. }] = &found.differences[..] else {
            panic!("{step}: {found:?}")
        };
        assert_eq!(owner, "ana (7) on m1");
        let accepted = verify_against(&audited.folder(), &[audited.copy()], &[*last], &account()).unwrap();
        assert_eq!(accepted.is_whole(), step != 1, "{step}: {accepted:?}");
    }
}

#[test]
fn a_chain_that_was_made_anew_from_some_line_on_is_found_by_its_copy() {
    let audited = Audited::of(9);
    audited.export();
    let path = audited.folder().join(CURRENT);
    let text = fs::read_to_string(&path).unwrap();
    let kept: String = text.lines().take(5).map(|line| line.to_owned() + "\n").collect();
    // Write the same lines again, so that the head matches them.
    take_away(&audited.folder().join(HEAD));
    take_away(&path);
    let mut audited = Audited { log: Log::new(audited.folder(), audited.bounds), ..audited };
    audited.write("ana", 5);
    assert_eq!(fs::read_to_string(&path).unwrap(), kept);
    assert!(verify(&audited.folder()).unwrap().is_whole());
    assert_eq!(audited.against().differences, [Difference::Missing(6, 9)]);
    audited.begun += 100;
    audited.write("ana", 2);
    let found = audited.against();
    assert_eq!(found.differences, [Difference::Changed(6, 7), Difference::Missing(8, 9)]);
    assert_eq!(found.only_here, 2);
}

#[test]
fn what_was_rotated_away_is_not_missing_also_where_only_the_next_line_is_left() {
    let mut audited = Audited::new(Bounds { file_bytes: 600, files: 2 });
    audited.write("ana", 4);
    audited.export();
    audited.write("ana", 12);
    let found = audited.against();
    let first = Own::read(&audited.folder(), &account()).unwrap().first.unwrap().0;
    assert!(first > 5, "{first}");
    // The lines between the copy and the audit are lost.
    assert!(matches!(found.differences[..], [Difference::OtherChain { numbers: (1, 4), .. }]), "{found:?}");
    let mut audited = Audited::new(Bounds { file_bytes: 600, files: 2 });
    audited.write("ana", 1);
    while verify(&audited.folder()).unwrap().begins.is_none() {
        audited.export();
        audited.write("ana", 1);
    }
    let found = audited.against();
    assert!(found.is_whole() && found.rotated > 0, "{found:?}");
}

/// A change to the files of an audit.
#[derive(Debug, Clone)]
enum Change {
    Flip(usize, usize, u8),
    Remove(usize, usize, usize),
    Insert(usize, usize, Vec<u8>),
    RemoveLine(usize, usize),
    RepeatLine(usize, usize),
    RemoveFile(usize),
    RemoveAll,
}

fn changes() -> impl Strategy<Value = Change> {
    let at = || (0..4_usize, 0..100_000_usize);
    let text = proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), Just(b'{'), any::<u8>()], 1..4);
    prop_oneof![
        (at(), 1..=255_u8).prop_map(|((file, at), bits)| Change::Flip(file, at, bits)),
        (at(), 1..600_usize).prop_map(|((file, at), bytes)| Change::Remove(file, at, bytes)),
        (at(), text).prop_map(|((file, at), text)| Change::Insert(file, at, text)),
        at().prop_map(|(file, at)| Change::RemoveLine(file, at)),
        at().prop_map(|(file, at)| Change::RepeatLine(file, at)),
        (0..4_usize).prop_map(Change::RemoveFile),
        Just(Change::RemoveAll),
    ]
}

/// Applies a change. Returns `false` if it has no effect.
fn change(folder: &Path, change: &Change) -> bool {
    let (Change::Flip(file, ..)
    | Change::Remove(file, ..)
    | Change::Insert(file, ..)
    | Change::RemoveLine(file, ..)
    | Change::RepeatLine(file, ..)
    | Change::RemoveFile(file)) = change
    else {
        take_away(folder);
        return true;
    };
    let mut names = names(folder);
    names.push(HEAD.to_owned());
    let name = &names[file % names.len()];
    let path = folder.join(name);
    let before = fs::read(&path).unwrap();
    let mut bytes = before.clone();
    // The end of the head stores the writer's position. It is not verified, since it differs in copies of the
    // directory.
    let end = if name == HEAD { find(&bytes, b",\"inode\":") } else { bytes.len() };
    let line = |bytes: &[u8], at: usize| {
        let begin = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |begin| begin + 1);
        let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
        begin..end
    };
    match change {
        Change::Flip(_, at, bits) => bytes[at % end] ^= bits,
        Change::Remove(_, at, count) => drop(bytes.drain(at % end..(at % end + count).min(end))),
        Change::Insert(_, at, text) => drop(bytes.splice(at % end..at % end, text.iter().copied())),
        Change::RemoveLine(_, at) => drop(bytes.drain(line(&before, at % end))),
        Change::RepeatLine(_, at) => {
            let line = line(&before, at % end);
            drop(bytes.splice(line.end..line.end, before[line.clone()].iter().copied()));
        }
        Change::RemoveFile(_) | Change::RemoveAll => {
            take_away(&path);
            return true;
        }
    }
    fs::write(&path, &bytes).unwrap();
    bytes != before
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|piece| piece == what).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The chain reveals every change, with two exceptions: the removal of the complete audit, which a copy
    /// reveals, and changes that look like the work of a killed server, which are reported as such.
    #[test]
    fn each_change_of_an_audit_is_found(made in changes()) {
        let mut audited = Audited::new(Bounds { file_bytes: 900, files: 9 });
        audited.write("ana", 16);
        audited.export();
        prop_assert!(audited.is_whole());
        if change(&audited.folder(), &made) {
            let found = verify(&audited.folder()).unwrap();
            let is_told = found.torn > 0 || found.unrotated.is_some() || found.before > 0;
            let is_gone = matches!(made, Change::RemoveAll);
            prop_assert!(!found.is_whole() || is_told || is_gone, "{:?}: {:?}", made, found);
            prop_assert!(!audited.is_whole() || is_told, "{:?}", made);
        }
    }
}
