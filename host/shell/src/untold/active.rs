//! Running commands that can change something, of all servers of this home directory.
//!
//! A server keeps a small file for each command. It holds a lock on the file while the command runs, and
//! until the names that the command created have been reported. The servers of a workspace thereby know each
//! other's commands, and a later server reports what an earlier one did not. The files only affect what the
//! user is told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use scorpiox_fs::home::{instance, private};
use scorpiox_sandbox::Names;
use serde::{Deserialize, Serialize};

/// Directory of the files, within the program's own.
const FOLDER: &str = "running";
/// Maximum number of bytes of a command that other servers see.
const MAX_COMMAND_BYTES: usize = 1024;
/// Maximum number of bytes read from a file: the escaped command, and the names that it created.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum number of idle files retained for later commands.
const MAX_IDLE: usize = 8;
/// Content of an idle file.
const IDLE: &[u8] = b"null\n";
/// Prefix of files that are not locked yet, and the age at which their server must have died before locking
/// them.
const UNMADE: &str = ".new-";
const UNMADE_TIME: Duration = Duration::from_mins(1);

/// Numbers the commands of this process in all its workspaces.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Running commands of one server that can change something.
#[derive(Debug, Default)]
pub struct ActiveCommands {
    own: Mutex<BTreeMap<u64, Own>>,
    /// Files of ended commands, for reuse: creating and removing a file takes longer than writing it.
    idle: Mutex<Vec<(u64, Lasting)>>,
    /// `true` after a warning that files cannot be written.
    has_warned: AtomicBool,
}

/// A command about to run.
#[derive(Debug, Clone, Copy)]
pub struct Command<'a> {
    /// Component that starts the command; `None` if the client does.
    pub component: Option<&'a str>,
    /// Principal that called, if any.
    pub principal: Option<&'a str>,
    /// Text of the command.
    pub text: &'a str,
}

/// A command of this server.
#[derive(Debug)]
struct Own {
    record: Record,
    is_task: bool,
}

/// Description of a command for other servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    workspace: PathBuf,
    component: Option<String>,
    principal: Option<String>,
    command: String,
    /// Start time in milliseconds since 1970.
    begun: u64,
    /// Unreported names that the command created, if it has ended.
    names: Option<Names>,
}

/// A running command, listed until dropped.
#[derive(Debug)]
pub struct Entry {
    list: Arc<ActiveCommands>,
    number: u64,
    file: Option<Lasting>,
}

/// File of a command. It remains if the server dies.
#[derive(Debug)]
pub(crate) struct Lasting {
    path: PathBuf,
    file: File,
    record: Record,
}

/// Unreported command of a server that has ended, with the names that it created, if known.
#[derive(Debug)]
pub(crate) struct LeftBehind {
    /// `None` if the command may belong to another client.
    pub command: Option<String>,
    pub names: Option<Names>,
    pub file: Lasting,
}

/// A running command that can change something and is not a background task of this server.
#[derive(Debug)]
pub struct ActiveCommand {
    /// Component that started the command; `None` if the client did.
    pub component: Option<String>,
    /// Process ID of the server, if it is another one.
    pub server: Option<u32>,
    /// Text of the command, at most 1,024 bytes.
    pub command: String,
    /// Time since the start.
    pub duration: Duration,
}

/// Running commands that can change something, as a principal sees them.
#[derive(Debug, Default)]
pub struct ActiveList {
    /// Commands of the principal.
    pub commands: Vec<ActiveCommand>,
    /// Number of commands of other principals, or of servers whose files cannot be read.
    pub others: usize,
}

impl ActiveCommands {
    /// Adds a command about to run. If its file cannot be written, logs one warning; the command still runs.
    pub fn add(self: &Arc<Self>, own_home: &Path, workspace: &Path, command: Command<'_>) -> Entry {
        let Command { component, principal, text } = command;
        let record = Record {
            workspace: workspace.to_owned(),
            component: component.map(str::to_owned),
            principal: principal.map(str::to_owned),
            command: shortened(text).to_owned(),
            begun: now(),
            names: None,
        };
        let (number, file) = self.file(own_home, &record);
        let file = file.inspect_err(|error| {
            if !self.has_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!("other servers do not learn which commands run: {error}");
            }
        });
        self.own.lock().insert(number, Own { record, is_task: false });
        Entry { list: Arc::clone(self), number, file: file.ok() }
    }
}

