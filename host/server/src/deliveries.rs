//! Delivers callback messages with tool results.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scorpiox_command_output::length;
use scorpiox_store::{Message, Mode, Repeats, Store, StoreError};

/// Characters of a result reserved for callback messages; the longest message fits.
pub(crate) const MESSAGE_CHARS: usize = 2400;
/// Characters for the repeat count of a message.
const COUNT_CHARS: usize = 40;
/// Separator between the parts of a text.
pub(crate) const BETWEEN: &str = "\n\n";

/// Delivery state of callback messages.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    timers_changed: AtomicBool,
    /// `true` once the store has been seen to exist, so that checking it is useful.
    store_exists: AtomicBool,
}

impl Deliveries {
    /// Takes the messages to attach to a result, without repeats, limited to `room` characters. `waiting`
    /// says whether there are any, if that is already known.
    pub(crate) fn take(&self, store: &Arc<dyn Store>, waiting: Option<bool>, room: usize) -> Vec<Message> {
        match self.taken(store, waiting, room) {
            Ok(messages) => messages,
            // The messages come with the next result; this one does not wait for another server.
            Err(StoreError::Conflict) => Vec::new(),
            Err(error) => {
                tracing::warn!("messages of callbacks cannot be read: {error}");
                Vec::new()
            }
        }
    }

    fn taken(
        &self,
        store: &Arc<dyn Store>,
        waiting: Option<bool>,
        room: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let waiting = match waiting {
            _ if room < MESSAGE_CHARS => false,
            Some(waiting) => waiting,
            None if !self.exists(store) => false,
            None => store.try_begin(Mode::ReadFirst)?.has_messages()?,
        };
        if !waiting {
            return Ok(Vec::new());
        }
        let mut transaction = store.try_begin(Mode::Write)?;
        let repeats = RefCell::new(Repeats::default());
        let cost = |message: &Message| match repeats.borrow_mut().add(message.clone()) {
            // The last repeat is delivered, which may be longer.
            Some(earlier) => cost(&message.text).saturating_sub(cost(&earlier.text)),
            None => cost(&message.text) + COUNT_CHARS,
        };
        let mut told = Repeats::default();
        for message in transaction.take_messages(room, &cost)? {
            told.add(message);
        }
        transaction.commit()?;
        Ok(told.into_messages())
    }

    fn exists(&self, store: &Arc<dyn Store>) -> bool {
        if !self.store_exists.load(Ordering::Relaxed) {
            self.store_exists.store(store.exists(), Ordering::Relaxed);
        }
        self.store_exists.load(Ordering::Relaxed)
    }

    pub(crate) fn set_timers_changed(&self) {
        self.timers_changed.store(true, Ordering::Release);
    }

    pub(crate) fn timers_changed(&self) -> bool {
        self.timers_changed.load(Ordering::Acquire) && self.timers_changed.swap(false, Ordering::AcqRel)
    }
}

/// Returns the length of a message with its separator.
pub(crate) fn cost(message: &str) -> usize {
    length(message) + BETWEEN.len()
}
