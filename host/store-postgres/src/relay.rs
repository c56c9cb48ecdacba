//! Texts that one process relays to all other server processes.
//!
//! A text is a row of a table that only servers may write, so roles that may only read or only connect cannot
//! send texts. The notification carries no content. Each text acts once in each process, and only for
//! seconds. A minute later one of the listening processes removes it.
//!
//! A listening process first reads the marks of new rows, and then the contents in the order of `unread`. The
//! marks are read from a point in time on, which follows the newest pass. A row of a slow commit may appear
//! before that point, so the marks of a little earlier are read again, and now and then all that still act.

use std::time::Duration;

use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::{MOST_AT_ONCE, MOST_MARK, MOST_MARKS, MOST_RELAYED};
use crate::connection::Connection;
use crate::database::Database;
use crate::format::{self, FORMAT};
use crate::mark::{Mark, mark};
use crate::unread::{GROUP, mark_of};

/// Notification channel that announces new texts.
pub(crate) const CHANNEL: &str = "scorpiox_code_relay";
/// Time for which a text is active after it is written. A process that missed the notification briefly still
/// receives the text.
pub const ACTS: Duration = Duration::from_secs(15);
/// Time for which a process remembers received texts. It is far longer than their rows exist, even if a
/// standby takes over whose clock is minutes behind.
pub(crate) const REMEMBERED: Duration = Duration::from_mins(10);

/// Delay between a notification and the sweep for expired texts. It limits the sweeps caused by a flood of
/// notifications to one per second.
pub(crate) const SWEEP_DELAY: Duration = Duration::from_secs(1);
/// Maximum time between two sweeps while there are texts. The second constant is the delay if another process
/// is removing them.
const SWEEP_PAUSE: Duration = Duration::from_mins(1);
const SWEEP_AGAIN: Duration = Duration::from_secs(5);

/// Kind of a text. Answers are read before cancellations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An answer that somebody waits for.
    Answer,
    /// A cancellation.
    Cancellation,
}

/// Time before the newest pass from which marks are read again.
const OVERLAP_MICROS: i64 = 2_000_000;

/// Callback for each received text.
pub(crate) type Hear = Box<dyn Fn(&str) + Send + Sync>;

impl Database {
    /// Relays an ASCII text to all listening processes.
    ///
    /// # Errors
    ///
    /// Fails if the text is longer than 2 MiB or not ASCII, or if connecting or writing fails.
    pub fn pass_on(&self, text: &str) -> Result<(), StoreError> {
        self.pass_on_of(Kind::Answer, [0; GROUP], text)
    }

    /// Relays a text like [`Self::pass_on`]. The texts of different groups are read in turn.
    ///
    /// # Errors
    ///
    /// As for [`Self::pass_on`].
    pub fn pass_on_of(&self, kind: Kind, group: [u8; GROUP], text: &str) -> Result<(), StoreError> {
        if !text.is_ascii() || text.len() > usize::try_from(MOST_RELAYED).unwrap_or_default() {
            return Err(StoreError::Other(format!("{} bytes are too long to be passed on", text.len())));
        }
        // If the connection breaks, or the commit is in doubt, the text is written again with the same mark.
        let mark = mark_of(kind, group, &mark()?);
        let write = || {
            self.write(Tables::Relay, |lease| {
                lease.change(
                    "INSERT INTO scorpiox_code.relay (mark, sender, content) VALUES ($1, $2, $3)
                     ON CONFLICT (mark) DO NOTHING",
                    &[&mark, &self.sender.as_slice(), &text],
                )
            })
        };
        match write() {
            Err(StoreError::Unreachable(_) | StoreError::InDoubt(_)) => {
                self.pool.close_idle();
                write()
            }
            written => written,
        }?;
        if let Ok(mut lease) = self.pool.try_lease() {
            lease.ring(CHANNEL);
        }
        Ok(())
    }

    /// Reports each text that another process relays from this point on.
    ///
    /// # Errors
    ///
    /// Fails if the listening thread cannot be started.
    pub fn hear_passed(
        self: &std::sync::Arc<Self>,
        hear: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<()> {
        self.notices.hear_passed(Box::new(hear));
        self.listen()
    }
}

/// Removes some expired texts. Returns the delay until the next sweep, or `None` if there are no texts.
pub(crate) fn sweep(connection: &mut Connection) -> Result<Option<Duration>, StoreError> {
    let oldest = connection.look(|connection| {
        format::send_check(connection)?;
        connection.row(
            "SELECT extract(epoch FROM min(since) + interval '1 minute' - now())::float8
             FROM scorpiox_code.relay",
            &[],
        )
    })?;
    let Some(left) = oldest.and_then(|row| row.get::<_, Option<f64>>(0)) else { return Ok(None) };
    if left > 0.0 {
        let left = Duration::try_from_secs_f64(left).unwrap_or(SWEEP_PAUSE);
        return Ok(Some(left.clamp(SWEEP_DELAY, SWEEP_PAUSE)));
    }
    // Only one process at a time removes texts: it locks the row of the format, which a read-only role cannot
    // lock.
    let removed = connection.write(Begin::Write, Tables::Relay, |connection| {
        format::send_check(connection)?;
        connection.change(
            "WITH owner AS MATERIALIZED (
                 SELECT 1 FROM scorpiox_code.format WHERE format = $1 FOR UPDATE SKIP LOCKED
             ), old AS MATERIALIZED (
                 SELECT mark FROM scorpiox_code.relay
                 WHERE since <= now() - interval '1 minute' AND EXISTS (SELECT 1 FROM owner)
                 LIMIT 100 FOR UPDATE SKIP LOCKED
             )
             DELETE FROM scorpiox_code.relay WHERE mark IN (SELECT mark FROM old)",
            &[&FORMAT],
        )
    })?;
    Ok(Some(if removed > 0 { Duration::ZERO } else { SWEEP_AGAIN }))
}

