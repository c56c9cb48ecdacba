//! Keys and values.

use scorpiox_store::StoreError;
use scorpiox_store::implementing::check_sizes;

use crate::bounds::MOST_VALUE;
use crate::transaction::PostgresTransaction;

pub(crate) fn get(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let workspace = transaction.workspace;
    let row = transaction.row(
        "SELECT CASE WHEN octet_length(value) <= $4 THEN value END, octet_length(value)
         FROM scorpiox_code.entry WHERE workspace = $1 AND namespace = $2 AND key = $3",
        &[&workspace, &namespace.as_bytes(), &key.as_bytes(), &MOST_VALUE],
    )?;
    let value = row.map(|row| {
        let (value, length): (Option<Vec<u8>>, i32) = (row.get(0), row.get(1));
        value.ok_or_else(|| {
            StoreError::Other(format!(
                "the value of {key:?} has {length} bytes, which nothing of this program wrote: it may have {MOST_VALUE}; \
                 `scorpiox-code store check` lists it, write or delete it"
            ))
        })
    });
    let value = value.transpose()?;
    transaction.seen.note(namespace, key, value.as_ref().map(Vec::len));
    Ok(value)
}

pub(crate) fn set(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    key: &str,
    value: &[u8],
    quota: u64,
) -> Result<(), StoreError> {
    check_sizes(key, value)?;
    let workspace = transaction.workspace;
    let grown = if let Some(before) = transaction.seen.length(namespace, key) {
        transaction.send(
            "UPDATE scorpiox_code.entry SET value = $4 WHERE workspace = $1 AND namespace = $2 AND key = $3",
            vec![
                Box::new(workspace),
                Box::new(namespace.as_bytes().to_vec()),
                Box::new(key.as_bytes().to_vec()),
                Box::new(value.to_vec()),
            ],
        )?;
        signed(value.len()) - signed(before)
    } else {
        // All parts of the statement see the state before it.
        let row = transaction.write_row(
            "WITH before AS (
                 SELECT octet_length(value)::bigint AS length FROM scorpiox_code.entry
                 WHERE workspace = $1 AND namespace = $2 AND key = $3
             )
             INSERT INTO scorpiox_code.entry (workspace, namespace, key, value) VALUES ($1, $2, $3, $4)
             ON CONFLICT (workspace, namespace, key) DO UPDATE SET value = excluded.value
             RETURNING (SELECT length FROM before)",
            &[&workspace, &namespace.as_bytes(), &key.as_bytes(), &value],
        )?;
        let before: Option<i64> = row.and_then(|row| row.get(0));
        before.map_or_else(|| signed(key.len() + value.len()), |before| signed(value.len()) - before)
    };
    transaction.seen.note(namespace, key, Some(value.len()));
    transaction.grow(namespace, grown, quota)
}

pub(crate) fn delete(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    key: &str,
) -> Result<(), StoreError> {
    let before = match transaction.seen.length(namespace, key) {
        Some(before) => before,
        None => match length(transaction, namespace, key)? {
            Some(length) => length,
            None => return Ok(()),
        },
    };
    let workspace = transaction.workspace;
    transaction.send(
        "DELETE FROM scorpiox_code.entry WHERE workspace = $1 AND namespace = $2 AND key = $3",
        vec![Box::new(workspace), Box::new(namespace.as_bytes().to_vec()), Box::new(key.as_bytes().to_vec())],
    )?;
    transaction.seen.note(namespace, key, None);
    transaction.grow(namespace, -signed(key.len() + before), u64::MAX)
}

/// Returns the length of a value of any size.
fn length(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    key: &str,
) -> Result<Option<usize>, StoreError> {
    let workspace = transaction.workspace;
    let row = transaction.row(
        "SELECT octet_length(value) FROM scorpiox_code.entry
         WHERE workspace = $1 AND namespace = $2 AND key = $3",
        &[&workspace, &namespace.as_bytes(), &key.as_bytes()],
    )?;
    Ok(row.map(|row| usize::try_from(row.get::<_, i32>(0)).unwrap_or_default()))
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
