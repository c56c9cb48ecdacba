//! Names created by commands that have not been reported.
//!
//! A cancelled call has no result, the output of a task may never be read, and a component does not show what
//! its commands created. These names are reported with the next result of a command. If the server ends
//! before that, the next server in the workspace reports them with its first result.

use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_sandbox::Names;

use crate::untold::active::{Entry, Lasting, left_behind};

/// Maximum number of stored paths of each kind. Further ones are only counted.
const MAX_PATHS: usize = 64;

/// Interval between checks for commands of ended servers.
const LOOK_TIME: Duration = Duration::from_secs(10);

/// Unreported names and commands.
#[derive(Debug, Default)]
pub struct Brought {
    /// Unreported names.
    pub names: Names,
    /// Commands with unknown results, because their supervisor or server was killed. `None` stands for a
    /// command that may belong to another client.
    pub lost: Vec<Option<String>>,
}

/// Unreported names and commands of one server.
#[derive(Debug, Default)]
pub struct Untold(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: Vec<Kept>,
    /// Number of commands with unknown results beyond those in `kept`.
    uncounted: usize,
    looked: Option<Instant>,
}

#[derive(Debug)]
struct Kept {
    /// Task that created the names, whose output may still be read.
    task: Option<u32>,
    /// The command if its result is unknown, as in [`Brought::lost`]; otherwise empty.
    lost: Vec<Option<String>>,
    names: Names,
    /// Files for a later server.
    files: Vec<Lasting>,
}

impl Untold {
    /// Stores the names that a command created until they are reported.
    pub fn keep(&self, task: Option<u32>, names: &Names, entry: Option<Entry>) {
        let brought = Names {
            refused: Vec::new(),
            refused_others: 0,
            sockets: Vec::new(),
            sockets_others: 0,
            ..names.clone()
        };
        if brought == Names::default() {
            return;
        }
        let files = entry.and_then(|entry| entry.brought(&brought)).into_iter().collect();
        self.add(Kept { task, lost: Vec::new(), names: brought, files });
    }

    /// Records that the result of a command is unknown, if it could change something.
    pub fn lose(&self, task: Option<u32>, entry: Option<Entry>) {
        if let Some(entry) = entry {
            let (command, file) = entry.lost();
            let files = file.into_iter().collect();
            self.add(Kept { task, lost: vec![command], names: Names::default(), files });
        }
    }

    fn add(&self, kept: Kept) {
        let mut state = self.0.lock();
        state.kept.push(kept);
        if state.kept.len() > MAX_PATHS {
            let (mut lost, known): (Vec<_>, Vec<_>) =
                mem::take(&mut state.kept).into_iter().partition(|kept| !kept.lost.is_empty());
            let mut files = Vec::new();
            let names = merged(known.into_iter().map(|mut kept| {
                files.append(&mut kept.files);
                kept.names
            }));
            // Avoids many open files: the first one gets all the names.
            if files.first_mut().is_some_and(|first| first.hold(&names)) {
                files.drain(1..).for_each(Lasting::remove);
            } else {
                // The other commands keep their own files for a later server.
                files.truncate(1);
            }
            let over = lost.len().saturating_sub(MAX_PATHS / 2);
            state.uncounted += over;
            lost.drain(..over).flat_map(|kept| kept.files).for_each(Lasting::remove);
            state.kept = lost;
            state.kept.push(Kept { task: None, lost: Vec::new(), names, files });
        }
    }

    /// Drops the names of a task whose end has been read.
    pub fn told(&self, task: u32) {
        let mut state = self.0.lock();
        let told = state.kept.extract_if(.., |kept| kept.task == Some(task));
        told.flat_map(|kept| kept.files).for_each(Lasting::remove);
    }

