//! Messages that wait to reach the client.

use rusqlite::params;

use super::{DatabaseError, Transaction};

/// Most messages that wait; beyond it the oldest are dropped. Several timers that fire
/// for days into a client that never calls must not fill the disk.
const MAX_WAITING: i64 = 100;

/// A message that was not attached to a result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Rises with each message of the workspace.
    pub sequence: u64,
    /// The timer that fired.
    pub timer: u32,
    /// Milliseconds since 1970.
    pub fired_at: u64,
    /// What to tell the client.
    pub text: String,
}

fn message(row: &rusqlite::Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        sequence: row.get::<_, i64>(0)?.unsigned_abs(),
        timer: row.get(1)?,
        fired_at: row.get::<_, i64>(2)?.unsigned_abs(),
        text: row.get(3)?,
    })
}

impl Transaction {
    /// Adds a message and gives its sequence number.
    pub fn add_message(
        &mut self,
        namespace: &str,
        timer: u32,
        fired_at: u64,
        text: &str,
    ) -> Result<u64, DatabaseError> {
        let sequence: i64 = self
            .statement(
                "INSERT INTO message (namespace, timer, fired_at, text) VALUES (?1, ?2, ?3, ?4) RETURNING sequence",
            )?
            .query_row(params![namespace, timer, i64::try_from(fired_at).unwrap_or(i64::MAX), text], |row| row.get(0))
            .map_err(|e| self.database.error(&e))?;
        self.statement("DELETE FROM message WHERE sequence <= ?1")?
            .execute(params![sequence - MAX_WAITING])
            .map_err(|e| self.database.error(&e))?;
        Ok(sequence.unsigned_abs())
    }

    /// The messages of a namespace, oldest first.
    pub fn messages(&mut self, namespace: &str, limit: u32) -> Result<Vec<Message>, DatabaseError> {
        let mut statement = self.statement(
            "SELECT sequence, timer, fired_at, text FROM message WHERE namespace = ?1 ORDER BY sequence LIMIT ?2",
        )?;
        let rows =
            statement.query_map(params![namespace, limit], message).map_err(|e| self.database.error(&e))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.database.error(&e))
    }

    /// Whether any message waits.
    pub fn has_messages(&mut self) -> Result<bool, DatabaseError> {
        self.statement("SELECT EXISTS (SELECT 1 FROM message)")?
            .query_row([], |row| row.get(0))
            .map_err(|e| self.database.error(&e))
    }

    /// Takes messages of the workspace, oldest first, until what they `cost` together is more than
    /// `room`: who commits delivers them.
    pub fn take_messages(
        &mut self,
        room: usize,
        cost: impl Fn(&Message) -> usize,
    ) -> Result<Vec<Message>, DatabaseError> {
        let mut taken = Vec::new();
        let mut left = room;
        let mut statement =
            self.statement("SELECT sequence, timer, fired_at, text FROM message ORDER BY sequence")?;
        for row in statement.query_map([], message).map_err(|e| self.database.error(&e))? {
            let next = row.map_err(|e| self.database.error(&e))?;
            match left.checked_sub(cost(&next)) {
                Some(rest) => left = rest,
                // One that fits nowhere must not keep back all that follow.
                None if taken.is_empty() => left = 0,
                None => break,
            }
            taken.push(next);
        }
        drop(statement);
        if let Some(last) = taken.last() {
            let last = i64::try_from(last.sequence).unwrap_or(i64::MAX);
            self.statement("DELETE FROM message WHERE sequence <= ?1")?
                .execute(params![last])
                .map_err(|e| self.database.error(&e))?;
        }
        Ok(taken)
    }
}
