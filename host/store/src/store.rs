//! The state of one workspace, and how transactions on it begin.

use std::fmt::Debug;

use scorpiox_executor::Cancel;

use super::{Changes, Message, StoreError, Transaction};

/// When a transaction becomes the *writer*, of which a workspace has at most one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At its first write. That write fails with [`StoreError::Conflict`] when there is another writer, or
    /// when somebody committed after this transaction's first read; the caller starts again with `Write`.
    ReadFirst,
    /// At the start. Nothing that it reads changes before it ends, and it never conflicts.
    Write,
}

/// Told of a message.
pub type Tell = Box<dyn Fn(&Message) + Send + Sync>;

/// The state of one workspace, shared by all who opened it: other values of this type, other processes, and
/// other machines where the implementation reaches them. Below, *somebody* is any of them.
///
/// # Workspaces
///
/// Workspaces share nothing: no key, timer, message, quota, writer or notice of a change.
///
/// # Isolation
///
/// - **Snapshot.** A transaction sees the workspace as it was at its first operation: everything that was
///   committed before, nothing that is committed later. What it has read does not change under it.
///   Beginning is no operation. A [`Mode::Write`] transaction's snapshot is taken when it begins.
/// - **Read your writes.** A transaction sees what it wrote itself.
/// - **Nothing uncommitted.** Nobody else sees what a transaction wrote before it is committed.
/// - **Atomic.** A commit keeps all that the transaction wrote, and others see all of it at once or none.
/// - **Rollback.** A transaction that is dropped without a commit leaves nothing. So does one whose commit fails.
/// - **One writer.** At most one transaction of a workspace is the writer: the one that wrote, or began with
///   [`Mode::Write`], and has not ended. Readers neither wait for it nor keep it waiting.
/// - **Conflict.** The first write of a [`Mode::ReadFirst`] transaction fails with [`StoreError::Conflict`] at
///   once, without waiting, if there is another writer, or if the workspace changed after the snapshot was
///   taken. *Any* change counts: of other namespaces, timers and messages, too. Writing what is there already
///   may or may not count. Where the first operation is the write, no change can come before it. After
///   a conflict a transaction is of no more use and must be dropped. Transactions that only read do not conflict.
/// - **Serializable.** All comes out as if those that wrote had run one after the other in the order of their
///   commits, and each that only read at the instant of its snapshot.
///
/// # Durability
///
/// What was committed stays after any process ends, at any instant, and where the implementation says so after
/// a loss of power.
pub trait Store: Debug + Send + Sync {
    /// Where the state is, to tell a person: the path of a file, an address without its password.
    fn location(&self) -> String;

    /// Whether anything was ever stored, as far as that can be seen: false in doubt. False for a workspace that was
    /// never used, true after its first commit; in between it may be either. Creates nothing, and is cheap.
    fn exists(&self) -> bool;

    /// The opposite of [`exists`](Self::exists) for who must not take a doubt for "no": an error where it
    /// cannot be known. Creates nothing.
    fn is_absent(&self) -> Result<bool, StoreError>;

    /// Starts a transaction, and creates the workspace if it was never used.
    ///
    /// With [`Mode::Write`] it waits while there is another writer. `on_wait` is told once when that
    /// takes longer than some 50 ms.
    ///
    /// # Errors
    ///
    /// [`StoreError::Cancelled`] soon (within 50 ms) after `cancel` is set during a wait; where there is no need
    /// to wait, a cancel is not looked at. [`StoreError::Busy`] after ten seconds. Never
    /// [`StoreError::Conflict`].
    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError>;

    /// Starts a transaction like [`begin`](Self::begin), but fails with [`StoreError::Conflict`] where
    /// that would wait.
    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError>;

    /// Has this told of each message that another process adds from now on, as far as that can be heard of: what is not heard
    /// of is still there. Nothing is heard where all share a machine.
    ///
    /// # Errors
    ///
    /// Nothing can be listened with.
    fn hear(&self, _tell: Tell) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reports whether what others add and say is heard of at this time, where it is listened for.
    ///
    /// # Errors
    ///
    /// Why it is not, for longer than a connection takes that is made anew.
    fn hears(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// How many milliseconds the clock that all go by who share the workspace is ahead of this machine's: by it timers are
    /// due. 0 where they share a clock, and where nobody has asked for the other one yet. Cheap.
    fn clock_ahead(&self) -> i64 {
        0
    }

    /// A way to learn of commits from now on. Creates nothing.
    fn changes(&self) -> Result<Box<dyn Changes>, StoreError>;
}
