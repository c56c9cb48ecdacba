//! Scans keys in order.

use scorpiox_store::{Entry, MAX_SCAN_BYTES, MAX_SCAN_ENTRIES, Order, StoreError};
use tokio_postgres::Row;

use crate::bounds::{MOST_ROWS, MOST_VALUE};
use crate::damage::text;
use crate::transaction::PostgresTransaction;

pub(crate) fn scan(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
    order: Order,
) -> Result<Vec<Entry>, StoreError> {
    let limit = limit.min(MAX_SCAN_ENTRIES);
    let mut entries: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    let mut last: Option<Vec<u8>> = after.map(|key| key.as_bytes().to_vec());
    // Runs at least once, even with a limit of zero, because a scan takes the snapshot.
    loop {
        let left = i64::from(limit) - i64::try_from(entries.len()).unwrap_or(i64::MAX);
        let rows = page(transaction, namespace, prefix, last.as_deref(), left.min(MOST_ROWS), order)?;
        let is_end = rows.len() < usize::try_from(left.min(MOST_ROWS)).unwrap_or_default();
        for row in rows {
            last = Some(row.get(0));
            let Some(entry) = transaction.whole(entry(&row)) else { continue };
            bytes += entry.key.len() + entry.value.len();
            entries.push(entry);
            if bytes >= MAX_SCAN_BYTES {
                break;
            }
        }
        if is_end || entries.len() >= limit as usize || bytes >= MAX_SCAN_BYTES {
            return Ok(entries);
        }
    }
}

/// Returns the next rows. The server sends no more than a scan may return.
fn page(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    prefix: &str,
    after: Option<&[u8]>,
    limit: i64,
    order: Order,
) -> Result<Vec<Row>, StoreError> {
    let sql = match order {
        Order::Ascending => {
            "SELECT key, value FROM (
                 SELECT key, value, sum(octet_length(key) + coalesce(octet_length(value), 0)) OVER (ORDER BY key)
                     - coalesce(octet_length(value), 0) - octet_length(key) AS before
                 FROM (
                     SELECT key, CASE WHEN octet_length(value) <= $8 THEN value END AS value
                     FROM scorpiox_code.entry
                     WHERE workspace = $1 AND namespace = $2 AND key >= $3 AND ($4::bytea IS NULL OR key < $4)
                         AND ($5::bytea IS NULL OR key > $5)
                     ORDER BY key LIMIT $6
                 ) AS page
             ) AS counted WHERE before < $7 ORDER BY key"
        }
        Order::Descending => {
            "SELECT key, value FROM (
                 SELECT key, value, sum(octet_length(key) + coalesce(octet_length(value), 0)) OVER (ORDER BY key DESC)
                     - coalesce(octet_length(value), 0) - octet_length(key) AS before
                 FROM (
                     SELECT key, CASE WHEN octet_length(value) <= $8 THEN value END AS value
                     FROM scorpiox_code.entry
                     WHERE workspace = $1 AND namespace = $2 AND key >= $3 AND ($4::bytea IS NULL OR key < $4)
                         AND ($5::bytea IS NULL OR key < $5)
                     ORDER BY key DESC LIMIT $6
                 ) AS page
             ) AS counted WHERE before < $7 ORDER BY key DESC"
        }
    };
    let workspace = transaction.workspace;
    let end = end_of_prefix(prefix);
    let most = i64::try_from(MAX_SCAN_BYTES).unwrap_or(i64::MAX);
    let (namespace, prefix) = (namespace.as_bytes(), prefix.as_bytes());
    transaction.rows(sql, &[&workspace, &namespace, &prefix, &end, &after, &limit, &most, &MOST_VALUE])
}

fn entry(row: &Row) -> Result<Entry, String> {
    let key = text(row.get(0), "the key")?;
    let value = row.get::<_, Option<Vec<u8>>>(1).ok_or_else(|| long(&key))?;
    Ok(Entry { key, value })
}

/// Describes a value longer than this program writes.
pub(crate) fn long(key: &str) -> String {
    format!("the value of {key:?}, which has more than {MOST_VALUE} bytes")
}

/// Returns the smallest byte string that sorts after every key with `prefix`, or `None` if there is none.
fn end_of_prefix(prefix: &str) -> Option<Vec<u8>> {
    let mut end = prefix.as_bytes().to_vec();
    // UTF-8 never contains the byte 0xFF.
    let last = end.last_mut()?;
    *last = last.checked_add(1)?;
    Some(end)
}
