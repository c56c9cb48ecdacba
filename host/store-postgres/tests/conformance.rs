//! Runs the conformance tests of the store traits against PostgreSQL.
#![cfg(unix)]

mod common;

use std::sync::Arc;

use scorpiox_store::Store;
use scorpiox_store_conformance::Fixture;

use common::{database, named};

fn fixture() -> impl Fixture {
    let address = common::server().database();
    // Each store has its own connections, like another process.
    move |workspace: &str| -> Arc<dyn Store> {
        Arc::new(database(&address).workspace(&named(&workspace.replace(' ', "-"))))
    }
}

scorpiox_store_conformance::conformance_tests!(fixture());
