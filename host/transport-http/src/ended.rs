//! Sessions ended by their clients: their sealed IDs are not valid any more.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use scorpiox_fs::home::private;

use crate::request::session_id::{LIFETIME, Number};
use scorpiox_exchange::seal::{Seal, Secret};

/// Maximum time to wait for the lock on the file, and the polling interval.
const LOCK_TIME: Duration = Duration::from_millis(500);
const LOOK_TIME: Duration = Duration::from_millis(2);
/// Number of leading bytes that all session numbers of an account share. They are keyed, so that nobody can
/// find a name that shares another's account. The remaining eight bytes distinguish the numbers of an
/// account.
const OF_ACCOUNT: usize = 8;
/// Maximum number of ended sessions of one principal within the lifetime of their IDs.
pub(crate) const MAX_OF_PRINCIPAL: usize = 50_000;

/// Kinds of sessions of a principal, which are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// Client sessions.
    Sessions,
    /// Log-ins to the pages for people.
    Pages,
}

/// Generates the numbers of sessions and log-ins.
pub(crate) struct Numbers(Seal);

impl Numbers {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(Seal::of(secret, "accounts of what ended"))
    }

    /// Returns a number that begins with a keyed hash of the principal's account, which is used to count
    /// ended sessions. Returns `None` if there is no randomness.
    pub(crate) fn give(&self, account: Account, principal: &str) -> Option<Number> {
        let account = match account {
            Account::Sessions => "sessions",
            Account::Pages => "pages",
        };
        let mark = self.0.mark(&[account, principal])?;
        let mut number = Number::default();
        let (of, own) = number.split_at_mut(OF_ACCOUNT);
        of.copy_from_slice(&mark[..OF_ACCOUNT]);
        getrandom::fill(own).ok()?;
        Some(number)
    }
}

/// Outcome of ending a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Ended,
    WasNotThere,
    /// The session continues, because its principal has ended too many.
    TooMany,
}

/// Numbers of ended sessions with the times. They are also stored in a file shared by several processes, one
/// per line.
pub(crate) struct Ended {
    numbers: BTreeMap<Number, u64>,
    path: PathBuf,
    file: File,
    /// Identity of the file, which changes when it is replaced.
    identity: (u64, u64),
    /// Length of the file at the last read.
    seen: u64,
    /// Offset of the last line at the last read, which may have been incomplete.
    from: u64,
    /// Maximum number of ended sessions of one principal.
    most: usize,
}

impl Ended {
    /// Opens the file. Rewrites it if some entries have expired.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::begin(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    fn begin(path: &Path) -> io::Result<Self> {
        match private::open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => private::write(path, |_| Ok(()))?,
            Err(error) => return Err(error),
        }
        let file = opened(path)?;
        let identity = identity(&file.metadata()?);
        let mut ended = Self {
            numbers: BTreeMap::new(),
            path: path.to_owned(),
            file,
            identity,
            seen: 0,
            from: 0,
            most: MAX_OF_PRINCIPAL,
        };
        // No process appends to a file that is about to be replaced.
        patiently(|| ended.lock_newest(File::try_lock))?;
        let oldest = now().saturating_sub(LIFETIME.as_secs());
        let all = ended.numbers.len();
        ended.numbers.retain(|_, when| *when >= oldest);
        if ended.numbers.len() < all {
            let numbers = &ended.numbers;
            let lines = |file: &mut File| {
                numbers.iter().try_for_each(|(number, when)| file.write_all(line(number, *when).as_bytes()))
            };
            match private::write(path, lines) {
                // Windows refuses while another server has the file open. The old file remains in use.
                Err(error) => tracing::debug!("{}: {error}", path.display()),
                Ok(()) => ended.read_news()?,
            }
        }
        ended.unlock();
        Ok(ended)
    }

    /// Returns `true` if a session has ended, here or in another process. Fails if the file cannot be read.
    pub(crate) fn contains(&mut self, number: &Number) -> io::Result<bool> {
        self.read_news()
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display())))?;
        Ok(self.numbers.contains_key(number))
    }

    /// Adds a session. The entry is durable when this returns. [`io::ErrorKind::WouldBlock`] means that
    /// another process holds the file.
    pub(crate) fn try_insert(&mut self, number: Number) -> io::Result<End> {
        self.lock_newest(File::try_lock_shared)?;
        let added = (|| {
            if self.numbers.contains_key(&number) {
                return Ok(End::WasNotThere);
            }
            if self.has_too_many(&number) {
                return Ok(End::TooMany);
            }
            let when = now();
            self.file.write_all(line(&number, when).as_bytes())?;
            self.numbers.insert(number, when);
            Ok(End::Ended)
        })();
        self.unlock();
        added
    }

    /// Locks the file that currently has the name, and reads what other processes added.
    fn lock_newest(&mut self, lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<()> {
        loop {
            lock(&self.file)?;
            let locked = self.identity;
            if let Err(error) = self.read_news() {
                self.unlock();
                return Err(error);
            }
            // Another process may have replaced the file before it was locked.
            if self.identity == locked {
                return Ok(());
            }
        }
    }

    /// Unlocks the file. Wine reports that it was not locked, after unlocking it.
    fn unlock(&self) {
        if let Err(error) = self.file.unlock() {
            tracing::debug!("{}: {error}", self.path.display());
        }
    }

    /// Returns `true` if the principal of a number has ended too many sessions.
    fn has_too_many(&mut self, number: &Number) -> bool {
        let (first, last) = of_same_account(number);
        let has = |ended: &Self| ended.numbers.range(first..=last).count() >= ended.most;
        if !has(self) {
            return false;
        }
        let oldest = now().saturating_sub(LIFETIME.as_secs());
        self.numbers.retain(|_, when| *when >= oldest);
        has(self)
    }

    /// Reads the lines added since the last read, or the whole file if another one has its name. Ignores
    /// incomplete lines.
    fn read_news(&mut self) -> io::Result<()> {
        // One `stat` gives length and identity. The system does not reuse the inode number of an open file.
        let about = self.path.metadata()?;
        if identity(&about) != self.identity {
            self.file = opened(&self.path)?;
            self.identity = identity(&self.file.metadata()?);
            (self.seen, self.from) = (0, 0);
        }
        let length = about.len();
        if length == self.seen {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(self.from))?;
        let mut news = Vec::new();
        (&self.file).take(length.saturating_sub(self.from)).read_to_end(&mut news)?;
        let last = news.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
        self.numbers.extend(String::from_utf8_lossy(&news).lines().filter_map(parsed));
        (self.seen, self.from) = (length, self.from + last as u64);
        Ok(())
    }
}