    /// Takes everything for a report, including commands of ended servers.
    pub fn take(&self, own_home: &Path, workspace: &Path) -> Brought {
        let mut state = self.0.lock();
        let mut kept = mem::take(&mut state.kept);
        let mut lost = vec![None; mem::take(&mut state.uncounted)];
        if state.looked.is_none_or(|looked| looked.elapsed() >= LOOK_TIME) {
            state.looked = Some(Instant::now());
            kept.extend(left_behind(own_home, workspace).into_iter().map(|left| {
                let lost = left.names.is_none().then_some(left.command).into_iter().collect();
                Kept { task: None, lost, names: left.names.unwrap_or_default(), files: vec![left.file] }
            }));
        }
        drop(state);
        let names = merged(kept.into_iter().map(|kept| {
            lost.extend(kept.lost);
            kept.files.into_iter().for_each(Lasting::remove);
            kept.names
        }));
        Brought { names, lost }
    }
}

fn merged(all: impl Iterator<Item = Names>) -> Names {
    let mut sum = Names::default();
    for names in all {
        add(&mut sum.unpacked, &mut sum.unpacked_others, names.unpacked, names.unpacked_others);
        add(&mut sum.traps, &mut sum.traps_others, names.traps, names.traps_others);
        add(
            &mut sum.repositories,
            &mut sum.repositories_others,
            names.repositories,
            names.repositories_others,
        );
    }
    sum
}

/// Adds new paths to a list, and counts those beyond [`MAX_PATHS`].
fn add<T: PartialEq>(paths: &mut Vec<T>, others: &mut u32, more: Vec<T>, more_others: u32) {
    *others = others.saturating_add(more_others);
    for path in more {
        if paths.contains(&path) {
            continue;
        }
        if paths.len() < MAX_PATHS {
            paths.push(path);
        } else {
            *others = others.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use scorpiox_sandbox::{Grounds, Repository};

    use super::*;

    fn brought(paths: &[String]) -> Names {
        let repository = |path: &String| Repository {
            path: PathBuf::from(path).into(),
            identity: (1, 1),
            grounds: Grounds::Used,
        };
        Names { repositories: paths.iter().map(repository).collect(), ..Names::default() }
    }

    fn take(untold: &Untold) -> Names {
        untold.take(Path::new("/none"), Path::new("/w")).names
    }

    #[test]
    fn each_name_is_told_once_and_not_if_its_task_was_read() {
        let untold = Untold::default();
        untold.keep(None, &brought(&["/w/a".to_owned()]), None);
        untold.keep(Some(1), &brought(&["/w/b".to_owned()]), None);
        untold.keep(Some(2), &brought(&["/w/c".to_owned(), "/w/a".to_owned()]), None);
        let refused = Names { refused: vec![PathBuf::from("/w/d").into()], ..Names::default() };
        untold.keep(None, &refused, None);
        untold.told(1);
        assert_eq!(take(&untold), brought(&["/w/a".to_owned(), "/w/c".to_owned()]));
        assert_eq!(take(&untold), Names::default());
    }

    #[test]
    fn many_are_counted_and_the_first_are_named() {
        let untold = Untold::default();
        let paths: Vec<String> = (0..500).map(|at| format!("/w/{at}")).collect();
        for path in &paths {
            untold.keep(Some(1), &brought(std::slice::from_ref(path)), None);
        }
        let names = take(&untold);
        assert_eq!(names.repositories, brought(&paths[..MAX_PATHS]).repositories);
        assert_eq!(names.repositories_others, 500 - 64);
    }

    #[test]
    fn commands_of_which_nothing_is_known_are_all_counted() {
        let (home, workspace) = (tempfile::tempdir().expect("a folder"), Path::new("/w"));
        let list = std::sync::Arc::new(crate::untold::ActiveCommands::default());
        let untold = Untold::default();
        for _ in 0..200 {
            let command = crate::untold::Command { component: None, principal: None, text: "make" };
            untold.lose(None, Some(list.add(home.path(), workspace, command)));
        }
        let brought = untold.take(home.path(), workspace);
        assert_eq!(brought.lost.len(), 200);
        assert!((MAX_PATHS / 2..=MAX_PATHS).contains(&brought.lost.iter().flatten().count()));
        assert!(untold.take(home.path(), workspace).lost.is_empty());
    }
}
