//! What tests of this crate share: one server, with a database for each test.

use std::sync::{Arc, LazyLock};

use scorpiox_postgres::{Address, Database, Options};
use scorpiox_postgres_bed::Postgres;

static SERVER: LazyLock<Postgres> = LazyLock::new(|| Postgres::start_with(&["max_connections=400"]));

/// The server that the tests of one file share.
pub(crate) fn server() -> &'static Postgres {
    &SERVER
}

/// A database as a process opens it.
pub(crate) fn database(address: &str) -> Arc<Database> {
    Database::new(Address::parse(address).expect("an address"), Options::default())
}
