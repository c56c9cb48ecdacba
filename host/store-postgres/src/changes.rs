//! Detects commits by the version of the workspace.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use scorpiox_executor::Cancel;
use scorpiox_store::{Changes, StoreError, poll_every};

use crate::store::{Inner, Version};

/// Polling interval during a wait.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct PostgresChanges {
    workspace: Arc<Inner>,
    last: Option<Version>,
}

impl PostgresChanges {
    pub(crate) fn new(workspace: Arc<Inner>) -> Result<Self, StoreError> {
        let last = workspace.version()?;
        Ok(Self { workspace, last })
    }
}

impl Changes for PostgresChanges {
    fn changed(&mut self) -> Result<bool, StoreError> {
        let now = self.workspace.version()?;
        // Creating the row changes nothing, so a missing row equals a new one.
        let last = mem::replace(&mut self.last, now);
        Ok(last.unwrap_or_default() != self.last.clone().unwrap_or_default())
    }

    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, StoreError> {
        poll_every(INTERVAL, at_most, cancel, || self.changed())
    }
}
