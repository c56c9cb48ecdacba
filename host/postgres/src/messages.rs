//! Messages that wait to reach the client.

use scorpiox_store::{MAX_KEPT_MESSAGES, Message, StoreError};
use tokio_postgres::Row;

use crate::mark::{Mark, mark};
use crate::pool::Lease;
use crate::transaction::PostgresTransaction;

/// A message, or why the row is none.
pub(crate) fn message(row: &Row) -> Result<Message, String> {
    let (sequence, timer, fired_at): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    match (
        u64::try_from(sequence),
        u32::try_from(timer),
        u64::try_from(fired_at),
        String::from_utf8(row.get(3)),
    ) {
        (Ok(sequence), Ok(timer), Ok(fired_at), Ok(text)) => Ok(Message { sequence, timer, fired_at, text }),
        _ => Err(format!("message {sequence}")),
    }
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
         INSERT INTO scorpiox_code.message (workspace, sequence, namespace, timer, fired_at, text, mark, sender, since)
         SELECT $1, messages, $2, $3, $4, $5, $6, $7, clock_timestamp() FROM counted
         RETURNING sequence, pg_notify('scorpiox_code', '')::text",
        &[
            &workspace,
            &namespace.as_bytes(),
            &i64::from(timer),
            &fired_at,
            &text.as_bytes(),
            &mark()?.as_slice(),
            &transaction.sender().as_slice(),
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
    Ok(rows.iter().filter_map(|row| transaction.whole(message(row))).collect())
}

/// A message that another process added.
pub(crate) struct Added {
    /// Its mark.
    pub(crate) mark: Vec<u8>,
    /// The name of its workspace.
    pub(crate) workspace: String,
    /// The message, or why it cannot be read.
    pub(crate) message: Result<Message, String>,
}

/// Messages that other processes than `sender` added lately, and that still wait.
pub(crate) fn added(lease: &mut Lease, sender: &Mark) -> Result<Vec<Added>, StoreError> {
    let rows = lease.rows(
        "SELECT m.sequence, m.timer, m.fired_at, m.text, m.mark, w.name FROM scorpiox_code.message AS m
         JOIN scorpiox_code.workspace AS w ON w.id = m.workspace
         WHERE m.since > now() - interval '1 minute' AND m.sender <> $1 AND m.mark IS NOT NULL
         ORDER BY m.since LIMIT 1000",
        &[&sender.as_slice()],
    )?;
    let added = |row: &Row| Added { mark: row.get(4), workspace: row.get(5), message: message(row) };
    Ok(rows.iter().map(added).collect())
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
        let Some(next) = transaction.whole(message(&row)) else { continue };
        match left.checked_sub(cost(&next)) {
            Some(rest) => left = rest,
            // One that fits nowhere must not keep back all that follow.
            None if taken.is_empty() => left = 0,
            None => break,
        }
        taken.push(next);
    }
    if !taken.is_empty() {
        let numbers: Vec<i64> = taken.iter().map(|message| message.sequence.cast_signed()).collect();
        transaction.send(
            "DELETE FROM scorpiox_code.message WHERE workspace = $1 AND sequence = ANY($2)",
            vec![Box::new(workspace), Box::new(numbers)],
        )?;
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
