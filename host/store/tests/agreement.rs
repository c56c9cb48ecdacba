//! SQLite agrees with the reference model.

use std::sync::Arc;

use scorpiox_store::{Durability, Mode, SqliteStore, Store};
use scorpiox_store_conformance::agrees_with_the_model;

/// Returns the file of an empty workspace, which is faster to copy than to create.
fn empty_file() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::new(folder.path().join("x.db"), Durability::Process);
    drop(store.try_begin(Mode::ReadFirst).expect("a transaction"));
    let path = store.path().to_owned();
    drop(store);
    std::fs::read(path).expect("the file")
}

#[test]
fn sqlite_does_what_the_model_does() {
    let empty = empty_file();
    agrees_with_the_model(200, || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        std::fs::write(&path, &empty).expect("a file");
        let opened = || -> Arc<dyn Store> { Arc::new(SqliteStore::new(path.clone(), Durability::Process)) };
        ([opened(), opened()], Box::new(folder))
    });
}