/// Returns the lowest and the highest number of the same account. Unkeyed numbers of older versions each have
/// their own account.
pub(crate) fn of_same_account(number: &Number) -> (Number, Number) {
    let (mut first, mut last) = (*number, *number);
    first[OF_ACCOUNT..].fill(0);
    last[OF_ACCOUNT..].fill(u8::MAX);
    (first, last)
}

/// Returns the identity of a file.
#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (about.dev(), about.ino())
}

/// Returns a constant, because an open file cannot be replaced on Windows.
#[cfg(windows)]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Retries while another process holds the file, for at most [`LOCK_TIME`].
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + LOCK_TIME;
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "it is called at the start, and where a thread may block"
                )]
                thread::sleep(LOOK_TIME);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds the file"));
            }
            done => return done,
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    private::options().read(true).append(true).open(path)
}

/// Formats a line. It begins with the line break, so that an incomplete line before it stays separate.
fn line(number: &Number, when: u64) -> String {
    format!("\n{:032x} {when:010}", u128::from_be_bytes(*number))
}

/// Parses a line. A time has ten digits until the year 2286; fewer digits mean that the line is incomplete.
fn parsed(line: &str) -> Option<(Number, u64)> {
    let (number, when) = line.split_once(' ').filter(|(_, when)| when.len() == 10)?;
    let number = (number.len() == 32).then(|| u128::from_str_radix(number, 16).ok())??;
    Some((number.to_be_bytes(), when.parse().ok()?))
}

