//! Maps errors of PostgreSQL and the network to store errors.

use std::error::Error as _;

use scorpiox_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Converts an error of the driver. `location` is the address of the database.
pub(crate) fn store_error(error: &Error, location: &str) -> StoreError {
    let Some(told) = error.as_db_error() else {
        return StoreError::Unreachable(format!("{location}: {}", whole(error)));
    };
    let code = told.code();
    let message = format!("{location}: {}", told.message());
    if [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]
        .contains(code)
    {
        StoreError::Conflict
    } else if *code == SqlState::DISK_FULL {
        StoreError::Full(location.to_owned())
    } else if is_barred(told) {
        StoreError::Barred(message)
    } else if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
        StoreError::Damaged(message)
    } else if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
        StoreError::Denied(message)
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        takes_no_writes(location)
    } else if *code == SqlState::QUERY_CANCELED {
        StoreError::Other(format!(
            "{message}; where a lock kept it, this says whose: SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity WHERE \
             wait_event_type = 'Lock'"
        ))
    } else if is_going_away(code) {
        StoreError::Unreachable(message)
    } else {
        StoreError::Other(message)
    }
}

/// Constraint of this program's own tables, whose limits are checked before anything is sent.
const OWN_CHECK: &str = "size";

/// Returns `true` if a constraint, a policy or a missing right that is not this program's own refuses a statement.
fn is_barred(told: &DbError) -> bool {
    let is_ruled =
        [SqlState::CHECK_VIOLATION, SqlState::NOT_NULL_VIOLATION, SqlState::INSUFFICIENT_PRIVILEGE];
    is_ruled.contains(told.code()) && told.constraint() != Some(OWN_CHECK)
}

/// Returns `true` if the server is shutting down, starting or out of connections, and may be back soon.
fn is_going_away(code: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
        || code.code().starts_with("08")
}

/// Formats an error with its sources, because the driver's message alone only names the operation.
fn whole(error: &Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        below = cause.source();
    }
    text
}
/// Returns the error for a database in which every transaction is read-only.
pub(crate) fn takes_no_writes(location: &str) -> StoreError {
    StoreError::Unreachable(format!(
        "{location} takes no writes: it is a standby, or was set to be read only"
    ))
}
