//! PostgreSQL does what the traits say.
#![cfg(unix)]

mod common;

use std::sync::Arc;

use scorpiox_store::Store;
use scorpiox_store_conformance::Fixture;

use common::{database, named};

fn fixture() -> impl Fixture {
    let address = common::server().database();
    // Each opens it as another process does: with connections of its own.
    move |workspace: &str| -> Arc<dyn Store> {
        Arc::new(database(&address).workspace(&named(&workspace.replace(' ', "-"))))
    }
}

scorpiox_store_conformance::conformance_tests!(fixture());
