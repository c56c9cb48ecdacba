//! Compares the PostgreSQL store with the reference model.
#![cfg(unix)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use scorpiox_store::Store;
use scorpiox_store_conformance::agrees_with_the_model;

use common::{database, named, server};

#[test]
fn postgres_does_what_the_model_does() {
    let address = server().database();
    // Two processes.
    let both = [database(&address), database(&address)];
    let count = AtomicU32::new(0);
    agrees_with_the_model(200, || {
        let name = format!("w{}", count.fetch_add(1, Ordering::Relaxed));
        let opened =
            both.each_ref().map(|database| -> Arc<dyn Store> { Arc::new(database.workspace(&named(&name))) });
        (opened, Box::new(()))
    });
}