impl ActiveCommands {
    /// Writes a record to an idle file, or to a new one.
    fn file(&self, own_home: &Path, record: &Record) -> (u64, io::Result<Lasting>) {
        let idle = self.idle.lock().pop();
        if let Some((number, mut file)) = idle {
            file.record = record.clone();
            match file.write() {
                Ok(()) => return (number, Ok(file)),
                Err(_) => file.remove(),
            }
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = own_home.join(FOLDER).join(format!("{number}-{}", instance::name()));
        (number, Lasting::new(path, record.clone()))
    }

    /// Lists the running commands in a workspace that can change something, except background tasks of this
    /// server and this principal. Reads the files of other servers.
    pub fn list(&self, own_home: &Path, workspace: &Path, principal: Option<&str>) -> ActiveList {
        let mut list = ActiveList::default();
        let own = self.own.lock();
        for Own { record, is_task } in own.values() {
            if record.principal.as_deref() != principal || !is_task {
                list.push(record.clone(), None, principal);
            }
        }
        let is_own = |number, server: &str| server == instance::name() && own.contains_key(&number);
        for (server, record) in locked(&own_home.join(FOLDER), is_own) {
            match record {
                Some(record) if !meets(&record.workspace, workspace) => {}
                Some(record) => list.push(record, Some(server), principal),
                None => list.others += 1,
            }
        }
        list
    }
}

impl Entry {
    /// Marks the command as a background task, which is listed separately.
    pub fn becomes_task(&self) {
        if let Some(own) = self.list.own.lock().get_mut(&self.number) {
            own.is_task = true;
        }
    }
}

impl Entry {
    /// Ends the command and takes its file, which stores the names that it created for a later server.
    pub(crate) fn brought(mut self, names: &Names) -> Option<Lasting> {
        let mut file = self.file.take()?;
        file.hold(names);
        Some(file)
    }

    /// Ends a command with an unknown result. Takes its file, which says so, and the text that others may
    /// see.
    pub(crate) fn lost(mut self) -> (Option<String>, Option<Lasting>) {
        let record = self.list.own.lock().remove(&self.number).map(|own| own.record);
        (record.and_then(Record::shown), self.file.take())
    }
}

impl Record {
    /// Returns the record of an unknown command.
    fn unknown(workspace: &Path) -> Self {
        let (component, principal, command) = Default::default();
        Self { workspace: workspace.to_owned(), component, principal, command, begun: 0, names: None }
    }

    /// Returns the command if only the user of the workspace can have started it.
    fn shown(self) -> Option<String> {
        self.principal.is_none().then_some(self.command)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut own = self.list.own.lock();
        if let Some(mut file) = self.file.take() {
            let mut idle = self.list.idle.lock();
            if idle.len() < MAX_IDLE && file.rest().is_ok() {
                idle.push((self.number, file));
            } else {
                file.remove();
            }
        }
        own.remove(&self.number);
    }
}

impl Drop for ActiveCommands {
    fn drop(&mut self) {
        self.idle.get_mut().drain(..).for_each(|(_, file)| file.remove());
    }
}

impl Lasting {
    /// Writes the file of a command. It is renamed to its final name once locked: an unlocked file with such
    /// a name counts as left behind.
    fn new(path: PathBuf, record: Record) -> io::Result<Self> {
        let mut name = std::ffi::OsString::from(UNMADE);
        name.push(path.file_name().unwrap_or_default());
        let unmade = path.with_file_name(name);
        let create = || private::options().read(true).write(true).create_new(true).open(&unmade);
        let file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private::folder(path.parent().unwrap_or(&path))?;
                create()?
            }
            other => other?,
        };
        let mut made = Self { path: unmade, file, record };
        let locked = made.file.try_lock().map_err(io::Error::from);
        let named = locked.and_then(|()| made.write()).and_then(|()| fs::rename(&made.path, &path));
        match named {
            Ok(()) => Ok(Self { path, ..made }),
            Err(error) => {
                made.remove();
                Err(error)
            }
        }
    }

    /// Stores the names that the command created. Returns `true` if they are written. A truncated file means
    /// that nothing is known.
    pub(crate) fn hold(&mut self, names: &Names) -> bool {
        self.record.names = Some(names.clone());
        let written = self.write();
        if let Err(error) = &written {
            tracing::warn!("a later server does not learn what a command brought: {error}");
        }
        written.is_ok()
    }

    /// Overwrites the record. The end of a longer one may remain.
    fn write(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.record)?;
        text.push(b'\n');
        self.file.rewind()?;
        self.file.write_all(&text)
    }

    /// Marks the file as idle.
    fn rest(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(IDLE)
    }

    /// Removes the file because the names have been reported, or there are none.
    pub(crate) fn remove(self) {
        remove(self.path, self.file);
    }
}

