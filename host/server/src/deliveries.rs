//! Messages of callbacks on their way to tool results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scorpiox_store::{Message, Mode, Store, StoreError};
use scorpiox_transcript::length;

/// Characters of a result that are kept free for messages of callbacks: one of the longest fits.
pub(crate) const MESSAGE_CHARS: usize = 2400;
/// What stands between the pieces of a text.
pub(crate) const BETWEEN: &str = "\n\n";

/// Messages on their way to tool results.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    timers_changed: AtomicBool,
    /// The store was seen: it is worth a look.
    store_exists: AtomicBool,
}

impl Deliveries {
    /// The messages to attach to a result, each of them once, and no more than the `room` for them
    /// holds. `waiting` says whether there are any, where that is known already.
    pub(crate) fn take(&self, store: &Arc<dyn Store>, waiting: Option<bool>, room: usize) -> Vec<Message> {
        match self.taken(store, waiting, room) {
            Ok(messages) => messages,
            // They come with the next result; this one does not wait for another server.
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
        let messages = transaction.take_messages(room, &|message: &Message| cost(&message.text))?;
        transaction.commit()?;
        Ok(messages)
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

/// What messages cost beside their own characters.
pub(crate) fn cost(message: &str) -> usize {
    length(message) + BETWEEN.len()
}
