//! Texts that one process relays to all other server processes.
//!
//! A text is a row of a table that only servers may write, so roles that may only read or only connect cannot
//! send texts. The notification carries no content. Each text acts once in each process, and only for
//! seconds. A minute later one of the listening processes removes it.

use std::time::Duration;

use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::{MOST_AT_ONCE, MOST_MARK, MOST_RELAYED, MOST_ROWS};
use crate::connection::Connection;
use crate::database::Database;
use crate::format::{self, FORMAT};
use crate::mark::{Mark, mark};

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

/// Callback for each received text.
pub(crate) type Hear = Box<dyn Fn(&str) + Send + Sync>;

impl Database {
    /// Relays an ASCII text to all listening processes.
    ///
    /// # Errors
    ///
    /// Fails if the text is longer than 2 MiB or not ASCII, or if connecting or writing fails.
    pub fn pass_on(&self, text: &str) -> Result<(), StoreError> {
        if !text.is_ascii() || text.len() > usize::try_from(MOST_RELAYED).unwrap_or_default() {
            return Err(StoreError::Other(format!("{} bytes are too long to be passed on", text.len())));
        }
        // If the connection breaks, or the commit is in doubt, the text is written again with the same mark.
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
            Err(StoreError::Unreachable(_) | StoreError::InDoubt(_)) => {
                self.pool.close_idle();
                write().map(drop)
            }
            written => written.map(drop),
        }
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

/// Returns the active texts of processes other than `sender` with their marks, except those with a mark in
/// `heard`. Returns a few megabytes at a time.
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
