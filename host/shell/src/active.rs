//! Commands that run now and can change something, of every server of this home.
//!
//! A server keeps a small file for each, and holds a lock on it for as long as the command runs. So the servers of a workspace
//! know of each other's commands, and a file that a killed server left counts for nothing. Only what a person is told depends
//! on these files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use scorpiox_home::{instance, private};
use serde::{Deserialize, Serialize};

use super::{Request, Shell};

/// The folder of the files, in the program's own.
const FOLDER: &str = "running";
/// Most bytes of a command that other servers see.
const MAX_COMMAND_BYTES: usize = 1024;
/// Most bytes of a file: the command, escaped, and names.
const MAX_FILE_BYTES: u64 = 32 * 1024;
/// A file that nobody has locked may be about to be locked while it is younger than this.
const MIN_AGE: Duration = Duration::from_mins(1);

/// Numbers the commands of this process, of all its workspaces.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The commands of one server that can change something.
#[derive(Debug, Default)]
pub(super) struct ActiveCommands {
    own: Mutex<BTreeMap<u64, Own>>,
    /// True if the person was told that files cannot be written.
    has_warned: AtomicBool,
}

/// A command of this server.
#[derive(Debug)]
struct Own {
    record: Record,
    is_task: bool,
}

/// What a server says of a command to others.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    workspace: PathBuf,
    component: Option<String>,
    principal: Option<String>,
    command: String,
    /// Milliseconds since 1970.
    begun: u64,
}

/// A command that runs: in the list until this is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    list: Arc<ActiveCommands>,
    number: u64,
    file: Option<(PathBuf, File)>,
}

/// A command that runs, can change something, and is no background task of this server.
#[derive(Debug)]
pub struct ActiveCommand {
    /// The component that started it; none where the client did.
    pub component: Option<String>,
    /// The process of the server that runs it, if that is another one.
    pub server: Option<u32>,
    /// The command, at most 1,024 bytes of it.
    pub command: String,
    /// How long it has run.
    pub duration: Duration,
}

/// The commands that run and can change something, as a principal sees them.
#[derive(Debug, Default)]
pub struct ActiveList {
    /// The principal's own.
    pub commands: Vec<ActiveCommand>,
    /// How many there are besides: of other principals, or of servers that do not let them be read.
    pub others: usize,
}

impl ActiveCommands {
    /// Adds a command that is about to run. A file that cannot be written is warned of once, and keeps no command from running.
    pub(super) fn add(self: &Arc<Self>, own_home: &Path, workspace: &Path, request: &Request) -> Entry {
        let principal = request.uses.client().and_then(|client| client.principal.clone());
        let command = request.command[..request.command.floor_char_boundary(MAX_COMMAND_BYTES)].to_owned();
        let record = Record {
            workspace: workspace.to_owned(),
            component: request.run_as.owner().map(|name| name.to_string()),
            principal: principal.map(|principal| principal.to_string()),
            command,
            begun: now(),
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = own_home.join(FOLDER).join(format!("{number}-{}", instance::name()));
        let file = write(&path, &record).map(|file| (path, file));
        let file = file.inspect_err(|error| {
            if !self.has_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!("other servers do not learn which commands run: {error}");
            }
        });
        self.own.lock().insert(number, Own { record, is_task: false });
        Entry { list: Arc::clone(self), number, file: file.ok() }
    }
}