fn remove(path: PathBuf, file: File) {
    #[cfg(windows)] // an open file cannot be removed
    drop(file);
    let _ = fs::remove_file(path);
    #[cfg(not(windows))]
    drop(file);
}

/// Takes the unreported commands of ended servers in a workspace.
pub(crate) fn left_behind(own_home: &Path, workspace: &Path) -> Vec<LeftBehind> {
    let mut found = Vec::new();
    for (path, mut file) in files(&own_home.join(FOLDER)) {
        // A file that its owner is removing has no name any more.
        if file.try_lock().is_err() || !path.exists() {
            continue;
        }
        match read(&mut file) {
            Read::Record(record) if meets(&record.workspace, workspace) => {
                let (command, names) = (record.clone().shown(), record.names.clone());
                found.push(LeftBehind { command, names, file: Lasting { path, file, record: *record } });
            }
            Read::Record(_) => {}
            Read::Idle => remove(path, file),
            // The file is truncated, so its workspace is unknown.
            Read::Unknown => {
                let record = Record::unknown(workspace);
                found.push(LeftBehind { command: None, names: None, file: Lasting { path, file, record } });
            }
        }
    }
    found
}

impl ActiveList {
    /// Returns `true` if no command runs.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.others == 0
    }

    fn push(&mut self, record: Record, server: Option<u32>, principal: Option<&str>) {
        let Record { component, command, begun, .. } = record;
        if record.principal.as_deref() == principal {
            let duration = Duration::from_millis(now().saturating_sub(begun));
            self.commands.push(ActiveCommand { component, server, command, duration });
        } else {
            self.others += 1;
        }
    }
}

/// Returns the commands whose files are locked by a server, each with the server's process ID. The record is
/// missing if a locked file cannot be read. Omits commands selected by `is_own`, and those that have ended.
fn locked(folder: &Path, is_own: impl Fn(u64, &str) -> bool) -> Vec<(u32, Option<Record>)> {
    let mut found: Vec<(u32, Option<Record>)> = Vec::new();
    for (path, mut file) in files(folder) {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
        let Some((number, server)) = name else { continue };
        if number.parse().is_ok_and(|number| is_own(number, server)) || file.try_lock_shared().is_ok() {
            continue;
        }
        let process = server.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default();
        match read(&mut file) {
            Read::Record(record) if record.names.is_none() => found.push((process, Some(*record))),
            Read::Record(_) | Read::Idle => {}
            Read::Unknown => found.push((process, None)),
        }
    }
    found.sort_by_key(|(process, record)| (*process, record.as_ref().map(|record| record.begun)));
    found
}

/// Opens the command files of all servers. Removes files whose servers died before renaming them.
fn files(folder: &Path) -> impl Iterator<Item = (PathBuf, File)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let is_unmade = entry.file_name().as_encoded_bytes().starts_with(UNMADE.as_bytes());
        if is_unmade {
            let age =
                entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age >= UNMADE_TIME) {
                let _ = fs::remove_file(entry.path());
            }
        }
        !is_unmade
    });
    // The command may have ended in the meantime.
    named.filter_map(|entry| Some((entry.path(), private::open_to_change(&entry.path()).ok()?)))
}

/// Content of a file.
enum Read {
    Record(Box<Record>),
    /// The file is idle.
    Idle,
    /// The file is truncated or unreadable.
    Unknown,
}

fn read(file: &mut File) -> Read {
    let mut text = Vec::new();
    if file.take(MAX_FILE_BYTES).read_to_end(&mut text).is_err() {
        return Read::Unknown;
    }
    // The rest of a longer record may follow.
    match serde_json::Deserializer::from_slice(&text).into_iter::<Option<Record>>().next() {
        Some(Ok(Some(record))) => Read::Record(Box::new(record)),
        // An empty file never belonged to a command.
        Some(Ok(None)) | None => Read::Idle,
        Some(Err(_)) => Read::Unknown,
    }
}

