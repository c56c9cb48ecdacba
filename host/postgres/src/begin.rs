//! The ways in which a transaction begins.
//!
//! Other roles may have made functions and operators whose names this server would find first. So each transaction says that only
//! PostgreSQL's own count, and a connection sends nothing outside of one: a pooler gives each transaction another connection, where
//! nobody set anything. So nothing is sent either before the answer to the beginning has come: a beginning that somebody cancels leaves
//! no transaction.

use std::fmt::Write as _;
use std::time::Duration;

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

/// The server ends what it does for a process that was killed, a few seconds later.
pub(crate) const LOOK: &str = "; SET LOCAL client_connection_check_interval = '10s'";

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
    const fn isolation(self) -> &'static str {
        match self {
            Self::Look => begin!("READ COMMITTED READ ONLY"),
            Self::Snapshot => begin!("REPEATABLE READ"),
            Self::Write => begin!("READ COMMITTED"),
            Self::Wait => begin!("READ COMMITTED", "40ms"),
            Self::Settle => begin!("READ COMMITTED", "1s"),
            Self::Migrate => begin!("READ COMMITTED", lock_time!()),
        }
    }

    /// Returns the statements, for a process that waits so long for an answer, with locks of the tables that it writes.
    pub(crate) fn sql(self, answer_time: Duration, tables: Tables, look: &str) -> String {
        let mut sql =
            format!("{}; SET LOCAL statement_timeout = {}", self.isolation(), statement_time(answer_time));
        sql.push_str(look);
        // Whoever waits for no writer waits for no lock either.
        let held = if (self, tables) == (Self::Write, Tables::Kept) { Held::AtOnce } else { Held::Awaited };
        if let Some(lock) = tables.lock(held) {
            let _ = write!(sql, "; {lock}");
        }
        sql
    }
}

/// Returns the milliseconds after which the server itself ends a statement: before its process gives it up, so that the answer comes,
/// the connection stays, and nothing goes on for a process that is gone.
pub(crate) fn statement_time(answer_time: Duration) -> u128 {
    (answer_time.as_millis() * 4 / 5).max(1)
}

/// Tables that a transaction writes. It locks them before it looks for triggers of others (see `guard`): no trigger is made while the
/// lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// None.
    Nothing,
    /// Those of what workspaces keep.
    Kept,
    /// The names of workspaces.
    Names,
    Secret,
    Ended,
    Relay,
    /// The marks of commits.
    Marks,
}

/// The wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Awaited,
    AtOnce,
}

impl Tables {
    /// Returns the statements that lock them, in the order of a migration, which takes the lock of the format first.
    pub(crate) fn lock(self, held: Held) -> Option<String> {
        let all: &[&str] = match self {
            Self::Nothing => return None,
            Self::Kept => &["workspace", "entry", "usage", "timer", "message", "commit_mark"],
            Self::Names => &["workspace"],
            Self::Secret => &["secret"],
            Self::Ended => &["ended"],
            Self::Relay => &["relay"],
            Self::Marks => &["workspace", "commit_mark"],
        };
        let at_once = if held == Held::AtOnce { " NOWAIT" } else { "" };
        let all =
            all.iter().map(|table| format!("ONLY scorpiox_code.{table}")).collect::<Vec<_>>().join(", ");
        Some(format!(
            "LOCK TABLE ONLY scorpiox_code.format IN ACCESS SHARE MODE{at_once}; LOCK TABLE {all} IN ROW EXCLUSIVE MODE{at_once}"
        ))
    }
}
