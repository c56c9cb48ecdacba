//! The ways in which a transaction begins.
//!
//! Other roles may have made functions and operators whose names this server would find first. So each transaction says that only
//! PostgreSQL's own count, and a connection sends nothing outside of one: a pooler gives each transaction another connection, where
//! nobody set anything.

/// The time for which a migration waits for another one, and again for its tables, as SQL says it. Another migration takes a second;
/// any role that may connect can take the same locks and keep them.
macro_rules! lock_time {
    () => {
        "10s"
    };
}

pub(crate) const LOCK_TIME: &str = lock_time!();

/// The server ends a transaction whose process says nothing for so long: a machine that is gone keeps the lock of no
/// workspace for longer.
macro_rules! begin {
    ($how:literal) => {
        concat!(
            "BEGIN ISOLATION LEVEL ",
            $how,
            "; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL idle_in_transaction_session_timeout = '60s'"
        )
    };
    ($how:literal, $lock:expr) => {
        concat!(begin!($how), "; SET LOCAL lock_timeout = '", $lock, "'")
    };
}

/// A way to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// To look something up.
    Look,
    /// To read from one snapshot, and write then if nobody else did.
    Snapshot,
    /// To write.
    Write,
    /// To write, for who waits a moment for the lock of a workspace, and looks then whether its call was cancelled.
    Wait,
    /// To find out what became of a commit. The transaction in doubt may still be ending.
    Settle,
    /// To change the tables.
    Migrate,
}

impl Begin {
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Look => begin!("READ COMMITTED READ ONLY"),
            Self::Snapshot => begin!("REPEATABLE READ"),
            Self::Write => begin!("READ COMMITTED"),
            Self::Wait => begin!("READ COMMITTED", "40ms"),
            Self::Settle => begin!("READ COMMITTED", "1s"),
            Self::Migrate => begin!("READ COMMITTED", lock_time!()),
        }
    }
}
