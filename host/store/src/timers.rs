//! Timers that are armed. Several servers watch the same ones; who takes a due timer
//! in a write transaction has it.

use rusqlite::{OptionalExtension, params};

use super::{DatabaseError, Transaction};

/// A timer that is armed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// Whose timer it is.
    pub namespace: String,
    /// Which of its timers.
    pub id: u32,
    /// Milliseconds since 1970.
    pub due: u64,
}

impl Transaction {
    /// Arms a timer, in place of an earlier due time.
    pub fn arm(&mut self, namespace: &str, id: u32, due: u64) -> Result<(), DatabaseError> {
        self.statement(
            "INSERT INTO timer (namespace, id, due) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET due = excluded.due",
        )?
        .execute(params![namespace, id, i64::try_from(due).unwrap_or(i64::MAX)])
        .map(drop)
        .map_err(|e| self.database.error(&e))
    }

    /// Arms a timer for later, unless somebody fired or changed it meanwhile.
    pub fn postpone(&mut self, timer: &Timer, due: u64) -> Result<(), DatabaseError> {
        let signed = |millis: u64| i64::try_from(millis).unwrap_or(i64::MAX);
        self.statement("UPDATE timer SET due = ?4 WHERE namespace = ?1 AND id = ?2 AND due = ?3")?
            .execute(params![timer.namespace, timer.id, signed(timer.due), signed(due)])
            .map(drop)
            .map_err(|e| self.database.error(&e))
    }

    /// Takes a timer away, if it is armed.
    pub fn disarm(&mut self, namespace: &str, id: u32) -> Result<(), DatabaseError> {
        self.statement("DELETE FROM timer WHERE namespace = ?1 AND id = ?2")?
            .execute(params![namespace, id])
            .map(drop)
            .map_err(|e| self.database.error(&e))
    }

    /// The timer that is due first.
    pub fn next_timer(&mut self) -> Result<Option<Timer>, DatabaseError> {
        let timer = |row: &rusqlite::Row<'_>| {
            Ok(Timer { namespace: row.get(0)?, id: row.get(1)?, due: row.get::<_, i64>(2)?.unsigned_abs() })
        };
        self.statement("SELECT namespace, id, due FROM timer ORDER BY due, namespace, id LIMIT 1")?
            .query_row([], timer)
            .optional()
            .map_err(|e| self.database.error(&e))
    }
}