/// Position up to which the marks were read. Times are those of the database, in microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    /// Time of the newest finished pass. Without one, all rows that still act are read.
    finished: Option<i64>,
    /// Begin of the current pass, and the last row that it read.
    current: Option<(i64, i64, Vec<u8>)>,
}

/// A row whose content is not read yet.
pub(crate) struct Row {
    pub(crate) mark: Vec<u8>,
    pub(crate) age: Duration,
}

/// Reads the marks of texts that other processes wrote, from a cursor on, which moves. Returns `true` if there
/// are more.
pub(crate) fn marks(
    connection: &mut Connection,
    sender: &Mark,
    cursor: &mut Cursor,
) -> Result<(Vec<Row>, bool), StoreError> {
    let from = cursor.finished.map_or(0, |at| at.saturating_sub(OVERLAP_MICROS));
    let (since, after) = match &cursor.current {
        Some((_, since, mark)) => (*since, mark.as_slice()),
        None => (from, &[][..]),
    };
    #[allow(clippy::cast_precision_loss)] // far below 2^53 for centuries
    let since = since as f64;
    let rows = connection.rows(
        "SELECT mark, (extract(epoch FROM since) * 1000000)::int8, (extract(epoch FROM now()) * 1000000)::int8
         FROM scorpiox_code.relay
         WHERE since BETWEEN now() - $5 * interval '1 second' AND now() + $5 * interval '1 second'
             AND since >= timestamptz 'epoch' + $1 * interval '1 microsecond'
             AND (since, mark) > (timestamptz 'epoch' + $1 * interval '1 microsecond', $2)
             AND sender <> $3 AND octet_length(mark) <= $4
         ORDER BY since, mark LIMIT $6",
        &[&since, &after, &sender.as_slice(), &MOST_MARK, &ACTS.as_secs_f64(), &MOST_MARKS],
    )?;
    let read = |row: &tokio_postgres::Row| {
        let (since, now): (i64, i64) = (row.get(1), row.get(2));
        Row { mark: row.get(0), age: Duration::from_micros(u64::try_from(now - since).unwrap_or(0)) }
    };
    let has_more = i64::try_from(rows.len()).is_ok_and(|count| count >= MOST_MARKS);
    if let Some(last) = rows.last() {
        let begin = cursor.current.take().map_or_else(|| last.get(2), |(begin, ..)| begin);
        if has_more {
            cursor.current = Some((begin, last.get(1), last.get(0)));
        } else {
            cursor.finished = Some(begin);
        }
    } else if let Some((begin, ..)) = cursor.current.take() {
        cursor.finished = Some(begin);
    }
    Ok((rows.iter().map(read).collect(), has_more))
}

/// A row's content, unless it was too much at a time.
pub(crate) struct Content {
    pub(crate) mark: Vec<u8>,
    pub(crate) text: Option<String>,
}

/// Reads the contents of rows, in this order. Returns a few megabytes at a time: rows that no longer fit have no
/// content, and rows that act no more or are longer than any text are missing.
pub(crate) fn contents(connection: &mut Connection, marks: &[Vec<u8>]) -> Result<Vec<Content>, StoreError> {
    let rows = connection.rows(
        "SELECT mark, CASE WHEN bytes <= $3 THEN content END FROM (
             SELECT r.mark, r.content, w.turn, sum(octet_length(r.content)) OVER (ORDER BY w.turn) AS bytes
             FROM unnest($1::bytea[]) WITH ORDINALITY AS w (mark, turn)
             JOIN scorpiox_code.relay AS r ON r.mark = w.mark
             WHERE octet_length(r.content) <= $2
                 AND r.since BETWEEN now() - $4 * interval '1 second' AND now() + $4 * interval '1 second'
         ) AS counted ORDER BY turn",
        &[&marks, &MOST_RELAYED, &MOST_AT_ONCE, &ACTS.as_secs_f64()],
    )?;
    Ok(rows.iter().map(|row| Content { mark: row.get(0), text: row.get(1) }).collect())
}
