//! Transaction on a copy of the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Workspace;
use super::state::State;
use crate::transaction::check_sizes;
use crate::{Entry, Message, Order, StoreError, Timer, Transaction};

#[derive(Debug)]
pub(super) struct MemoryTransaction {
    workspace: Arc<Workspace>,
    /// Snapshot, taken at the first operation.
    snapshot: Option<Snapshot>,
    is_writer: bool,
    has_changed: bool,
    /// Quotas of the namespaces in which keys were set.
    quotas: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct Snapshot {
    version: u64,
    before: Arc<State>,
    /// Snapshot including the writes of this transaction.
    now: Arc<State>,
}

impl MemoryTransaction {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace, snapshot: None, is_writer: false, has_changed: false, quotas: BTreeMap::new() }
    }

    fn snapshot(&mut self) -> &mut Snapshot {
        self.snapshot.get_or_insert_with(|| {
            let committed = self.workspace.lock();
            let state = &committed.state;
            Snapshot { version: committed.version, before: Arc::clone(state), now: Arc::clone(state) }
        })
    }

    fn state(&mut self) -> &State {
        &self.snapshot().now
    }

    /// Becomes the writer, before the first write.
    pub(super) fn become_writer(&mut self) -> Result<(), StoreError> {
        if self.is_writer {
            return Ok(());
        }
        let workspace = Arc::clone(&self.workspace);
        let mut committed = workspace.lock();
        let is_stale = self.snapshot.as_ref().is_some_and(|snapshot| snapshot.version != committed.version);
        if committed.has_writer || is_stale {
            return Err(StoreError::Conflict);
        }
        committed.has_writer = true;
        drop(committed);
        self.is_writer = true;
        // No other transaction can commit, so this is the newest state.
        self.snapshot();
        Ok(())
    }

    /// Returns the state for modification by the writer.
    fn change(&mut self) -> &mut State {
        self.has_changed = true;
        Arc::make_mut(&mut self.snapshot().now)
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        if self.is_writer {
            self.workspace.lock().has_writer = false;
        }
    }
}

impl Transaction for MemoryTransaction {
    fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state().value(namespace, key).cloned())
    }

    fn set(&mut self, namespace: &str, key: &str, value: &[u8], quota: u64) -> Result<(), StoreError> {
        check_sizes(key, value)?;
        self.become_writer()?;
        let before = self.state().used(namespace);
        self.change().values.insert((namespace.to_owned(), key.to_owned()), value.to_owned());
        let smallest = self.quotas.entry(namespace.to_owned()).or_insert(quota);
        *smallest = quota.min(*smallest);
        let now = self.state().used(namespace);
        if now > before && now > quota { Err(StoreError::Quota(quota)) } else { Ok(()) }
    }

    fn delete(&mut self, namespace: &str, key: &str) -> Result<(), StoreError> {
        if self.state().value(namespace, key).is_some() {
            self.become_writer()?;
            self.change().values.remove(&(namespace.to_owned(), key.to_owned()));
        }
        Ok(())
    }

    fn scan(
        &mut self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError> {
        Ok(self.state().scan(namespace, prefix, after, limit, order))
    }

    fn forget(&mut self, namespace: &str) -> Result<bool, StoreError> {
        self.become_writer()?;
        let had_any = Arc::make_mut(&mut self.snapshot().now).forget(namespace);
        self.has_changed |= had_any;
        Ok(had_any)
    }

    fn arm(&mut self, namespace: &str, id: u32, due: u64) -> Result<(), StoreError> {
        self.become_writer()?;
        self.change().arm(namespace, id, due);
        Ok(())
    }

    fn postpone(&mut self, timer: &Timer, due: u64) -> Result<(), StoreError> {
        self.become_writer()?;
        if self.state().is_armed(timer) {
            self.change().arm(&timer.namespace, timer.id, due);
        }
        Ok(())
    }

    fn disarm(&mut self, namespace: &str, id: u32) -> Result<(), StoreError> {
        self.become_writer()?;
        let was_armed = Arc::make_mut(&mut self.snapshot().now).disarm(namespace, id);
        self.has_changed |= was_armed;
        Ok(())
    }

    fn next_timer(&mut self) -> Result<Option<Timer>, StoreError> {
        Ok(self.state().next_timer())
    }

    fn timers(&mut self, namespace: &str) -> Result<Vec<Timer>, StoreError> {
        Ok(self.state().timers(namespace).collect())
    }

    fn add_message(
        &mut self,
        namespace: &str,
        timer: u32,
        fired_at: u64,
        text: &str,
    ) -> Result<u64, StoreError> {
        self.become_writer()?;
        Ok(self.change().add_message(namespace, timer, fired_at, text))
    }

    fn messages(&mut self, namespace: &str, limit: u32) -> Result<Vec<Message>, StoreError> {
        Ok(self.state().messages(namespace).take(limit as usize).cloned().collect())
    }

    fn has_messages(&mut self) -> Result<bool, StoreError> {
        Ok(self.state().all_messages().next().is_some())
    }

    fn take_messages(
        &mut self,
        room: usize,
        cost: &dyn Fn(&Message) -> usize,
    ) -> Result<Vec<Message>, StoreError> {
        let mut left = room;
        let mut taken: Vec<Message> = Vec::new();
        for message in self.state().all_messages() {
            let cost = cost(message);
            if cost > left && !taken.is_empty() {
                break;
            }
            left = left.saturating_sub(cost);
            taken.push(message.clone());
        }
        if !taken.is_empty() {
            self.become_writer()?;
            let state = self.change();
            taken.iter().map(|message| message.sequence).for_each(|taken| state.remove_message(taken));
        }
        Ok(taken)
    }

    fn namespaces(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.state().namespaces().into_iter().map(str::to_owned).collect())
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        let quotas = std::mem::take(&mut self.quotas);
        let Some(Snapshot { before, now, .. }) = self.snapshot.take() else { return Ok(()) };
        for (namespace, quota) in quotas {
            let used = now.used(&namespace);
            if used > quota && used > before.used(&namespace) {
                return Err(StoreError::Quota(quota));
            }
        }
        if self.has_changed {
            let mut committed = self.workspace.lock();
            committed.state = now;
            committed.version += 1;
        }
        Ok(())
    }
}
