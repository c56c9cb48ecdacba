//! What can go wrong with a store, as somebody who has to fix it sees it.

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else writes, or committed after this transaction read; run it again.
    #[error("somebody else is writing at the same time")]
    Conflict,
    /// The call was cancelled while it waited for another writer.
    #[error("cancelled while waiting for others to finish writing")]
    Cancelled,
    /// Others, of this server or of another, kept the write lock for too long.
    #[error("others have been writing for {0} s; try again")]
    Busy(u64),
    /// No space is left, where this is.
    #[error("the disk of {0} is full")]
    Full(String),
    /// The folder or the file may not be written.
    #[error(
        "{0} cannot be written; check its permissions, or set SCORPIOX_HOME to a folder that can be written"
    )]
    ReadOnly(String),
    /// What is stored is not intact.
    #[error("{0} is damaged; move it away to start with an empty one")]
    Damaged(String),
    /// What is stored was made by a newer version of this program.
    #[error("{path} has format {found}, newer than this program's {known}; update the program")]
    Newer {
        /// Where it is.
        path: String,
        /// Its format.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// A tool's data would exceed its quota of this many bytes.
    #[error("the quota of {0} bytes is used up")]
    Quota(u64),
    /// A key or a value is over its limit.
    #[error("{0}")]
    TooLarge(String),
    /// What stores it cannot be reached. Nothing was kept.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database does not take who this is.
    #[error(
        "the database refuses this program: {0}; check the role of `address` in `[store]`, and its password"
    )]
    Denied(String),
    /// What stores it became unreachable at the moment of the commit.
    #[error(
        "the database became unreachable while this was being kept, so that it is not known whether it was; look before you \
         repeat it ({0})"
    )]
    InDoubt(String),
    /// Anything else, in the words of what is below.
    #[error("{0}")]
    Other(String),
}
