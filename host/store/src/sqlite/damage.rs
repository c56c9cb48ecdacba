//! Rows with invalid contents, written by other programs.

use rusqlite::types::ValueRef;

use super::transaction::SqliteTransaction;
use super::{messages, scan, timers};
use crate::StoreError;
use crate::implementing::tell_damaged;

/// Maximum length of a displayed value, in bytes.
const MAX_SHOWN: usize = 64;

/// Formats a value of any type for display.
pub(super) fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            format!("\"{}\"", bytes[..bytes.len().min(MAX_SHOWN)].escape_ascii())
        }
    }
}

impl SqliteTransaction {
    /// Returns the valid rows, and logs the damaged ones.
    pub(super) fn whole<T>(
        &self,
        rows: impl Iterator<Item = rusqlite::Result<Result<T, String>>>,
    ) -> Result<Vec<T>, StoreError> {
        let mut whole = Vec::new();
        for row in rows {
            match row.map_err(|e| self.pool.error(&e))? {
                Ok(row) => whole.push(row),
                Err(what) => tell_damaged(&self.pool.path.display().to_string(), &what),
            }
        }
        Ok(whole)
    }

    /// Collects the damaged rows of a query.
    fn damaged_of<T>(
        &self,
        sql: &str,
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<Result<T, String>>,
        damaged: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let mut statement = self.statement(sql)?;
        let rows = statement.query_map([], read).map_err(|e| self.pool.error(&e))?;
        for row in rows {
            damaged.extend(row.map_err(|e| self.pool.error(&e))?.err());
        }
        Ok(())
    }
}

/// Returns all damaged rows of a file.
pub(super) fn all(transaction: &SqliteTransaction) -> Result<Vec<String>, StoreError> {
    let mut damaged = Vec::new();
    let namespace = |row: &rusqlite::Row<'_>| {
        let value = row.get_ref(0)?;
        Ok(value.as_str().map(drop).map_err(|_| format!("the namespace {}", shown(value))))
    };
    transaction.damaged_of("SELECT namespace, id, due FROM timer", timers::timer, &mut damaged)?;
    transaction.damaged_of(
        "SELECT sequence, timer, fired_at, text FROM message ORDER BY sequence",
        messages::message,
        &mut damaged,
    )?;
    transaction.damaged_of("SELECT key, value FROM kv", scan::entry, &mut damaged)?;
    for table in ["kv", "message", "usage"] {
        transaction.damaged_of(
            &format!("SELECT DISTINCT namespace FROM {table}"),
            namespace,
            &mut damaged,
        )?;
    }
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use scorpiox_executor::Cancel;

    use crate::{
        Contents, Durability, MemoryStore, Mode, Order, SqliteStore, Store, Timer, Transaction, copy,
    };

    fn begin(store: &dyn Store, mode: Mode) -> Box<dyn Transaction> {
        store.begin(mode, &Cancel::default(), &mut || ()).expect("a transaction")
    }

    #[test]
    fn damaged_rows_are_left_out_told_of_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.db");
        let store = SqliteStore::new(path.clone(), Durability::Process);
        let mut transaction = begin(&store, Mode::Write);
        transaction.arm("tool", 7, 1000).expect("armed");
        for text in ["first", "second"] {
            transaction.add_message("tool", 1, 2, text).expect("added");
        }
        transaction.set("tool", "b", b"v", u64::MAX).expect("set");
        transaction.commit().expect("kept");
        let connection = rusqlite::Connection::open(&path).expect("the file");
        let count = || -> i64 {
            let sql = "SELECT (SELECT count(*) FROM timer) + (SELECT count(*) FROM message) + (SELECT count(*) FROM kv)";
            connection.query_row(sql, [], |row| row.get(0)).expect("a number")
        };
        connection
            .execute_batch(
                "INSERT INTO timer (namespace, id, due) VALUES (CAST(x'ff' AS TEXT), 1, 1);
                 INSERT INTO timer (namespace, id, due) VALUES ('tool', -1, 2);
                 INSERT INTO timer (namespace, id, due) VALUES ('tool', 4294967296, 3);
                 INSERT INTO timer (namespace, id, due) VALUES ('tool', 8, -5);
                 UPDATE message SET text = CAST(x'ff' AS TEXT) WHERE sequence = 1;
                 INSERT INTO kv (namespace, key, value) VALUES ('tool', CAST(x'61ff' AS TEXT), x'');
                 INSERT INTO kv (namespace, key, value) VALUES (CAST(x'fe' AS TEXT), 'k', x'');",
            )
            .expect("written");
        let before = count();
        let whole = Timer { namespace: "tool".to_owned(), id: 7, due: 1000 };
        let mut transaction = begin(&store, Mode::Write);
        assert_eq!(transaction.next_timer(), Ok(Some(whole.clone())));
        assert_eq!(transaction.timers("tool"), Ok(vec![whole]));
        for order in [Order::Ascending, Order::Descending] {
            let scanned = transaction.scan("tool", "", None, 10, order).expect("entries");
            assert_eq!(scanned.iter().map(|entry| &*entry.key).collect::<Vec<_>>(), ["b"]);
        }
        assert_eq!(transaction.namespaces(), Ok(vec!["tool".to_owned()]));
        let taken = transaction.take_messages(9, &|_| 1).expect("messages");
        assert_eq!(taken.iter().map(|message| &*message.text).collect::<Vec<_>>(), ["second"]);
        transaction.disarm("tool", 7).expect("disarmed");
        assert_eq!(transaction.next_timer(), Ok(None));
        assert_eq!(transaction.damaged().expect("read").len(), 4 + 1 + 2);
        transaction.commit().expect("kept");
        assert_eq!(count(), before - 2, "the timer and the message that were whole");
        assert_eq!(Contents::of(&store).expect("read").entries, 1);
        let refused = copy(&store, &MemoryStore::new()).expect_err("it would be lost").to_string();
        assert!(refused.contains("nothing was copied") && refused.contains("xff"), "{refused}");
    }
}
