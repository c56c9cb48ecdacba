//! The `BEGIN` statements.
//!
//! Other roles may have created functions and operators that name resolution would find first. Each
//! transaction therefore sets a `search_path` with only PostgreSQL's own schema (and `pg_temp`). A connection
//! sends nothing outside of a transaction, because a pooler gives each transaction another server connection,
//! where nothing is set. For the same reason nothing is sent before the answer to `BEGIN` arrives: a
//! cancelled `BEGIN` leaves no transaction.

use std::fmt::Write as _;
use std::time::Duration;

use crate::warnings;

/// Time that a migration waits for another migration, and then for its tables, in SQL syntax. Another
/// migration takes about a second. Any role that may connect can take the same locks and hold them.
macro_rules! lock_time {
    () => {
        "10s"
    };
}

pub(crate) const LOCK_TIME: &str = lock_time!();

/// Builds a `BEGIN` statement. The server ends a transaction that is idle for 60 seconds, so a machine that
/// disappears holds the lock of a workspace no longer than that.
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

/// Makes the server stop working for a killed process within a few seconds.
pub(crate) const LOOK: &str = "; SET LOCAL client_connection_check_interval = '10s'";

/// Expression that makes a commit wait for the disk if the database or the role has switched that off. Every
/// other value waits at least for the disk of the primary, and stays.
macro_rules! durable {
    () => {
        "CASE WHEN current_setting('synchronous_commit') = 'off'
             THEN set_config('synchronous_commit', 'on', true) END"
    };
}

pub(crate) use durable;

/// Kinds of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Read-only.
    Look,
    /// Reads from one snapshot, then writes if no other transaction did.
    Snapshot,
    /// Writes.
    Write,
    /// Writes. Waits only briefly for the lock of a workspace, so that the caller can check for cancellation.
    Wait,
    /// Determines the outcome of a commit. The transaction in doubt may still be ending.
    Settle,
    /// Changes the tables.
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

    /// Returns the statements for a process that waits `answer_time` for an answer. They lock the tables that
    /// the transaction writes.
    pub(crate) fn sql(self, answer_time: Duration, tables: Tables, look: &str) -> String {
        let mut sql =
            format!("{}; SET LOCAL statement_timeout = {}", self.isolation(), statement_time(answer_time));
        sql.push_str(look);
        if self != Self::Look {
            sql.push_str(warnings::SENT);
        }
        // The other transactions evaluate it with the guard, after the locks: it would take the snapshot.
        if self == Self::Migrate {
            sql.push_str(concat!("; SELECT ", durable!()));
        }
        // A transaction that does not wait for writers does not wait for table locks either.
        let held = if (self, tables) == (Self::Write, Tables::Kept) { Held::AtOnce } else { Held::Awaited };
        if let Some(lock) = tables.lock(held) {
            let _ = write!(sql, "; {lock}");
        }
        sql
    }
}

/// Returns the statement timeout that the server enforces, in milliseconds. It is shorter than `answer_time`,
/// so the answer arrives, the connection survives, and the server does not keep working for a process that
/// gave up.
pub(crate) fn statement_time(answer_time: Duration) -> u128 {
    (answer_time.as_millis() * 4 / 5).max(1)
}

/// Tables that a transaction writes. It locks them before it checks for foreign triggers (see `guard`),
/// because no trigger can be created while the lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// No tables.
    Nothing,
    /// Tables with the content of workspaces.
    Kept,
    /// Names of workspaces.
    Names,
    Secret,
    Ended,
    Relay,
    /// Commit marks.
    Marks,
}

/// Lock behavior: waiting or failing immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Awaited,
    AtOnce,
}

impl Tables {
    /// Returns the statements that lock the tables, in the order of a migration, which locks `format` first.
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
