//! Implements the operations of a transaction by delegating to one module per subject.

use crate::transaction::PostgresTransaction;
use crate::{damage, forget, keys, messages, scan, timers};
use scorpiox_store::{Entry, Message, Order, StoreError, Timer, Transaction};

impl Transaction for PostgresTransaction {
    fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        keys::get(self, namespace, key)
    }

    fn set(&mut self, namespace: &str, key: &str, value: &[u8], quota: u64) -> Result<(), StoreError> {
        keys::set(self, namespace, key, value, quota)
    }

    fn delete(&mut self, namespace: &str, key: &str) -> Result<(), StoreError> {
        keys::delete(self, namespace, key)
    }

    fn scan(
        &mut self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError> {
        scan::scan(self, namespace, prefix, after, limit, order)
    }

    fn forget(&mut self, namespace: &str) -> Result<bool, StoreError> {
        forget::forget(self, namespace)
    }

    fn arm(&mut self, namespace: &str, id: u32, due: u64) -> Result<(), StoreError> {
        timers::arm(self, namespace, id, due)
    }

    fn postpone(&mut self, timer: &Timer, due: u64) -> Result<(), StoreError> {
        timers::postpone(self, timer, due)
    }

    fn disarm(&mut self, namespace: &str, id: u32) -> Result<(), StoreError> {
        timers::disarm(self, namespace, id)
    }

    fn next_timer(&mut self) -> Result<Option<Timer>, StoreError> {
        timers::next(self)
    }

    fn timers(&mut self, namespace: &str) -> Result<Vec<Timer>, StoreError> {
        timers::of(self, namespace)
    }

    fn add_message(
        &mut self,
        namespace: &str,
        timer: u32,
        fired_at: u64,
        text: &str,
    ) -> Result<u64, StoreError> {
        messages::add(self, namespace, timer, fired_at, text)
    }

    fn messages(&mut self, namespace: &str, limit: u32) -> Result<Vec<Message>, StoreError> {
        messages::of(self, namespace, limit)
    }

    fn has_messages(&mut self) -> Result<bool, StoreError> {
        messages::has_any(self)
    }

    fn take_messages(
        &mut self,
        room: usize,
        cost: &dyn Fn(&Message) -> usize,
    ) -> Result<Vec<Message>, StoreError> {
        messages::take(self, room, cost)
    }

    fn namespaces(&mut self) -> Result<Vec<String>, StoreError> {
        forget::namespaces(self)
    }

    fn damaged(&mut self) -> Result<Vec<String>, StoreError> {
        damage::all(self)
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.finish()
    }
}
