//! Armed timers.

use scorpiox_store::{StoreError, Timer};
use tokio_postgres::Row;

use crate::damage::{Bytes, shown};
use crate::transaction::PostgresTransaction;

pub(crate) fn arm(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    id: u32,
    due: u64,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    transaction.send(
        "INSERT INTO scorpiox_code.timer (workspace, namespace, id, due) VALUES ($1, $2, $3, $4)
         ON CONFLICT (workspace, namespace, id) DO UPDATE SET due = excluded.due",
        vec![
            Box::new(workspace),
            Box::new(namespace.as_bytes().to_vec()),
            Box::new(i64::from(id)),
            Box::new(signed(due)),
        ],
    )
}

pub(crate) fn postpone(
    transaction: &mut PostgresTransaction,
    timer: &Timer,
    due: u64,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    let changed = transaction.write(
        "UPDATE scorpiox_code.timer SET due = $5
         WHERE workspace = $1 AND namespace = $2 AND id = $3 AND due = $4",
        &[&workspace, &timer.namespace.as_bytes(), &i64::from(timer.id), &signed(timer.due), &signed(due)],
    );
    changed.map(drop)
}

pub(crate) fn disarm(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    id: u32,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    let changed = transaction.write(
        "DELETE FROM scorpiox_code.timer WHERE workspace = $1 AND namespace = $2 AND id = $3",
        &[&workspace, &namespace.as_bytes(), &i64::from(id)],
    );
    changed.map(drop)
}

/// Number of rows read at once in search of an undamaged timer.
const PAGE: i64 = 16;

/// Parses a timer. The error describes a damaged row.
pub(crate) fn timer(row: &Row) -> Result<Timer, String> {
    let (namespace, id, due): (Vec<u8>, i64, i64) = (row.get(0), row.get(1), row.get(2));
    let damaged = || format!("timer {id} of {} for {due}", shown(&namespace));
    match (String::from_utf8(namespace.clone()), u32::try_from(id), u64::try_from(due)) {
        (Ok(namespace), Ok(id), Ok(due)) => Ok(Timer { namespace, id, due }),
        _ => Err(damaged()),
    }
}

/// Returns the timers of a namespace, ordered by ID.
pub(crate) fn of(transaction: &mut PostgresTransaction, namespace: &str) -> Result<Vec<Timer>, StoreError> {
    let workspace = transaction.workspace;
    let rows = transaction.rows(
        "SELECT namespace, id, due FROM scorpiox_code.timer WHERE workspace = $1 AND namespace = $2 ORDER BY id",
        &[&workspace, &namespace.as_bytes()],
    )?;
    Ok(rows.iter().filter_map(|row| transaction.whole(timer(row))).collect())
}

pub(crate) fn next(transaction: &mut PostgresTransaction) -> Result<Option<Timer>, StoreError> {
    let workspace = transaction.workspace;
    let mut after: (i64, Bytes, i64) = (i64::MIN, Vec::new(), i64::MIN);
    loop {
        let rows = transaction.rows(
            "SELECT namespace, id, due FROM scorpiox_code.timer
             WHERE workspace = $1 AND (due, namespace, id) > ($2, $3, $4) ORDER BY due, namespace, id LIMIT $5",
            &[&workspace, &after.0, &after.1, &after.2, &PAGE],
        )?;
        if let Some(next) = rows.iter().find_map(|row| transaction.whole(timer(row))) {
            return Ok(Some(next));
        }
        let Some(last) = rows.last() else { return Ok(None) };
        after = (last.get(2), last.get(0), last.get(1));
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
