//! Contents of a workspace.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Entry, MAX_KEPT_MESSAGES, MAX_SCAN_BYTES, MAX_SCAN_ENTRIES, Message, Order, Timer};

/// Maximum due time.
const MAX_DUE: u64 = i64::MAX as u64;

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Values by namespace and key.
    pub(super) values: BTreeMap<(String, String), Vec<u8>>,
    /// Due times by namespace and ID.
    timers: BTreeMap<(String, u32), u64>,
    /// Messages and their namespaces by sequence number.
    messages: BTreeMap<u64, (String, Message)>,
    last_sequence: u64,
}

impl State {
    pub(super) fn value(&self, namespace: &str, key: &str) -> Option<&Vec<u8>> {
        self.values.get(&(namespace.to_owned(), key.to_owned()))
    }

    /// Returns the total size of keys and values of a namespace.
    pub(super) fn used(&self, namespace: &str) -> u64 {
        let own = self.values.iter().filter(|((of, _), _)| of == namespace);
        own.map(|((_, key), value)| (key.len() + value.len()) as u64).sum()
    }

    pub(super) fn scan(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Vec<Entry> {
        let is_behind = |key: &str, after: &str| match order {
            Order::Ascending => key > after,
            Order::Descending => key < after,
        };
        let mut found: Vec<Entry> = self
            .values
            .iter()
            .filter(|((of, key), _)| of == namespace && key.starts_with(prefix))
            .filter(|((_, key), _)| after.is_none_or(|after| is_behind(key, after)))
            .map(|((_, key), value)| Entry { key: key.clone(), value: value.clone() })
            .collect();
        if order == Order::Descending {
            found.reverse();
        }
        found.truncate(limit.min(MAX_SCAN_ENTRIES) as usize);
        let mut bytes = 0;
        let reaches = |entry: &Entry| {
            bytes += entry.key.len() + entry.value.len();
            bytes >= MAX_SCAN_BYTES
        };
        if let Some(last) = found.iter().position(reaches) {
            found.truncate(last + 1);
        }
        found
    }

    /// Deletes a namespace. Returns `true` if it had any data.
    pub(super) fn forget(&mut self, namespace: &str) -> bool {
        let before = self.values.len() + self.timers.len() + self.messages.len();
        self.values.retain(|(of, _), _| of != namespace);
        self.timers.retain(|(of, _), _| of != namespace);
        self.messages.retain(|_, (of, _)| of != namespace);
        before > self.values.len() + self.timers.len() + self.messages.len()
    }

    pub(super) fn arm(&mut self, namespace: &str, id: u32, due: u64) {
        self.timers.insert((namespace.to_owned(), id), due.min(MAX_DUE));
    }

    pub(super) fn is_armed(&self, timer: &Timer) -> bool {
        self.timers.get(&(timer.namespace.clone(), timer.id)) == Some(&timer.due.min(MAX_DUE))
    }

    /// Disarms a timer. Returns `true` if it was armed.
    pub(super) fn disarm(&mut self, namespace: &str, id: u32) -> bool {
        self.timers.remove(&(namespace.to_owned(), id)).is_some()
    }

    pub(super) fn next_timer(&self) -> Option<Timer> {
        let first = self.timers.iter().min_by_key(|(timer, due)| (**due, *timer));
        first.map(|((namespace, id), due)| Timer { namespace: namespace.clone(), id: *id, due: *due })
    }

    pub(super) fn timers(&self, namespace: &str) -> impl Iterator<Item = Timer> {
        let own = self.timers.iter().filter(move |((of, _), _)| of == namespace);
        own.map(|((of, id), due)| Timer { namespace: of.clone(), id: *id, due: *due })
    }

    pub(super) fn namespaces(&self) -> BTreeSet<&str> {
        let of_values = self.values.keys().map(|(of, _)| of);
        let of_timers = self.timers.keys().map(|(of, _)| of);
        let of_messages = self.messages.values().map(|(of, _)| of);
        of_values.chain(of_timers).chain(of_messages).map(String::as_str).collect()
    }

    pub(super) fn add_message(&mut self, namespace: &str, timer: u32, fired_at: u64, text: &str) -> u64 {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let message = Message { sequence, timer, fired_at, text: text.to_owned() };
        self.messages.insert(sequence, (namespace.to_owned(), message));
        self.messages.retain(|old, _| old + MAX_KEPT_MESSAGES > sequence);
        sequence
    }

    pub(super) fn messages(&self, namespace: &str) -> impl Iterator<Item = &Message> {
        self.messages.values().filter(move |(of, _)| of == namespace).map(|(_, message)| message)
    }

    /// Returns all pending messages, oldest first.
    pub(super) fn all_messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values().map(|(_, message)| message)
    }

    pub(super) fn remove_message(&mut self, sequence: u64) {
        self.messages.remove(&sequence);
    }
}
