//! Reads all entries of the store below a key, page by page.

use scorpiox_store::{Entry, MAX_SCAN_ENTRIES, Order, StoreError, Transaction};

/// Calls `each` with the entries whose keys have this beginning, in the order of the keys.
///
/// # Errors
///
/// Fails if the store or `each` fails.
pub(crate) fn scan(
    transaction: &mut dyn Transaction,
    namespace: &str,
    beginning: &str,
    mut each: impl FnMut(&Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after: Option<String> = None;
    loop {
        let page =
            transaction.scan(namespace, beginning, after.as_deref(), MAX_SCAN_ENTRIES, Order::Ascending)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.key.clone());
        page.iter().try_for_each(&mut each)?;
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_executor::Cancel;
    use scorpiox_store::{MemoryStore, Mode, Store as _};

    use super::*;

    #[test]
    fn more_entries_than_a_page_has_are_read_once_each() {
        let store = MemoryStore::default();
        let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
        let count = MAX_SCAN_ENTRIES * 2 + 1;
        for key in (0..count).map(|number| format!("a/{number:06}")).chain(["b".to_owned()]) {
            transaction.set("n", &key, b"x", 1 << 20).expect("set");
        }
        let mut keys = Vec::new();
        let read = scan(&mut *transaction, "n", "a/", |entry| {
            keys.push(entry.key.clone());
            Ok(())
        });
        read.expect("read");
        assert!(keys.len() == count as usize && keys.is_sorted(), "{}", keys.len());
        let mut left = 3;
        let stopped = scan(&mut *transaction, "n", "a/", |_| {
            left -= 1;
            if left == 0 { Err(StoreError::Other("enough".to_owned())) } else { Ok(()) }
        });
        assert!(stopped.is_err() && left == 0);
    }
}
