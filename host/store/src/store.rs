//! State of a workspace, and how transactions on it start.

use std::fmt::Debug;

use scorpiox_executor::Cancel;

use super::{Changes, Message, StoreError, Transaction};

/// Time at which a transaction becomes the *writer*. A workspace has at most one writer at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At its first write. The write fails with [`StoreError::Conflict`] if there is another writer, or if
    /// another transaction committed after this one's first read. The caller then starts again with `Write`.
    ReadFirst,
    /// At the start. The data it reads cannot change before it ends, and it never conflicts.
    Write,
}

/// Callback for a message.
pub type Tell = Box<dyn Fn(&Message) + Send + Sync>;

/// State of a workspace, shared by all clients that opened it: other values of this type, other processes,
/// and other machines if the implementation supports them.
///
/// # Workspaces
///
/// Workspaces share nothing: no keys, timers, messages, quotas, writers, or change notifications.
///
/// # Isolation
///
/// - **Snapshot.** A transaction sees the workspace as of its first operation: everything committed before,
///   nothing committed later. Data it has read does not change. Beginning is not an operation. The snapshot
///   of a [`Mode::Write`] transaction is taken when it begins.
/// - **Read your writes.** A transaction sees its own writes.
/// - **No dirty reads.** Uncommitted writes are invisible to other transactions.
/// - **Atomicity.** A commit stores all writes of the transaction. Other transactions see all of them or
///   none.
/// - **Rollback.** A transaction dropped without a commit leaves no trace. Neither does a failed commit.
/// - **Single writer.** At most one transaction of a workspace is the writer: it has written, or began with
///   [`Mode::Write`], and has not ended. Readers neither wait for the writer nor delay it.
/// - **Conflict.** The first write of a [`Mode::ReadFirst`] transaction fails immediately with
///   [`StoreError::Conflict`] if there is another writer, or if the workspace changed after the snapshot was
///   taken. *Any* change counts, including other namespaces, timers, and messages. Writing an unchanged value
///   may or may not count. If the first operation is a write, no change can precede it. After a conflict, the
///   transaction is unusable and must be dropped. Read-only transactions do not conflict.
/// - **Serializability.** The result is as if the writing transactions had run one after the other in the
///   order of their commits, and each read-only transaction at the instant of its snapshot.
///
/// # Durability
///
/// Committed data survives the end of any process at any instant, and a power failure if the implementation
/// says so.
pub trait Store: Debug + Send + Sync {
    /// Returns the location of the state for display: a file path, or an address without its password.
    fn location(&self) -> String;

    /// Returns `true` if anything was ever stored, and `false` if that is unknown. The result is `false` for
    /// an unused workspace, `true` after the first commit, and either in between. Creates nothing, and is
    /// cheap.
    fn exists(&self) -> bool;

    /// Returns the opposite of [`exists`](Self::exists), for callers that must not mistake an unknown state
    /// for absence: it fails if the state cannot be determined. Creates nothing.
    fn is_absent(&self) -> Result<bool, StoreError>;

    /// Starts a transaction, and creates the workspace if it is unused.
    ///
    /// With [`Mode::Write`], waits while there is another writer. `on_wait` is called once if the wait takes
    /// longer than about 50 ms.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Cancelled`] within 50 ms after `cancel` is set during a wait; without a wait,
    /// `cancel` is ignored. Fails with [`StoreError::Busy`] after ten seconds. Never fails with
    /// [`StoreError::Conflict`].
    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError>;

    /// Starts a transaction like [`begin`](Self::begin), but fails with [`StoreError::Conflict`] instead of
    /// waiting.
    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError>;

    /// Registers a callback for messages added by other processes, where supported. Notifications are best
    /// effort; a missed message is still stored. Stores for a single machine never call it.
    ///
    /// # Errors
    ///
    /// Fails if listening cannot be started.
    fn hear(&self, _tell: Tell) -> Result<(), StoreError> {
        Ok(())
    }

    /// Checks that notifications from other processes arrive, if the store listens for them.
    ///
    /// # Errors
    ///
    /// Fails if notifications have been interrupted for longer than a reconnect takes.
    fn hears(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Checks that the backend responds. Cached information is not used.
    ///
    /// # Errors
    ///
    /// Fails if the backend does not respond or is unusable.
    fn answers(&self) -> Result<(), StoreError> {
        self.changes().map(drop)
    }

    /// Returns the lead of the workspace's shared clock over this machine's clock, in milliseconds. The
    /// shared clock determines when timers are due. Returns 0 if both clocks are the same, or before the
    /// other clock was queried. Cheap.
    fn clock_ahead(&self) -> i64 {
        0
    }

    /// Starts watching for commits. Creates nothing.
    fn changes(&self) -> Result<Box<dyn Changes>, StoreError>;
}
