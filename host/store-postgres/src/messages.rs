//! Messages waiting for delivery to the client.

use std::time::Duration;

use scorpiox_store::{MAX_KEPT_MESSAGES, Message, StoreError};
use tokio_postgres::Row;

use crate::bounds::{MOST_AT_ONCE, MOST_MARK, MOST_MESSAGE, MOST_ROWS};
use crate::connection::Connection;
use crate::mark::{Mark, mark};
use crate::transaction::PostgresTransaction;

/// Notification channel that announces new messages.
pub(crate) const CHANNEL: &str = "scorpiox_code";

/// Parses a message. The error describes a damaged row.
pub(crate) fn message(row: &Row) -> Result<Message, String> {
    let (sequence, timer, fired_at): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    match (
        u64::try_from(sequence),
        u32::try_from(timer),
        u64::try_from(fired_at),
        String::from_utf8(
            row.get::<_, Option<Vec<u8>>>(3)
                .ok_or_else(|| format!("message {sequence}, which has more than {MOST_MESSAGE} bytes"))?,
        ),
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
    // The workspace row counts the messages, so sequence numbers have no gaps: a rollback returns them.
    let row = transaction.write_row(
        "WITH counted AS (
             UPDATE scorpiox_code.workspace SET messages = messages + 1 WHERE id = $1 RETURNING messages
         )
         INSERT INTO scorpiox_code.message (workspace, sequence, namespace, timer, fired_at, text, mark, sender, since)
         SELECT $1, messages, $2, $3, $4, $5, $6, $7, clock_timestamp() FROM counted
         RETURNING sequence",
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
    transaction.has_news();
    Ok(sequence)
}

pub(crate) fn of(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let (mut all, mut pages) = (Vec::new(), Pages::of(namespace));
    while all.len() < limit as usize {
        let Some(rows) = pages.next(transaction)? else { break };
        all.extend(rows.iter().filter_map(|row| transaction.whole(message(row))));
    }
    all.truncate(limit as usize);
    Ok(all)
}

/// Pages through the messages of a workspace in sequence order. A page has at most a few megabytes, because a
/// single message may have a megabyte.
#[derive(Default)]
pub(crate) struct Pages {
    /// Namespace to read; `None` reads all namespaces.
    namespace: Option<Vec<u8>>,
    /// Sequence number of the last message read.
    last: Option<i64>,
    /// `true` after the last page.
    is_over: bool,
}

impl Pages {
    pub(crate) fn of(namespace: &str) -> Self {
        Self { namespace: Some(namespace.as_bytes().to_vec()), last: None, is_over: false }
    }

    /// Returns the next rows, or `None` after the last. Each row has the columns read by [`message`], then
    /// the namespace.
    pub(crate) fn next(
        &mut self,
        transaction: &mut PostgresTransaction,
    ) -> Result<Option<Vec<Row>>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        let (workspace, namespace) = (transaction.workspace, self.namespace.as_deref());
        let rows = transaction.rows(
            "SELECT sequence, timer, fired_at, text, namespace, found FROM (
                 SELECT *, count(*) OVER () AS found,
                     coalesce(sum(octet_length(text)) OVER (ORDER BY sequence), 0) AS bytes
                 FROM (
                     SELECT sequence, timer, fired_at, substring(namespace FROM 1 FOR 4096) AS namespace,
                         CASE WHEN octet_length(text) <= $4 THEN text END AS text
                     FROM scorpiox_code.message
                     WHERE workspace = $1 AND ($2::bytea IS NULL OR namespace = $2)
                         AND ($3::bigint IS NULL OR sequence > $3)
                     ORDER BY sequence LIMIT $6
                 ) AS page
             ) AS counted WHERE bytes <= $5 ORDER BY sequence",
            &[&workspace, &namespace, &self.last, &MOST_MESSAGE, &MOST_AT_ONCE, &MOST_ROWS],
        )?;
        let Some(last) = rows.last() else { return Ok(None) };
        self.last = Some(last.get(0));
        let found: i64 = last.get(5);
        self.is_over = found < MOST_ROWS && usize::try_from(found).is_ok_and(|found| found == rows.len());
        Ok(Some(rows))
    }
}

/// A message added by another process.
pub(crate) struct Added {
    /// Mark of the message.
    pub(crate) mark: Vec<u8>,
    /// Name of the workspace.
    pub(crate) workspace: String,
    /// The message, or a description of the damaged row.
    pub(crate) message: Result<Message, String>,
}

/// Maximum age of a message announced by another process.
pub(crate) const NEWS_TIME: Duration = Duration::from_mins(1);

/// Returns the recent undelivered messages of processes other than `sender`, except those with a mark in
/// `told`.
pub(crate) fn added(
    connection: &mut Connection,
    sender: &Mark,
    told: &[&[u8]],
) -> Result<Vec<Added>, StoreError> {
    let rows = connection.rows(
        "SELECT sequence, timer, fired_at, text, mark, name FROM (
             SELECT *, sum(octet_length(text)) OVER (ORDER BY since, mark) AS bytes FROM (
                 SELECT m.sequence, m.timer, m.fired_at, m.mark, left(w.name, 100) AS name, m.since,
                     CASE WHEN octet_length(m.text) <= $4 THEN m.text END AS text
                 FROM scorpiox_code.message AS m JOIN scorpiox_code.workspace AS w ON w.id = m.workspace
                 WHERE m.since BETWEEN now() - $6 * interval '1 second'
                         AND now() + $6 * interval '1 second'
                     AND m.sender <> $1 AND octet_length(m.mark) <= $3 AND m.mark <> ALL($2)
                 ORDER BY m.since, m.mark LIMIT $7
             ) AS page
         ) AS counted WHERE coalesce(bytes, 0) <= $5 ORDER BY since, mark",
        &[
            &sender.as_slice(),
            &told,
            &MOST_MARK,
            &MOST_MESSAGE,
            &MOST_AT_ONCE,
            &NEWS_TIME.as_secs_f64(),
            &MOST_ROWS,
        ],
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
    let (mut taken, mut left, mut pages) = (Vec::new(), room, Pages::default());
    'pages: while let Some(rows) = pages.next(transaction)? {
        for row in rows {
            let Some(next) = transaction.whole(message(&row)) else { continue };
            match left.checked_sub(cost(&next)) {
                Some(rest) => left = rest,
                // A message that exceeds every limit must not block those after it.
                None if taken.is_empty() => left = 0,
                None => break 'pages,
            }
            taken.push(next);
        }
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
