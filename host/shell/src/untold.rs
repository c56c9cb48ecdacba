//! Names that commands brought without anybody having been told.
//!
//! A cancelled call has no result, the output of a task may never be read, and a component shows nothing of what its
//! commands brought. All that such a command brought is told with the next result of a command.

use std::mem;

use parking_lot::Mutex;
use scorpiox_cell::Names;

/// Most paths of each kind that are kept; of the others their number is.
const MAX_PATHS: usize = 64;

/// Those of one server.
#[derive(Debug, Default)]
pub(crate) struct Untold(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    /// The task that brought them, which may yet be read.
    task: Option<u32>,
    names: Names,
}

impl Untold {
    /// Keeps what a command brought, until somebody is told.
    pub(crate) fn keep(&self, task: Option<u32>, names: &Names) {
        let brought = Names { refused: Vec::new(), ..names.clone() };
        if brought == Names::default() {
            return;
        }
        let mut kept = self.0.lock();
        kept.push(Kept { task, names: brought });
        if kept.len() > MAX_PATHS {
            let names = merged(mem::take(&mut *kept));
            kept.push(Kept { task: None, names });
        }
    }

    /// Forgets what a task brought, since its end was read.
    pub(crate) fn told(&self, task: u32) {
        self.0.lock().retain(|kept| kept.task != Some(task));
    }

    /// Takes all of it, to tell it.
    pub(crate) fn take(&self) -> Names {
        merged(mem::take(&mut *self.0.lock()))
    }
}

fn merged(all: Vec<Kept>) -> Names {
    let mut sum = Names::default();
    for Kept { names, .. } in all {
        add(&mut sum.unpacked, &mut sum.unpacked_others, names.unpacked, names.unpacked_others);
        add(
            &mut sum.repositories,
            &mut sum.repositories_others,
            names.repositories,
            names.repositories_others,
        );
    }
    sum
}

/// Adds paths to others, each once, and counts those that find no room.
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

    use scorpiox_cell::Repository;

    use super::*;

    fn brought(paths: &[String]) -> Names {
        let repository = |path: &String| Repository { path: PathBuf::from(path).into(), identity: (1, 1) };
        Names { repositories: paths.iter().map(repository).collect(), ..Names::default() }
    }

    #[test]
    fn each_name_is_told_once_and_not_if_its_task_was_read() {
        let untold = Untold::default();
        untold.keep(None, &brought(&["/w/a".to_owned()]));
        untold.keep(Some(1), &brought(&["/w/b".to_owned()]));
        untold.keep(Some(2), &brought(&["/w/c".to_owned(), "/w/a".to_owned()]));
        let refused = Names { refused: vec![PathBuf::from("/w/d").into()], ..Names::default() };
        untold.keep(None, &refused);
        untold.told(1);
        assert_eq!(untold.take(), brought(&["/w/a".to_owned(), "/w/c".to_owned()]));
        assert_eq!(untold.take(), Names::default());
    }

    #[test]
    fn many_are_counted_and_the_first_are_named() {
        let untold = Untold::default();
        let paths: Vec<String> = (0..500).map(|at| format!("/w/{at}")).collect();
        for path in &paths {
            untold.keep(Some(1), &brought(std::slice::from_ref(path)));
        }
        let names = untold.take();
        assert_eq!(names.repositories, brought(&paths[..MAX_PATHS]).repositories);
        assert_eq!(names.repositories_others, 500 - 64);
    }
}
