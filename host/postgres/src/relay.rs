//! Texts that one process relays to whichever of the others they concern.
//!
//! A text is a row of a table that only servers may write: what a role does that may only read, or only connect, is no text.
//! The notification is a bell and carries nothing. Each text acts once at each process, and for seconds. A minute later one of the
//! processes that listen removes it.

use std::time::Duration;

use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::{MOST_AT_ONCE, MOST_MARK, MOST_RELAYED, MOST_ROWS};
use crate::connection::Connection;
use crate::database::Database;
use crate::format::{self, FORMAT};
use crate::mark::{Mark, mark};

/// The channel of the bell.
pub(crate) const CHANNEL: &str = "scorpiox_code_relay";
/// The time for which a text acts, from the moment that it was written. Whoever was deaf for a moment takes what came meanwhile.
pub const ACTS: Duration = Duration::from_secs(15);
/// The time for which a process remembers the texts that it has heard. By then their rows are long gone, even where a standby takes over
/// whose clock is minutes behind.
pub(crate) const REMEMBERED: Duration = Duration::from_mins(10);

/// The time from a bell to the look for texts that are to go: whoever rings without end causes one in a second.
pub(crate) const SWEEP_DELAY: Duration = Duration::from_secs(1);
/// The longest time between two looks while there are texts, and the time until the next one where another process removes them.
const SWEEP_PAUSE: Duration = Duration::from_mins(1);
const SWEEP_AGAIN: Duration = Duration::from_secs(5);

/// Is told each text.
pub(crate) type Hear = Box<dyn Fn(&str) + Send + Sync>;

impl Database {
    /// Passes a text in ASCII on to all processes that hear.
    ///
    /// # Errors
    ///
    /// Those of connecting and writing, and a text of more than 2 MiB.
    pub fn pass_on(&self, text: &str) -> Result<(), StoreError> {
        if !text.is_ascii() || text.len() > usize::try_from(MOST_RELAYED).unwrap_or_default() {
            return Err(StoreError::Other(format!("{} bytes are too long to be passed on", text.len())));
        }
        // Where the connection breaks it is written again, by the same mark.
        let mark = mark()?;
        let write = || {
            self.write(Tables::Relay, |lease| {
                lease.row(
                    "WITH new AS (
                         INSERT INTO scorpiox_code.relay (mark, sender, content) VALUES ($1, $2, $3)
                         ON CONFLICT (mark) DO NOTHING
                     )
                     SELECT pg_notify('scorpiox_code_relay', '')::text",
                    &[&mark.as_slice(), &self.sender.as_slice(), &text],
                )
            })
        };
        match write() {
            Err(StoreError::Unreachable(_)) => {
                self.pool.close_idle();
                write().map(drop)
            }
            written => written.map(drop),
        }
    }

    /// Has somebody told each text that another process passes on from now on.
    ///
    /// # Errors
    ///
    /// No room for a thread.
    pub fn hear_passed(
        self: &std::sync::Arc<Self>,
        hear: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<()> {
        self.notices.hear_passed(Box::new(hear));
        self.listen()
    }
}

/// Removes a few of the texts that act no more. Returns when to look again; none where there are no texts.
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
    // A single process removes them: the holder of a lock on the row of the format, which a role that may only read cannot take.
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

/// Texts of other processes than `sender` that act still, each with its mark, but for those that were `heard`. A few megabytes at
/// a time.
pub(crate) fn passed(
    connection: &mut Connection,
    sender: &Mark,
    heard: &[&[u8]],
) -> Result<Vec<(Vec<u8>, String)>, StoreError> {
    let rows = connection.rows(
        "SELECT mark, content FROM (
             SELECT *, sum(octet_length(content)) OVER (ORDER BY since, mark) AS bytes FROM (
                 SELECT mark, content, since FROM scorpiox_code.relay
                 WHERE since BETWEEN now() - $6 * interval '1 second'
                         AND now() + $6 * interval '1 second'
                     AND sender <> $1 AND octet_length(mark) <= $3 AND mark <> ALL($2)
                     AND octet_length(content) <= $4
                 ORDER BY since, mark LIMIT $7
             ) AS page
         ) AS counted WHERE bytes <= $5 ORDER BY since, mark",
        &[
            &sender.as_slice(),
            &heard,
            &MOST_MARK,
            &MOST_RELAYED,
            &MOST_AT_ONCE,
            &ACTS.as_secs_f64(),
            &MOST_ROWS,
        ],
    )?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
