//! Messages that wait to reach the client.

use scorpiox_store::{MAX_KEPT_MESSAGES, Message, StoreError};
use tokio_postgres::Row;

use crate::pool::Lease;
use crate::transaction::PostgresTransaction;

fn message(row: &Row) -> Result<Message, StoreError> {
    let text = String::from_utf8(row.get(3));
    Ok(Message {
        sequence: row.get::<_, i64>(0).unsigned_abs(),
        timer: u32::try_from(row.get::<_, i64>(1)).unwrap_or_default(),
        fired_at: row.get::<_, i64>(2).unsigned_abs(),
        text: text.map_err(|error| StoreError::Damaged(format!("a message ({error})")))?,
    })
}

pub(crate) fn add(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    timer: u32,
    fired_at: u64,
    text: &str,
) -> Result<u64, StoreError> {
    let workspace = transaction.workspace;
    let fired_at = i64::try_from(fired_at).unwrap_or(i64::MAX);
    // The workspace counts them, so that numbers have no gaps: a rollback gives them back.
    let row = transaction.write_row(
        "WITH counted AS (
             UPDATE scorpiox_code.workspace SET messages = messages + 1 WHERE id = $1 RETURNING messages
         )
         INSERT INTO scorpiox_code.message (workspace, sequence, namespace, timer, fired_at, text)
         SELECT $1, messages, $2, $3, $4, $5 FROM counted
         RETURNING sequence, pg_notify('scorpiox_code', $6 || ' ' || sequence || ' ' || $7)::text",
        &[
            &workspace,
            &namespace.as_bytes(),
            &i64::from(timer),
            &fired_at,
            &text.as_bytes(),
            &transaction.token(),
            &transaction.workspace_name(),
        ],
    )?;
    let sequence: Option<i64> = row.map(|row| row.get(0));
    let sequence =
        sequence.ok_or_else(|| StoreError::Other("the workspace is gone".to_owned()))?.unsigned_abs();
    delete_up_to(transaction, sequence.saturating_sub(MAX_KEPT_MESSAGES))?;
    Ok(sequence)
}

pub(crate) fn of(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let workspace = transaction.workspace;
    let rows = transaction.rows(
        "SELECT sequence, timer, fired_at, text FROM scorpiox_code.message
         WHERE workspace = $1 AND namespace = $2 ORDER BY sequence LIMIT $3",
        &[&workspace, &namespace.as_bytes(), &i64::from(limit)],
    )?;
    rows.iter().map(message).collect()
}

/// The message of a number, in the workspace of a name, if it still waits.
pub(crate) fn numbered(
    lease: &mut Lease,
    workspace: &str,
    sequence: i64,
) -> Result<Option<Message>, StoreError> {
    let row = lease.row(
        "SELECT m.sequence, m.timer, m.fired_at, m.text FROM scorpiox_code.message AS m
         JOIN scorpiox_code.workspace AS w ON w.id = m.workspace WHERE w.name = $1 AND m.sequence = $2",
        &[&workspace, &sequence],
    )?;
    row.as_ref().map(message).transpose()
}

pub(crate) fn has_any(transaction: &mut PostgresTransaction) -> Result<bool, StoreError> {
    let workspace = transaction.workspace;
    let row = transaction
        .row("SELECT EXISTS (SELECT 1 FROM scorpiox_code.message WHERE workspace = $1)", &[&workspace])?;
    Ok(row.is_some_and(|row| row.get(0)))
}

pub(crate) fn take(
    transaction: &mut PostgresTransaction,
    room: usize,
    cost: &dyn Fn(&Message) -> usize,
) -> Result<Vec<Message>, StoreError> {
    let workspace = transaction.workspace;
    let rows = transaction.rows(
        "SELECT sequence, timer, fired_at, text FROM scorpiox_code.message WHERE workspace = $1
         ORDER BY sequence",
        &[&workspace],
    )?;
    let mut taken = Vec::new();
    let mut left = room;
    for row in rows {
        let next = message(&row)?;
        match left.checked_sub(cost(&next)) {
            Some(rest) => left = rest,
            // One that fits nowhere must not keep back all that follow.
            None if taken.is_empty() => left = 0,
            None => break,
        }
        taken.push(next);
    }
    if let Some(last) = taken.last() {
        delete_up_to(transaction, last.sequence)?;
    }
    Ok(taken)
}

fn delete_up_to(transaction: &mut PostgresTransaction, sequence: u64) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    let sequence = i64::try_from(sequence).unwrap_or(i64::MAX);
    transaction.send(
        "DELETE FROM scorpiox_code.message WHERE workspace = $1 AND sequence <= $2",
        vec![Box::new(workspace), Box::new(sequence)],
    )
}