/// Returns the seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    const COLLIDING: [&str; 2] = ["name-52336", "name-124578"];

    fn has(ended: &mut Ended, number: u8) -> bool {
        ended.contains(&[number; 16]).expect("it can be read")
    }

    #[test]
    fn what_ended_stays_ended_over_a_restart_until_its_id_is_too_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http/ended");
        let mut ended = Ended::open(&path).expect("a file");
        assert_eq!(ended.try_insert([1; 16]).expect("written"), End::Ended);
        assert_eq!(ended.try_insert([1; 16]).expect("written"), End::WasNotThere);
        drop(ended);
        let old = line(&[2; 16], now() - LIFETIME.as_secs() - 60);
        private::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| write!(file, "{old}\n0123"))
            .expect("written");
        let mut ended = Ended::open(&path).expect("a file");
        assert!(has(&mut ended, 1) && !has(&mut ended, 2) && !has(&mut ended, 3));
        ended.try_insert([3; 16]).expect("written");
        assert!(has(&mut Ended::open(&path).expect("a file"), 3));
    }

    /// A full disk leaves an incomplete line. The next attempt must write it completely.
    #[test]
    fn what_was_not_written_whole_has_not_ended() {
        let whole = line(&[3; 16], now());
        for cut in 0..whole.len() {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("http/ended");
            drop(Ended::open(&path).expect("a file"));
            private::options()
                .append(true)
                .open(&path)
                .and_then(|mut file| file.write_all(&whole.as_bytes()[..cut]))
                .expect("written");
            let mut ended = Ended::open(&path).expect("a file");
            assert!(!has(&mut ended, 3), "{cut} bytes");
            assert_eq!(ended.try_insert([3; 16]).expect("written"), End::Ended, "{cut} bytes");
            assert!(has(&mut Ended::open(&path).expect("a file"), 3), "{cut} bytes");
        }
    }

    /// The SHA-256 hashes of both names share the first four bytes. Such names take seconds to find, so an
    /// unkeyed short hash would not separate accounts.
    #[test]
    fn no_name_can_be_found_that_shares_the_account_of_another() {
        let numbers = Numbers::new(&[7; 32]);
        let account = |account, name: &str| {
            let number = numbers.give(account, name).expect("randomness");
            (of_same_account(&number), number)
        };
        let [one, other] = COLLIDING;
        assert_eq!(Sha256::digest(one)[..4], Sha256::digest(other)[..4]);
        let (own, first) = account(Account::Sessions, one);
        let (same, second) = account(Account::Sessions, one);
        assert!(own == same && first != second && (own.0..=own.1).contains(&second));
        // Even the first four bytes of the keyed hashes differ.
        let begins = |number: &Number| number[..4].to_vec();
        for (of, name) in
            [(Account::Sessions, other), (Account::Pages, one), (Account::Sessions, &format!("pages {one}"))]
        {
            assert_ne!(begins(&account(of, name).1), begins(&first), "{name}");
        }
        // The search for colliding names requires the secret.
        let another = Numbers::new(&[8; 32]).give(Account::Sessions, one).expect("randomness");
        assert_ne!(begins(&another), begins(&first));
    }

    #[test]
    fn one_principal_ends_so_many_sessions_and_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ended = Ended { most: 2, ..Ended::open(&folder.path().join("http/ended")).expect("a file") };
        let mut end = |of: u8, own: u8| {
            let mut number = [own; 16];
            number[..OF_ACCOUNT].fill(of);
            ended.try_insert(number).expect("written")
        };
        assert_eq!([end(1, 1), end(1, 2)], [End::Ended; 2]);
        assert_eq!((end(1, 3), end(1, 1), end(2, 1)), (End::TooMany, End::WasNotThere, End::Ended));
        ended.numbers.values_mut().for_each(|when| *when = 0);
        let mut another = [4; 16];
        another[..OF_ACCOUNT].fill(1);
        assert_eq!(ended.try_insert(another).expect("written"), End::Ended, "the others are too old");
    }

    #[test]
    fn who_holds_the_file_for_ever_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http/ended");
        let mut ended = Ended::open(&path).expect("a file");
        let holder = opened(&path).expect("a file");
        holder.lock().expect("a lock");
        let begun = Instant::now();
        assert_eq!(
            patiently(|| ended.try_insert([1; 16])).expect_err("it is held").kind(),
            io::ErrorKind::TimedOut
        );
        assert!(begun.elapsed() < Duration::from_secs(10) && !has(&mut ended, 1));
        drop(holder);
        assert_eq!(ended.try_insert([1; 16]).expect("written"), End::Ended);
    }

    #[test]
    fn two_processes_know_what_either_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http/ended");
        let (mut one, mut two) = (Ended::open(&path).expect("a file"), Ended::open(&path).expect("a file"));
        assert!(one.try_insert([1; 16]).expect("written") == End::Ended && has(&mut two, 1));
        assert_eq!(two.try_insert([1; 16]).expect("written"), End::WasNotThere);
        assert_eq!(two.try_insert([2; 16]).expect("written"), End::Ended);
        assert!(has(&mut one, 2) && !has(&mut one, 3));
        // An incomplete line is read once it is complete.
        let whole = line(&[3; 16], now());
        let write = |text: &str| {
            private::options()
                .append(true)
                .open(&path)
                .and_then(|mut file| write!(file, "{text}"))
                .expect("written");
        };
        write(&whole[..20]);
        assert!(!has(&mut one, 3));
        write(&whole[20..]);
        assert!(has(&mut one, 3));
        // A third process replaces the file, because it has an expired entry.
        write(&line(&[4; 16], now() - LIFETIME.as_secs() - 60));
        let mut three = Ended::open(&path).expect("a file");
        assert!(
            one.try_insert([5; 16]).expect("written") == End::Ended && has(&mut three, 5) && has(&mut two, 5)
        );
        assert!(has(&mut three, 1) && has(&mut three, 3) && (cfg!(windows) || !has(&mut three, 4)));
    }
}
