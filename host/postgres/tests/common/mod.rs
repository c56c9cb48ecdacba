//! What tests of this crate share: one server, with a database for each test.
#![allow(dead_code, unreachable_pub)] // no file of tests uses all of it

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use scorpiox_postgres::{Address, Database, Options};
use scorpiox_postgres_bed::Postgres;
use scorpiox_store::WorkspaceName;

/// Longer than what has to come takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

static SERVER: LazyLock<Postgres> = LazyLock::new(|| Postgres::start_with(&["max_connections=400"]));

/// The server that the tests of one file share.
pub(crate) fn server() -> &'static Postgres {
    &SERVER
}

/// A database as a process opens it.
pub(crate) fn database(address: &str) -> Arc<Database> {
    Database::new(Address::parse(address).expect("an address"), Options::default())
}

/// The name of a database in its address.
pub(crate) fn name(address: &str) -> &str {
    address.rsplit('/').next().expect("a name")
}

/// The name of a workspace.
pub(crate) fn named(name: &str) -> WorkspaceName {
    WorkspaceName::parse(name).expect("a name")
}

/// Brings tables to the format that they had first.
pub(crate) fn to_format_1(address: &str) {
    let undone = "DELETE FROM scorpiox_code.format WHERE format > 1;
                  DROP TABLE scorpiox_code.commit_mark, scorpiox_code.relay;
                  ALTER TABLE scorpiox_code.workspace DROP COLUMN mark;
                  ALTER TABLE scorpiox_code.message DROP COLUMN mark, DROP COLUMN sender, DROP COLUMN since;
                  DROP POLICY writers ON scorpiox_code.secret;
                  ALTER TABLE scorpiox_code.secret DISABLE ROW LEVEL SECURITY";
    server().psql(name(address), undone).expect("written");
    for table in ["format", "workspace", "entry", "usage", "timer", "message", "ended"] {
        let undone = format!(
            "ALTER TABLE scorpiox_code.{table} DISABLE ROW LEVEL SECURITY;
             ALTER TABLE scorpiox_code.{table} DROP CONSTRAINT IF EXISTS size;
             DROP POLICY readers ON scorpiox_code.{table}; DROP POLICY writers ON scorpiox_code.{table}"
        );
        server().psql(name(address), &undone).expect("written");
    }
    server().psql(name(address), "ALTER TABLE scorpiox_code.secret DROP CONSTRAINT size").expect("written");
}
