//! What is done within a transaction.

use std::fmt::Debug;

use super::StoreError;

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Largest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Most entries that one scan gives.
pub const MAX_SCAN_ENTRIES: u32 = 1000;
/// A scan ends with the entry that reaches this many bytes of keys and values.
pub const MAX_SCAN_BYTES: usize = 4 * 1024 * 1024;
/// Messages of a workspace that are kept. Several timers that fire for days into a client that never calls
/// must not fill the disk.
pub const MAX_KEPT_MESSAGES: u64 = 100;

/// The order of a scan, by the bytes of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The whole key.
    pub key: String,
    /// The value's bytes.
    pub value: Vec<u8>,
}

/// A timer that is armed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// Whose timer it is.
    pub namespace: String,
    /// Which of its timers.
    pub id: u32,
    /// Milliseconds since 1970.
    pub due: u64,
}

/// A message that was not attached to a result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Rises with each message of the workspace.
    pub sequence: u64,
    /// The timer that fired.
    pub timer: u32,
    /// Milliseconds since 1970.
    pub fired_at: u64,
    /// What to tell the client.
    pub text: String,
}

/// A transaction that is open: see [`Store`](crate::Store) for what it sees, and when it conflicts.
///
/// A *namespace* is whose data it is, named by any text. Keys, timers and quotas of one namespace are not seen or
/// touched through another; a transaction may use several.
///
/// # Damage
///
/// A row that is no key, timer or message (a text that is no UTF-8, a number out of range) is left out by all that gives
/// several or the next one, told of in the log, and kept: others are not held up by it.
///
/// # Errors
///
/// [`StoreError::TooLarge`] and [`StoreError::Quota`] leave the transaction usable. After any other error it
/// may have ended: what follows fails, too, and nothing is kept.
///
/// # Writes
///
/// These make the transaction the writer, and so can conflict: `set`, `increment`, `arm`, `disarm`, `postpone`,
/// `add_message` and `forget` always; `delete` and `take_messages` where there is something to take away.
pub trait Transaction: Debug + Send {
    /// The value at `key`.
    fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Puts `value` at `key`, in place of an earlier value.
    ///
    /// # Quota
    ///
    /// A namespace uses the bytes of all its keys and values in the workspace; timers, messages and what an
    /// implementation needs beside are not counted. Deleting and shrinking free bytes at once, within
    /// the same transaction. `quota` is the most that the namespace may use; who sets several keys in a transaction
    /// gives the same one each time.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] for a key of no bytes or more than [`MAX_KEY_BYTES`], and a value of more than
    /// [`MAX_VALUE_BYTES`]; nothing is written.
    ///
    /// [`StoreError::Quota`] if the namespace grows by this, and then uses more than `quota`. The value is
    /// written in the transaction all the same, but [`commit`](Self::commit) fails unless the
    /// namespace is within its quota again by then, or uses no more than before the transaction. (Who lowers a
    /// quota does not lock those out who only change or shrink what they have.)
    fn set(&mut self, namespace: &str, key: &str, value: &[u8], quota: u64) -> Result<(), StoreError>;

    /// Takes `key` away, if it is there.
    fn delete(&mut self, namespace: &str, key: &str) -> Result<(), StoreError>;

    /// Entries whose keys start with `prefix` (all keys start with the empty one), in the `order` of the bytes of
    /// their keys, strictly after `after` in that order, whether there is such a key or not. At most
    /// `limit`, at most [`MAX_SCAN_ENTRIES`], and none after those that reach [`MAX_SCAN_BYTES`] together.
    ///
    /// Fewer than `limit` are no sign of the end: that is a scan without entries.
    fn scan(
        &mut self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Adds `delta` to the counter at `key`, which is 0 when absent, and gives the sum. A counter is an ordinary key
    /// whose value is its decimal text.
    ///
    /// # Errors
    ///
    /// Those of [`set`](Self::set), and [`StoreError::Other`] for a value that is not a counter, or a sum that does not
    /// fit; nothing is written then.
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

    /// Deletes all that a namespace has: keys with what they use of the quota, timers, messages. Whether there was
    /// anything.
    fn forget(&mut self, namespace: &str) -> Result<bool, StoreError>;

    /// Arms timer `id` of a namespace for `due` (milliseconds since 1970; times beyond 2⁶³−1 become that), in place
    /// of its earlier due time.
    fn arm(&mut self, namespace: &str, id: u32, due: u64) -> Result<(), StoreError>;

    /// Arms `timer` for `due` instead, unless it is no longer armed, or armed for another time than it says:
    /// somebody fired or changed it meanwhile. Then nothing happens.
    fn postpone(&mut self, timer: &Timer, due: u64) -> Result<(), StoreError>;

    /// Takes a timer away; one that is not armed is no error.
    fn disarm(&mut self, namespace: &str, id: u32) -> Result<(), StoreError>;

    /// The timer of the workspace that is due first, in the past or the future; of several that are due at once the
    /// first by the bytes of the namespace, then by the id.
    ///
    /// Who finds one that is due in a [`Mode::Write`](crate::Mode::Write) transaction, disarms it and
    /// commits has fired it: nobody else did or will.
    fn next_timer(&mut self) -> Result<Option<Timer>, StoreError>;

    /// The timers of a namespace, by their ids.
    fn timers(&mut self, namespace: &str) -> Result<Vec<Timer>, StoreError>;

    /// Adds a message and gives its sequence number, larger than those of all messages that were ever committed
    /// in the workspace. Of all that were added, the last [`MAX_KEPT_MESSAGES`] are kept until they are taken;
    /// older ones are dropped.
    fn add_message(
        &mut self,
        namespace: &str,
        timer: u32,
        fired_at: u64,
        text: &str,
    ) -> Result<u64, StoreError>;

    /// The messages of a namespace that wait, oldest first, at most `limit`.
    fn messages(&mut self, namespace: &str, limit: u32) -> Result<Vec<Message>, StoreError>;

    /// Whether any message waits, of any namespace.
    fn has_messages(&mut self) -> Result<bool, StoreError>;

    /// Takes messages away, of all namespaces, oldest first, until the next one would make what they `cost` together
    /// more than `room`. If already the first does that, it is taken as if it filled the room exactly: one
    /// that fits nowhere must not keep back all that follow.
    ///
    /// Who commits delivers them: each message is taken once.
    fn take_messages(
        &mut self,
        room: usize,
        cost: &dyn Fn(&Message) -> usize,
    ) -> Result<Vec<Message>, StoreError>;

    /// All namespaces that have something, in the order of their bytes. Reads the whole workspace.
    fn namespaces(&mut self) -> Result<Vec<String>, StoreError>;

    /// Rows that are damaged, each as a sentence has it. Reads the whole workspace.
    fn damaged(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Keeps what was written, all or nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`] as [`set`](Self::set) says. With any error, nothing is kept.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// Whether a key and a value are within their limits.
///
/// # Errors
///
/// [`StoreError::TooLarge`], as [`Transaction::set`] says.
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
