//! Operations of a transaction.

use std::fmt::Debug;

use super::StoreError;

/// Maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Maximum size of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Maximum number of entries returned by a scan.
pub const MAX_SCAN_ENTRIES: u32 = 1000;
/// Total size of keys and values at which a scan ends. The entry that reaches it is included.
pub const MAX_SCAN_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of messages retained in a workspace. Timers that fire for days without a client must not
/// fill the disk.
pub const MAX_KEPT_MESSAGES: u64 = 100;

/// Order of a scan, by the bytes of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// Key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Complete key.
    pub key: String,
    /// Value.
    pub value: Vec<u8>,
}

/// Armed timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// Namespace of the timer.
    pub namespace: String,
    /// ID within the namespace.
    pub id: u32,
    /// Due time, in milliseconds since the Unix epoch.
    pub due: u64,
}

/// Message that is not yet attached to a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Sequence number, increasing with each message of the workspace.
    pub sequence: u64,
    /// ID of the timer that fired.
    pub timer: u32,
    /// Time of firing, in milliseconds since the Unix epoch.
    pub fired_at: u64,
    /// Text for the client.
    pub text: String,
}

/// Open transaction. See [`Store`](crate::Store) for isolation and conflicts.
///
/// A *namespace* identifies the owner of data and can be any text. Keys, timers, and quotas of a namespace
/// are inaccessible through other namespaces. A transaction may use several.
///
/// # Damage
///
/// A row that is not a valid key, timer, or message (for example invalid UTF-8, or a number out of range) is
/// logged, retained, and skipped by all methods that return several rows or the next one. Other rows are
/// unaffected.
///
/// # Errors
///
/// [`StoreError::TooLarge`] and [`StoreError::Quota`] leave the transaction usable. After any other error it
/// may have ended: further operations fail, and nothing is stored.
///
/// # Writes
///
/// These methods make the transaction the writer, and so can conflict: `set`, `increment`, `arm`, `disarm`,
/// `postpone`, `add_message`, and `forget` always; `delete` and `take_messages` if there is something to
/// remove.
pub trait Transaction: Debug + Send {
    /// Returns the value at `key`.
    fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores `value` at `key`, replacing an earlier value.
    ///
    /// # Quota
    ///
    /// A namespace uses the bytes of all its keys and values in the workspace; timers, messages, and overhead
    /// are not counted. Deleting and shrinking free bytes immediately, within the same transaction. `quota`
    /// is the maximum usage of the namespace; it must be the same for all keys set in a transaction.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::TooLarge`] if the key is empty or longer than [`MAX_KEY_BYTES`], or the value
    /// is larger than [`MAX_VALUE_BYTES`]. Nothing is written then.
    ///
    /// Fails with [`StoreError::Quota`] if the write makes the namespace grow beyond `quota`. The value is
    /// still written in the transaction, but [`commit`](Self::commit) fails unless the namespace is within
    /// its quota by then, or uses no more than before the transaction. (Lowering a quota therefore does not
    /// prevent a namespace from changing or shrinking its data.)
    fn set(&mut self, namespace: &str, key: &str, value: &[u8], quota: u64) -> Result<(), StoreError>;

    /// Deletes `key` if it exists.
    fn delete(&mut self, namespace: &str, key: &str) -> Result<(), StoreError>;

