//! Messages that wait to reach the client.

use std::time::Duration;

use scorpiox_store::{MAX_KEPT_MESSAGES, Message, StoreError};
use tokio_postgres::Row;

use crate::bounds::{MOST_AT_ONCE, MOST_MARK, MOST_MESSAGE, MOST_ROWS};
use crate::connection::Connection;
use crate::mark::{Mark, mark};
use crate::transaction::PostgresTransaction;

/// The channel of the bell that tells of messages.
pub(crate) const CHANNEL: &str = "scorpiox_code";

/// A message, or why the row is none.
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
    let (mut all, mut pages) = (Vec::new(), Pages::of(namespace));
    while all.len() < limit as usize {
        let Some(rows) = pages.next(transaction)? else { break };
        all.extend(rows.iter().filter_map(|row| transaction.whole(message(row))));
    }
    all.truncate(limit as usize);
    Ok(all)
}

/// Messages of a workspace by their numbers, a few megabytes at a time: each may have one.
#[derive(Default)]
pub(crate) struct Pages {
    /// Those of this namespace alone.
    namespace: Option<Vec<u8>>,
    /// The last one that was read.
    last: Option<i64>,
    /// No other follows it.
    is_over: bool,
}

impl Pages {
    pub(crate) fn of(namespace: &str) -> Self {
        Self { namespace: Some(namespace.as_bytes().to_vec()), last: None, is_over: false }
    }

    /// The next rows, each with what [`message`] reads, and its namespace; none after the last one.
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

/// A message that another process added.
pub(crate) struct Added {
    /// Its mark.
    pub(crate) mark: Vec<u8>,
    /// The name of its workspace.
    pub(crate) workspace: String,
    /// The message, or why it cannot be read.
    pub(crate) message: Result<Message, String>,
}

/// The time for which a message of another process is looked for.
pub(crate) const NEWS_TIME: Duration = Duration::from_mins(1);

/// Messages that other processes than `sender` added lately, and that still wait, but for those that were `told`.
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
                // One that fits nowhere must not keep back all that follow.
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
