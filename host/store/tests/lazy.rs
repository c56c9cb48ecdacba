//! Transaction of a call.

use std::sync::Arc;

use scorpiox_executor::{Cancel, Reason};
use scorpiox_store::{LazyTransaction, MemoryStore, Mode, Store, StoreError};

fn lazy(store: &Arc<dyn Store>, cancel: &Cancel) -> LazyTransaction {
    LazyTransaction::new(Arc::clone(store), Mode::ReadFirst, cancel.clone(), Arc::new(|| {}))
}

fn stored(store: &Arc<dyn Store>) -> Option<Vec<u8>> {
    store.try_begin(Mode::ReadFirst).expect("a transaction").get("tool", "k").expect("get")
}

fn set(transaction: &mut LazyTransaction, value: &[u8]) -> Result<(), StoreError> {
    transaction.get()?.set("tool", "k", value, u64::MAX)
}

#[test]
fn a_call_is_one_transaction_from_its_first_use() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut transaction = lazy(&store, &Cancel::default());
    assert_eq!(transaction.has_messages(), Ok(None), "nothing was begun");
    set(&mut transaction, b"1").expect("set");
    assert_eq!(transaction.has_messages(), Ok(Some(false)));
    assert_eq!(transaction.get().expect("the same").get("tool", "k"), Ok(Some(b"1".to_vec())));
    assert_eq!(stored(&store), None);
    transaction.commit().expect("commit");
    assert_eq!(stored(&store), Some(b"1".to_vec()));
    lazy(&store, &Cancel::default()).commit().expect("there is nothing to commit");
}

#[test]
fn what_follows_a_commit_now_is_the_writer() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut transaction = lazy(&store, &Cancel::default());
    set(&mut transaction, b"1").expect("set");
    transaction.commit_now().expect("commit");
    assert_eq!(stored(&store), Some(b"1".to_vec()));
    store.try_begin(Mode::Write).map(drop).expect("nothing is locked in between");
    transaction.get().expect("another");
    assert_eq!(store.try_begin(Mode::Write).map(drop), Err(StoreError::Conflict));
    drop(transaction);
    assert_eq!(stored(&store), Some(b"1".to_vec()));
}

#[test]
fn a_call_that_was_cancelled_keeps_nothing() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let cancel = Cancel::default();
    let mut transaction = lazy(&store, &cancel);
    set(&mut transaction, b"1").expect("set");
    cancel.set(Reason::Client);
    assert_eq!(transaction.commit_now(), Err(StoreError::Cancelled));
    assert_eq!(transaction.commit(), Err(StoreError::Cancelled));
    assert_eq!(stored(&store), None);
}