    /// Returns entries whose keys start with `prefix` (the empty prefix matches all keys), in the given
    /// `order` of key bytes, strictly after `after` in that order; `after` need not exist. Returns at most
    /// `limit` entries, at most [`MAX_SCAN_ENTRIES`], and none after the total size reaches
    /// [`MAX_SCAN_BYTES`].
    ///
    /// Fewer than `limit` entries do not indicate the end; only an empty result does.
    fn scan(
        &mut self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Adds `delta` to the counter at `key`, which is 0 if absent, and returns the sum. A counter is an
    /// ordinary key with a decimal number as its value.
    ///
    /// # Errors
    ///
    /// Fails like [`set`](Self::set), and with [`StoreError::Other`] if the value is not a counter or the sum
    /// overflows. Nothing is written in the latter cases.
    fn increment(&mut self, namespace: &str, key: &str, delta: i64, quota: u64) -> Result<i64, StoreError> {
        let now = match self.get(namespace, key)? {
            None => 0,
            Some(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or_else(|| StoreError::Other(format!("the value at {key:?} is not a counter")))?,
        };
        let sum = now
            .checked_add(delta)
            .ok_or_else(|| StoreError::Other(format!("the counter at {key:?} would overflow")))?;
        self.set(namespace, key, sum.to_string().as_bytes(), quota)?;
        Ok(sum)
    }

    /// Deletes all data of a namespace: keys with their quota usage, timers, and messages. Returns `true` if
    /// there was any data.
    fn forget(&mut self, namespace: &str) -> Result<bool, StoreError>;

    /// Arms timer `id` of a namespace for `due` (milliseconds since the Unix epoch, at most 2⁶³−1; later
    /// times are clamped), replacing an earlier due time.
    fn arm(&mut self, namespace: &str, id: u32, due: u64) -> Result<(), StoreError>;

    /// Arms `timer` for `due` instead. Does nothing if the timer is not armed for exactly the time in
    /// `timer`, because another transaction fired or changed it.
    fn postpone(&mut self, timer: &Timer, due: u64) -> Result<(), StoreError>;

    /// Disarms a timer. A timer that is not armed is not an error.
    fn disarm(&mut self, namespace: &str, id: u32) -> Result<(), StoreError>;

    /// Returns the timer of the workspace with the earliest due time, in the past or in the future. Ties are
    /// broken by the bytes of the namespace, then by ID.
    ///
    /// A [`Mode::Write`](crate::Mode::Write) transaction that finds a due timer, disarms it, and commits has
    /// fired it exclusively.
    fn next_timer(&mut self) -> Result<Option<Timer>, StoreError>;

    /// Returns the timers of a namespace, ordered by ID.
    fn timers(&mut self, namespace: &str) -> Result<Vec<Timer>, StoreError>;

    /// Adds a message and returns its sequence number, which is larger than those of all messages ever
    /// committed in the workspace. The last [`MAX_KEPT_MESSAGES`] messages are retained until they are taken;
    /// older ones are dropped.
    fn add_message(
        &mut self,
        namespace: &str,
        timer: u32,
        fired_at: u64,
        text: &str,
    ) -> Result<u64, StoreError>;

    /// Returns pending messages of a namespace, oldest first, at most `limit`.
    fn messages(&mut self, namespace: &str, limit: u32) -> Result<Vec<Message>, StoreError>;

    /// Returns `true` if any namespace has pending messages.
    fn has_messages(&mut self) -> Result<bool, StoreError>;

    /// Removes and returns messages of all namespaces, oldest first, while their total `cost` is within
    /// `room`. The first message is always taken and counts as at most `room`, so that a large message cannot
    /// block all later ones.
    ///
    /// The transaction that commits delivers the messages: each message is taken once.
    fn take_messages(
        &mut self,
        room: usize,
        cost: &dyn Fn(&Message) -> usize,
    ) -> Result<Vec<Message>, StoreError>;

    /// Returns all namespaces with data, ordered by bytes. Reads the complete workspace.
    fn namespaces(&mut self) -> Result<Vec<String>, StoreError>;

    /// Describes all damaged rows, each as part of a sentence. Reads the complete workspace.
    fn damaged(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Commits all writes, or none.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Quota`] as described for [`set`](Self::set). After any error, nothing is
    /// stored.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// Checks the sizes of a key and a value.
///
/// # Errors
///
/// Fails with [`StoreError::TooLarge`] as described for [`Transaction::set`].
pub fn check_sizes(key: &str, value: &[u8]) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        let why = format!("a key must have 1 to {MAX_KEY_BYTES} bytes, but has {}", key.len());
        return Err(StoreError::TooLarge(why));
    }
    if value.len() > MAX_VALUE_BYTES {
        let why = format!("a value must have at most {MAX_VALUE_BYTES} bytes, but has {}", value.len());
        return Err(StoreError::TooLarge(why));
    }
    Ok(())
}
