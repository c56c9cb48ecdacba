//! Ends of tasks that no result has told of.

use super::{Listed, Owner, Task};
use crate::Shell;

impl Shell {
    /// Returns the tasks of an owner whose end no result has told of. The caller must report them: each is returned once.
    pub fn take_ends(&self, owner: Owner<'_>) -> Vec<Listed> {
        let table = self.tasks.lock();
        let own = table.tasks.values().filter(|task| task.owner() == owner);
        own.filter(|task| task.take_end()).map(|task| task.listed()).collect()
    }
}

impl Task {
    /// Returns `true` if the task has ended and no result has told of it, as this one does.
    pub(super) fn take_end(&self) -> bool {
        let mut state = self.state();
        state.ended.is_some() && !std::mem::replace(&mut state.end_is_told, true)
    }
}
