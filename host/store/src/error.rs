//! Store errors, described for the user who has to fix them.

/// Reason why a store operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is another writer, or a commit after this transaction's snapshot; run the transaction again.
    #[error("somebody else is writing at the same time")]
    Conflict,
    /// The call was cancelled while it waited for another writer.
    #[error("cancelled while waiting for others to finish writing")]
    Cancelled,
    /// Other writers, in this server or another, held the write lock for too long.
    #[error("others have been writing for {0} s; try again")]
    Busy(u64),
    /// The disk with this path is full.
    #[error("the disk of {0} is full")]
    Full(String),
    /// A rule of the database refuses what every server writes, until an administrator mends it.
    #[error("{0}")]
    Barred(String),
    /// The directory or file is not writable.
    #[error(
        "{0} cannot be written; check its permissions, or set SCORPIOX_HOME to a folder that can be written"
    )]
    ReadOnly(String),
    /// The stored data is corrupt.
    #[error("{0} is damaged; move it away to start with an empty one")]
    Damaged(String),
    /// The data was written by a newer version of this program.
    #[error("{path} has format {found}, newer than this program's {known}; update the program")]
    Newer {
        /// Path of the data.
        path: String,
        /// Format of the data.
        found: i64,
        /// Newest format known to this program.
        known: i64,
    },
    /// The namespace would exceed its quota of this many bytes.
    #[error("the quota of {0} bytes is used up")]
    Quota(u64),
    /// A key or a value exceeds its maximum size.
    #[error("{0}")]
    TooLarge(String),
    /// The database is unreachable. Nothing was stored.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database rejected the credentials.
    #[error(
        "the database refuses this program: {0}; check the role of `address` in `[store]`, and its password"
    )]
    Denied(String),
    /// The database became unreachable during the commit, whose outcome is unknown.
    #[error(
        "the database became unreachable while this was being kept, so that it is not known whether it was; look before you \
         repeat it ({0})"
    )]
    InDoubt(String),
    /// Any other error, described by the underlying library.
    #[error("{0}")]
    Other(String),
}