impl Entry {
    /// Marks the command as a background task, which is listed among those.
    pub(super) fn becomes_task(&self) {
        if let Some(own) = self.list.own.lock().get_mut(&self.number) {
            own.is_task = true;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.list.own.lock().remove(&self.number);
        if let Some((path, file)) = self.file.take() {
            #[cfg(windows)] // what is open cannot be removed
            drop(file);
            let _ = fs::remove_file(path);
            #[cfg(not(windows))]
            drop(file);
        }
    }
}

impl Shell {
    /// Lists the commands that run in this workspace and can change something, but for the background tasks of this server and
    /// this principal. Reads the files of other servers.
    pub fn active_commands(&self, principal: Option<&str>) -> ActiveList {
        let mut list = ActiveList::default();
        let own = self.active.own.lock();
        for Own { record, is_task } in own.values() {
            if record.principal.as_deref() != principal || !is_task {
                list.push(record.clone(), None, principal);
            }
        }
        let is_own = |number, server: &str| server == instance::name() && own.contains_key(&number);
        let site = self.site();
        for (server, record) in locked(&site.own_home.join(FOLDER), is_own) {
            match record {
                Some(record) if !meets(&record.workspace, &site.workspace) => {}
                Some(record) => list.push(record, Some(server), principal),
                None => list.others += 1,
            }
        }
        list
    }
}

impl ActiveList {
    /// Reports whether no command runs.
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

/// Returns the commands of which a server holds the file, each with the server's process; without a record where the file cannot
/// be read while it is locked. Leaves out those that `is_own` names, and removes the files of servers that are gone.
fn locked(folder: &Path, is_own: impl Fn(u64, &str) -> bool) -> Vec<(u32, Option<Record>)> {
    let mut found: Vec<(u32, Option<Record>)> = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((number, server)) = name.to_str().and_then(|name| name.split_once('-')) else { continue };
        if number.parse().is_ok_and(|number| is_own(number, server)) {
            continue;
        }
        let process = server.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default();
        // It ended meanwhile, or is no file of a server.
        let Ok(mut file) = private::open(&entry.path()) else { continue };
        if file.try_lock_shared().is_ok() {
            let age =
                entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age >= MIN_AGE) {
                drop(file);
                let _ = fs::remove_file(entry.path());
            }
            continue;
        }
        let mut text = Vec::new();
        let read = (&mut file).take(MAX_FILE_BYTES).read_to_end(&mut text);
        found.push((process, read.ok().and_then(|_| serde_json::from_slice(&text).ok())));
    }
    found.sort_by_key(|(process, record)| (*process, record.as_ref().map(|record| record.begun)));
    found
}

/// Reports whether one of two folders lies in the other.
fn meets(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Writes the file of a command and locks it.
fn write(path: &Path, record: &Record) -> io::Result<File> {
    let create = || private::options().read(true).write(true).create_new(true).open(path);
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private::folder(path.parent().unwrap_or(path))?;
            create()?
        }
        other => other?,
    };
    let written = file.try_lock().map_err(io::Error::from);
    let written = written.and_then(|()| file.write_all(&serde_json::to_vec(record)?));
    if let Err(error) = written {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use scorpiox_audit::Uses;

    use super::*;
    use crate::As;

    fn asked(command: &str) -> Request {
        Request {
            command: command.to_owned(),
            run_as: As::Client { read_only: false },
            timeout: None,
            uses: Uses::default(),
        }
    }

    #[test]
    fn a_command_is_seen_by_others_until_it_ends() {
        let home = tempfile::tempdir().expect("a folder");
        let (folder, workspace) = (home.path().join(FOLDER), Path::new("/w"));
        let list = Arc::new(ActiveCommands::default());
        let entry = list.add(home.path(), workspace, &asked(&format!("echo {}", "é".repeat(1000))));
        let found = locked(&folder, |_, _| false);
        let [(process, Some(record))] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*process, record.workspace.as_path()), (std::process::id(), workspace));
        assert_eq!(record.command, format!("echo {}", "é".repeat(509)), "whole characters");
        assert!(locked(&folder, |number, _| number == entry.number).is_empty(), "they are its own");
        drop(entry);
        assert!(locked(&folder, |_, _| false).is_empty() && list.own.lock().is_empty());
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    }

    #[test]
    fn the_file_of_a_killed_server_counts_for_nothing_and_is_removed() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join(FOLDER);
        private::folder(&folder).expect("a folder");
        for (name, age) in [("1-a-7", Duration::ZERO), ("2-a-7", MIN_AGE)] {
            let file =
                private::options().write(true).create_new(true).open(folder.join(name)).expect("a file");
            file.set_modified(SystemTime::now() - age).expect("a time");
        }
        assert!(locked(&folder, |_, _| false).is_empty());
        let left: Vec<_> =
            fs::read_dir(&folder).expect("it").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["1-a-7"], "it may be about to be locked");
    }

    #[test]
    fn a_file_that_cannot_be_written_keeps_nothing_from_running() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join(FOLDER), "").expect("a file in its place");
        let list = Arc::new(ActiveCommands::default());
        let entry = list.add(home.path(), Path::new("/w"), &asked("make"));
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
        };
        let mut list = ActiveList::default();
        list.push(record("a"), None, Some("a"));
        list.push(record("b"), Some(7), Some("a"));
        assert_eq!((list.commands.len(), list.others), (1, 1));
    }
}