/// Returns `true` if one of two directories contains the other.
fn meets(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Returns the beginning of a command that others see.
fn shortened(command: &str) -> &str {
    &command[..command.floor_char_boundary(MAX_COMMAND_BYTES)]
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Command<'_> {
        Command { component: None, principal: None, text }
    }

    #[test]
    fn a_command_is_seen_by_others_until_it_ends() {
        let home = tempfile::tempdir().expect("a folder");
        let (folder, workspace) = (home.path().join(FOLDER), Path::new("/w"));
        let list = Arc::new(ActiveCommands::default());
        let entry = list.add(home.path(), workspace, asked(&format!("echo {}", "é".repeat(1000))));
        let found = locked(&folder, |_, _| false);
        let [(process, Some(record))] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*process, record.workspace.as_path()), (std::process::id(), workspace));
        assert_eq!(record.command, format!("echo {}", "é".repeat(509)), "whole characters");
        assert!(locked(&folder, |number, _| number == entry.number).is_empty(), "they are its own");
        drop(entry);
        assert!(locked(&folder, |_, _| false).is_empty() && list.own.lock().is_empty());
        // The next command reuses the file.
        let entry = list.add(home.path(), workspace, asked("make"));
        let found = locked(&folder, |_, _| false);
        assert_eq!(found[0].1.as_ref().map(|record| record.command.as_str()), Some("make"), "{found:?}");
        assert!(locked(&folder, |number, _| number == entry.number).is_empty());
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        drop(entry);
        drop(list);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    }

    #[test]
    fn a_later_server_is_told_of_what_nobody_was_told() {
        let (home, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let names = Names { unpacked_others: 3, ..Names::default() };
        let list = Arc::new(ActiveCommands::default());
        let add = |command| list.add(home.path(), Path::new("/w"), asked(command));
        let (killed, untold, told) = (add("killed"), add("untold"), add("told"));
        let untold = untold.brought(&names).expect("a file");
        drop(told);
        assert!(left_behind(home.path(), Path::new("/w")).is_empty(), "their server is there");
        assert_eq!(locked(&home.path().join(FOLDER), |_, _| false).len(), 1, "one still runs");
        // Simulates the end of the server.
        drop(untold);
        let Entry { list: _, number, file } = &mut *std::mem::ManuallyDrop::new(killed);
        drop(file.take());
        assert!(*number < 3);
        assert!(left_behind(home.path(), Path::new("/other")).is_empty());
        assert!(left_behind(other.path(), Path::new("/w")).is_empty());
        let mut left = left_behind(home.path(), Path::new("/w/sub"));
        left.sort_by(|one, other| one.command.cmp(&other.command));
        let found: Vec<_> = left.iter().map(|left| (left.command.as_deref(), left.names.as_ref())).collect();
        assert_eq!(found, [(Some("killed"), None), (Some("untold"), Some(&names))]);
        assert!(left_behind(home.path(), Path::new("/w")).is_empty(), "somebody has them");
        for left in left {
            left.file.remove();
        }
        let stay = fs::read_dir(home.path().join(FOLDER)).expect("a folder").count();
        assert_eq!(stay, 1, "that of the command whose names were told waits for the next one");
    }

    #[test]
    fn a_file_that_was_cut_says_that_nothing_is_known() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join(FOLDER);
        private::folder(&folder).expect("a folder");
        for (name, text) in [("1-a-7", "{\"workspace\":\"/w\""), ("2-a-7", "null\nrest\"}"), ("3-a-7", "")] {
            private::write(&folder.join(name), |file| file.write_all(text.as_bytes())).expect("written");
        }
        let left = left_behind(home.path(), Path::new("/w"));
        assert!(matches!(&left[..], [LeftBehind { command: None, names: None, .. }]), "{left:?}");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "the others are removed");
    }

    #[test]
    fn a_file_that_cannot_be_written_keeps_nothing_from_running() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join(FOLDER), "").expect("a file in its place");
        let list = Arc::new(ActiveCommands::default());
        let entry = list.add(home.path(), Path::new("/w"), asked("make"));
        assert!(entry.file.is_none() && list.own.lock().len() == 1);
    }

    #[test]
    fn commands_of_other_principals_are_counted() {
        let record = |principal: &str| Record {
            workspace: "/w".into(),
            component: None,
            principal: Some(principal.to_owned()),
            command: "make".to_owned(),
            begun: 0,
            names: None,
        };
        let mut list = ActiveList::default();
        list.push(record("a"), None, Some("a"));
        list.push(record("b"), Some(7), Some("a"));
        assert_eq!((list.commands.len(), list.others), (1, 1));
        assert_eq!(record("a").shown(), None, "another may be told of it");
    }
}
